import { counted } from "../../../model/counted.ts";
import { namedModuleOf } from "../../../model/named-module.ts";
import {
  type ModuleObjects,
  OBJECTS_SCHEMA,
  OBJECTS_VERSION,
  type ObjectSamples,
  type ObjectSite,
  type ObjectsProfile,
} from "../../../model/objects/objects.ts";
import type { RunEnd } from "../../../model/run.ts";
import { MEMSHADE_VERSION } from "../../../model/version.ts";
import type { StackFrame } from "../../../model/working-set/working-set.ts";
import { HostCallers, type ToldStacks, withoutStart } from "../../heap/read/host-callers.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { ToolOptions } from "../../run-options.ts";
import { sentencesOfTool } from "../../sentences.ts";
import type { InstanceHandle, RunFacts, ToolSession, ToolSnapshot } from "../../session.ts";
import { innermostMembers } from "../../source-places.ts";
import { describeStacks } from "../../working-set/read/describe-stacks.ts";
import { DEFAULT_SAMPLE_BYTES, type ObjectsLayout } from "../memory-plan.ts";
import { SizeModel } from "../size-model.ts";
import { addUp } from "./add-up.ts";
import { KnownObjects } from "./module-objects.ts";
import { ObjectTables } from "./object-tables.ts";

/** Name of the tool's file in a run folder. */
export const OBJECTS_FILE = "objects.json";

const CUT_SHORT =
  "The program did not end by itself: where its code was stopped in the middle of a stretch that is counted as one, allocations and accesses of all of the stretch count.";
const NOT_COLLECTED =
  "The engine was not asked to collect garbage before all of the tables were read, or does not let itself be asked: objects that it has not taken away yet count as in use.";

interface SessionInstance {
  readonly number: number;
  readonly thread: number;
  /** They stay when the instance is gone: what becomes of its objects is still written there. */
  readonly tables: ObjectTables;
  isGone: boolean;
  /** Counters at the last reset. */
  before: ObjectTables | undefined;
}

interface SessionModule {
  readonly index: number;
  readonly layout: ObjectsLayout;
  readonly original: Uint8Array | (() => Uint8Array);
  readonly sentences: readonly string[];
  readonly instances: SessionInstance[];
  known: KnownObjects | undefined;
}

/** The garbage-collected objects of the instances of one run. */
export class ObjectsSession implements ToolSession {
  readonly tool = "objects";
  readonly #options: ToolOptions;
  readonly #modules = new Map<number, SessionModule>();
  readonly #callers = new HostCallers();

  constructor(options: ToolOptions) {
    this.#options = options;
  }

  addInstance(
    { number, module: index }: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    _tables: readonly WebAssembly.Memory[] = [],
    thread = 0,
  ): void {
    const layout = info.toolLayouts?.objects as ObjectsLayout;
    const module = this.#modules.get(index) ?? {
      ...{ index, layout, original, sentences: sentencesOfTool(info, "objects"), instances: [] },
      known: undefined,
    };
    this.#modules.set(index, module);
    const tables = new ObjectTables(memory.buffer, layout);
    module.instances.push({ number, thread, tables, isGone: false, before: undefined });
  }

  get isEmpty(): boolean {
    return this.#modules.size === 0;
  }

  learnStacks(thread: number, told: ToldStacks): void {
    this.#callers.learn(thread, told);
  }

  releaseInstance(handle: InstanceHandle): void {
    for (const { instances } of this.#modules.values())
      for (const instance of instances) if (instance.number === handle.number) instance.isGone = true;
  }

  reset(): void {
    for (const { instances } of this.#modules.values())
      for (const instance of instances) instance.before = instance.tables.copy();
  }

  snapshot(end: RunEnd, facts: RunFacts): ToolSnapshot {
    const { fields = true, sampleBytes = DEFAULT_SAMPLE_BYTES, references = 4 } = this.#options.objects ?? {};
    const model = new SizeModel(references);
    const { structHeader, arrayHeader } = model;
    const parts = [...this.#modules.values()].map((module) => this.#describe(module, model, fields, facts));
    const notTracked = this.#notTracked(parts, end, facts);
    const profile: ObjectsProfile = {
      schema: OBJECTS_SCHEMA,
      version: OBJECTS_VERSION,
      memshade: MEMSHADE_VERSION,
      command: [...facts.command],
      program: facts.modules[parts[0]?.module ?? 0]?.name ?? "",
      sizes: { engine: "V8", references, structHeader, arrayHeader },
      fields,
      sampleBytes,
      modules: facts.modules.map(namedModuleOf),
      parts,
      notTracked,
    };
    const all = [...this.#modules.values()].flatMap(({ instances }) => instances);
    return {
      description: { fields, sampleBytes, references },
      file: { name: OBJECTS_FILE, contents: `${JSON.stringify(profile)}\n` },
      shadowBytes: all.reduce((sum, { tables }) => sum + tables.usedBytes, 0),
      notTracked,
      warnings: this.#options.tools === undefined ? parts.map((part) => chosen(part, facts)) : [],
    };
  }

  #notTracked(parts: readonly ModuleObjects[], end: RunEnd, { modules }: RunFacts): string[] {
    const said = [...this.#modules.values()].flatMap(({ index, sentences }) =>
      sentences.map((sentence) => `${modules[index]?.name ?? "module"}: ${sentence}`),
    );
    if (end.kind === "trap" || end.kind === "signal") said.push(CUT_SHORT);
    const sampled = parts.filter(({ samples }) => samples.site.length > 0);
    if (sampled.some(({ samples }) => !samples.settled)) said.push(NOT_COLLECTED);
    const unknown = sampled.reduce(
      (sum, { samples }) => sum + samples.unknown.filter((isUnknown) => isUnknown).length,
      0,
    );
    if (unknown > 0)
      said.push(
        `Of ${counted(unknown, "object")} that ${unknown === 1 ? "was" : "were"} chosen it is not known whether ${unknown === 1 ? "it is" : "they are"} gone: the code that made them had not come to its end, or was gone itself.`,
      );
    if (parts.length > 1)
      said.push(
        "Accesses of one module to objects that another one made are counted with the module that accesses.",
      );
    return [...new Set(said)];
  }

  #describe(module: SessionModule, model: SizeModel, countsFields: boolean, facts: RunFacts): ModuleObjects {
    const original = typeof module.original === "function" ? module.original() : module.original;
    module.known ??= new KnownObjects(original, module.layout);
    const { known, instances } = module;
    const counter = (number: number): number =>
      instances.reduce(
        (sum, { tables, before }) => sum + tables.counter(number) - (before?.counter(number) ?? 0),
        0,
      );
    const { types, sites, siteOfEvent } = addUp(known, counter, instances.length, model, countsFields);
    const functions = new ModuleFunctions(original);
    const placeAt = facts.linesOf?.(original);
    const used = sites.map((site, index) => ({ site, index })).filter(({ site }) => site.objects > 0);
    const places = new Map(used.map(({ index }, place) => [index, place]));
    const stacks = new StackTable();
    return {
      module: module.index,
      instances: instances.length,
      types,
      sites: used.map(({ site }): ObjectSite => {
        const holder = functions.holding(site.offset);
        if (holder === undefined) return site;
        const { index, name } = holder;
        return {
          ...site,
          frame: {
            ...{ function: index, offset: site.offset },
            ...(name === undefined ? {} : { name }),
            ...innermostMembers(placeAt?.(site.offset)),
          },
        };
      }),
      samples: this.#samples(module, model, facts, original, stacks, (event) =>
        places.get(siteOfEvent[event]),
      ),
      stacks: stacks.stacks,
    };
  }

  #samples(
    { instances, known }: SessionModule,
    model: SizeModel,
    facts: RunFacts,
    original: Uint8Array,
    stacks: StackTable,
    siteOf: (event: number) => number | undefined,
  ): ObjectSamples {
    const samples: ObjectSamples = {
      ...{ site: [], size: [], weight: [], birth: [], death: [], unknown: [], stack: [], now: [] },
      settled: instances.every(({ tables }) => tables.settled >= 0 || tables.sampleCount === 0),
    };
    for (const { tables, before, isGone, thread } of instances) {
      const rows = tables.samples();
      const noted = new Map(rows.map(({ stack }) => [stack, tables.frames(stack)]));
      const described = describeStacks(
        noted,
        () => original,
        facts.linesOf,
        (number) => this.#callers.framesOfTold(thread, number).map(facts.describeFrame ?? withoutStart),
      );
      const numbers = described.stacks.map((frames) => stacks.add(frames));
      const allocated = known!.events.length === 0 ? 0 : tables.allocatedBytes(known!, model);
      const now = tables.settled >= 0 ? tables.settled : allocated;
      const forgotten = before?.allocatedBytes(known!, model) ?? -1;
      for (const { site, size, weight, birth, death, state, stack } of rows) {
        const place = siteOf(site);
        const isDead = state === "dead";
        if (place === undefined || (isDead && death <= forgotten)) continue;
        samples.site.push(place);
        samples.size.push(size);
        samples.weight.push(weight);
        samples.birth.push(birth);
        samples.death.push(isDead ? death : -1);
        samples.unknown.push(state === "unknown" || (state === "taken" && (isGone || tables.settled >= 0)));
        const number = described.numbers.get(stack);
        samples.stack.push(number === undefined ? -1 : numbers[number]);
        samples.now.push(Math.max(now, birth));
      }
    }
    return samples;
  }
}

function chosen({ module }: ModuleObjects, { modules }: RunFacts): string {
  return `${modules[module]?.name ?? "module"} has garbage-collected objects and no allocator: the tool objects was chosen for it`;
}

/** Stacks, each once. */
class StackTable {
  readonly stacks: StackFrame[][] = [];
  readonly #numbers = new Map<string, number>();

  add(frames: StackFrame[]): number {
    const key = JSON.stringify(frames);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.stacks.push(frames) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}
