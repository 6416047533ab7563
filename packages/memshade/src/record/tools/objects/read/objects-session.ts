import { type CompositeType, formatType, OPCODE_NAME, readNames } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import { placeBound } from "../../../../profile/model/bound.ts";
import { counted } from "../../../../profile/model/counted.ts";
import { namedModuleOf } from "../../../../profile/model/named-module.ts";
import {
  type ModuleObjects,
  OBJECTS_SCHEMA,
  OBJECTS_VERSION,
  type ObjectField,
  type ObjectSamples,
  type ObjectSite,
  type ObjectsProfile,
  type ObjectType,
} from "../../../../profile/model/objects.ts";
import type { RunEnd } from "../../../../profile/model/run.ts";
import { MEMSHADE_VERSION } from "../../../../profile/model/version.ts";
import type { StackFrame } from "../../../../profile/model/working-set/working-set.ts";
import { HostCallers, type ToldStacks, withoutStart } from "../../heap/read/host-callers.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { ToolOptions } from "../../run-options.ts";
import type { InstanceHandle, RunFacts, ToolSession, ToolSnapshot } from "../../session.ts";
import { sentencesOfTool } from "../../session.ts";
import { innermostMembers } from "../../source-places.ts";
import { hostFrameNumbers } from "../../working-set/read/describe-stacks.ts";
import type { CounterPlace } from "../event-table.ts";
import { accesses, allocates, fixedLength } from "../instructions.ts";
import { DEFAULT_SAMPLE_BYTES, type ObjectsLayout } from "../memory-plan.ts";
import { SizeModel } from "../size-model.ts";
import { CounterSums, type Counts, counterIn, countsSince, KnownObjects } from "./counts.ts";
import { ObjectTables } from "./object-tables.ts";
import { objectsOverTime } from "./objects-over-time.ts";
import { CallPaths, type CountedInstance, SiteContexts } from "./site-contexts.ts";

export const OBJECTS_FILE = "objects.json";

const CUT_SHORT =
  "The program did not end by itself: a basic block that was interrupted is counted as a whole.";
const NOT_COLLECTED =
  "The engine did not collect all garbage before the end: objects that wait for the collector count as in use.";

interface SessionInstance {
  readonly number: number;
  readonly thread: number;
  /** Tables stay when the instance is gone, because the states of its objects are still written to them. */
  readonly tables: ObjectTables;
  isGone: boolean;
  before: Counts | undefined;
}

interface DescribedInstance extends SessionInstance, CountedInstance {
  /** Like `counts`, with those before the last reset. */
  readonly now: Counts;
}

interface SessionModule {
  readonly index: number;
  readonly layout: ObjectsLayout;
  readonly original: Uint8Array | (() => Uint8Array);
  readonly sentences: readonly string[];
  readonly instances: SessionInstance[];
  known: KnownObjects | undefined;
}

export class ObjectsSession implements ToolSession {
  readonly tool = "objects";
  readonly #options: ToolOptions;
  readonly #modules = new Map<number, SessionModule>();
  readonly #callers = new HostCallers();

  constructor(options: ToolOptions) {
    this.#options = options;
  }

  addInstance(
    { number, module: index, thread = 0 }: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
  ): void {
    const layout = info.toolLayouts?.objects as ObjectsLayout;
    const module = this.#modules.get(index) ?? {
      index,
      layout,
      original,
      sentences: sentencesOfTool(info, "objects"),
      instances: [],
      known: undefined,
    };
    this.#modules.set(index, module);
    const tables = new ObjectTables(memory.buffer, layout);
    module.instances.push({ number, thread, tables, isGone: false, before: undefined });
  }

  get isEmpty(): boolean {
    return this.#modules.size === 0;
  }

  learnStacks(thread: number, newStacks: ToldStacks): void {
    this.#callers.learn(thread, newStacks);
  }

  releaseInstance(handle: InstanceHandle): void {
    for (const { instances } of this.#modules.values())
      for (const instance of instances) if (instance.number === handle.number) instance.isGone = true;
  }

  reset(): void {
    for (const { instances } of this.#modules.values())
      for (const instance of instances) instance.before = instance.tables.counts();
  }

  snapshot(end: RunEnd, facts: RunFacts): ToolSnapshot {
    const {
      fields = true,
      contexts = true,
      sampleBytes = DEFAULT_SAMPLE_BYTES,
      references = 4,
    } = this.#options.objects ?? {};
    const model = new SizeModel(references);
    const { structHeader, arrayHeader } = model;
    const described = [...this.#modules.values()].map((module) =>
      this.#describe(module, model, fields, facts),
    );
    const parts = described.map(({ part }) => part);
    const withoutCallers = described.reduce((sum, { withoutCallers }) => sum + withoutCallers, 0);
    const notTracked = this.#notTracked(parts, withoutCallers, end, facts);
    const profile: ObjectsProfile = {
      schema: OBJECTS_SCHEMA,
      version: OBJECTS_VERSION,
      memshade: MEMSHADE_VERSION,
      command: [...facts.command],
      program: facts.modules[parts[0]?.module ?? 0]?.name ?? "",
      sizes: { engine: "V8", references, structHeader, arrayHeader },
      fields,
      contexts,
      sampleBytes,
      modules: facts.modules.map(namedModuleOf),
      parts,
      notTracked,
    };
    const allInstances = [...this.#modules.values()].flatMap(({ instances }) => instances);
    return {
      description: { fields, contexts, sampleBytes, references },
      files: [{ member: "objects", name: OBJECTS_FILE, contents: `${JSON.stringify(profile)}\n` }],
      shadowBytes: allInstances.reduce((sum, { tables }) => sum + tables.usedBytes, 0),
      bounds: [
        ...(withoutCallers > 0
          ? [placeBound(["objects", "in-use"], "the table of call paths was full")]
          : []),
        ...(parts.some(({ samples }) => samples.site.length > 0 && !samples.settled)
          ? [
              {
                figures: ["in-use"] as const,
                are: "most" as const,
                because: "the engine did not collect garbage at the end",
              },
            ]
          : []),
      ],
      warnings: this.#options.tools === undefined ? parts.map((part) => chosen(part, facts)) : [],
    };
  }

  #notTracked(
    parts: readonly ModuleObjects[],
    withoutCallers: number,
    end: RunEnd,
    { modules }: RunFacts,
  ): string[] {
    const sentences = [...this.#modules.values()].flatMap(({ index, sentences }) =>
      sentences.map((sentence) => `${modules[index]?.name ?? "module"}: ${sentence}`),
    );
    if (withoutCallers > 0)
      sentences.push(
        `${counted(withoutCallers, "object")} ${withoutCallers === 1 ? "has" : "have"} no callers: the table of call paths was full.`,
      );
    if (end.kind === "trap" || end.kind === "signal") sentences.push(CUT_SHORT);
    const sampled = parts.filter(({ samples }) => samples.site.length > 0);
    if (sampled.some(({ samples }) => !samples.settled)) sentences.push(NOT_COLLECTED);
    const unknown = sampled.reduce(
      (sum, { samples }) => sum + samples.unknown.filter((isUnknown) => isUnknown).length,
      0,
    );
    if (unknown > 0)
      sentences.push(
        `${counted(unknown, "tracked object")} could not be followed to the end, because the code that made ${unknown === 1 ? "it" : "them"} had not returned or was gone.`,
      );

    return [...new Set(sentences)];
  }

  #describe(
    module: SessionModule,
    model: SizeModel,
    countsFields: boolean,
    facts: RunFacts,
  ): { part: ModuleObjects; withoutCallers: number } {
    const original = typeof module.original === "function" ? module.original() : module.original;
    module.known ??= new KnownObjects(original, module.layout);
    const { known } = module;
    const instances = module.instances.map((instance): DescribedInstance => {
      const now = instance.tables.counts();
      return { ...instance, now, counts: countsSince(now, instance.before) };
    });
    const sums = new CounterSums(instances.map(({ counts }) => counts));
    const { types, sites, siteOfEvent } = addUp(
      known,
      sums,
      instances.length,
      // Lengths are no counts: they are set at the start, so a reset does not change them.
      (place) => instances.reduce((sum, { now }) => sum + counterIn(place, now.table, undefined), 0),
      model,
      countsFields,
    );
    const used = sites
      .map((site, index) => ({ site, index }))
      .filter(({ site }) => site.objects > 0)
      .sort((a, b) => a.site.offset - b.site.offset);
    const places = new Map(used.map(({ index }, place) => [index, place]));
    const frameAt = frameDescriber(original, facts);
    const callPaths = new CallPaths();
    const made = new SiteContexts(known, callPaths, model, instances, (event) =>
      places.get(siteOfEvent[event]),
    );
    const samples = this.#samples(instances, known, model, facts, callPaths, made);
    const usedPaths = [...made.listed.map(({ path }) => path), ...samples.host];
    const { frames, paths, numberOf } = callPaths.describe(usedPaths, frameAt);
    const column = (name: "site" | "objects" | "elements" | "bytes") => made.listed.map((row) => row[name]);
    const bytesOf = new Map(
      instances.map((instance) => [
        instance,
        new CounterSums([instance.counts]).allocatedBytes(known, model),
      ]),
    );
    const [largest] = instances.toSorted((a, b) => bytesOf.get(b)! - bytesOf.get(a)!);
    const part: ModuleObjects = {
      module: module.index,
      instances: instances.length,
      types,
      sites: used.map(({ site }): ObjectSite => ({ ...site, frame: frameAt(site.offset) })),
      frames,
      paths,
      contexts: {
        site: column("site"),
        path: made.listed.map(({ path }) => numberOf(path)),
        objects: column("objects"),
        elements: column("elements"),
        bytes: column("bytes"),
      },
      samples: { ...samples, host: samples.host.map(numberOf) },
      overTime: largest && objectsOverTime(largest, largest.before, known, model, made),
    };
    return { part, withoutCallers: made.withoutCallers };
  }

  /** Collects the samples. The host's paths are numbers in `callPaths`. */
  #samples(
    instances: readonly DescribedInstance[],
    known: KnownObjects,
    model: SizeModel,
    facts: RunFacts,
    callPaths: CallPaths,
    made: SiteContexts,
  ): ObjectSamples {
    const samples: ObjectSamples = {
      site: [],
      size: [],
      weight: [],
      birth: [],
      death: [],
      unknown: [],
      context: [],
      host: [],
      now: [],
      settled: instances.every(({ tables }) => tables.settled >= 0 || tables.sampleCount === 0),
    };
    const hostFrame = hostFrameNumbers();
    const bytesOf = (counts: Counts) => new CounterSums([counts]).allocatedBytes(known, model);
    for (const { tables, before, now: counts, isGone, thread } of instances) {
      const now = tables.settled >= 0 ? tables.settled : bytesOf(counts);
      const forgotten = before === undefined ? -1 : bytesOf(before);
      for (const row of tables.samples()) {
        const { site: event, size, weight, birth, death, state } = row;
        const isDead = state === "dead";
        const context = made.indexOf(event, tables, row.frame);
        if (context === undefined || (isDead && death <= forgotten)) continue;
        samples.site.push(made.listed[context].site);
        samples.size.push(size);
        samples.weight.push(weight);
        samples.birth.push(birth);
        samples.death.push(isDead ? death : -1);
        samples.unknown.push(state === "unknown" || (state === "taken" && (isGone || tables.settled >= 0)));
        samples.context.push(context);
        const host = tables.hostOf(row);
        const callers = host < 0 ? [] : this.#callers.framesOfTold(thread, host);
        samples.host.push(
          callPaths.ofOthers(callers.map((frame) => hostFrame((facts.describeFrame ?? withoutStart)(frame)))),
        );
        samples.now.push(Math.max(now, birth));
      }
    }
    return samples;
  }
}

function frameDescriber(original: Uint8Array, facts: RunFacts): (offset: number) => StackFrame {
  const functions = new ModuleFunctions(original);
  const placeAt = facts.linesOf?.(original);
  return (offset) => {
    const holder = functions.holding(offset);
    return {
      function: holder?.index ?? -1,
      offset,
      ...(holder?.name === undefined ? {} : { name: holder.name }),
      ...innermostMembers(placeAt?.(offset)),
    };
  };
}

function chosen({ module }: ModuleObjects, { modules }: RunFacts): string {
  return `${modules[module]?.name ?? "module"} has garbage-collected objects and no allocator: it is recorded with the tool objects`;
}

interface Amounts {
  objects: number;
  elements: number;
  constant: number;
  bytes: number;
}

/** Accesses of the fields of a type; the elements of an array count as one field. */
interface FieldCounts {
  readonly reads: Float64Array;
  readonly writes: Float64Array;
}

/** Adds up the counters of a module's instances by site and type. */
function addUp(
  known: KnownObjects,
  { counter: counters }: CounterSums,
  instances: number,
  constantLengths: (counter: CounterPlace) => number,
  model: SizeModel,
  countsFields: boolean,
): { types: ObjectType[]; sites: ObjectSite[]; siteOfEvent: Int32Array } {
  const { module, families, events, constants } = known;
  const amounts = module.types.map((): Amounts => ({ objects: 0, elements: 0, constant: 0, bytes: 0 }));
  const fields = module.types.map(fieldCounts);
  const sites: ObjectSite[] = [];
  const siteOfEvent = new Int32Array(events.length).fill(-1);
  const allocated = (type: number, objects: number, elements: number): number => {
    const definition = module.types[type];
    const bytes = objects * model.fixedBytes(definition) + elements * model.elementBytes(definition);
    const typeAmounts = amounts[families.canonical[type]];
    typeAmounts.objects += objects;
    typeAmounts.elements += elements;
    typeAmounts.bytes += bytes;
    return bytes;
  };
  const perOffset = new Map<number, number>();
  events.forEach(({ offset, op, first, second, defined, counter, elements: lengths }, number) => {
    const times = counters(counter, defined);
    const length = lengths === 0 ? times * fixedLength(op, second) : counters(lengths, defined);
    if (allocates(op)) {
      const type = families.canonical[first];
      const bytes = times === 0 ? 0 : allocated(first, times, length);
      const index = entryOf(perOffset, offset, () => sites.length);
      siteOfEvent[number] = index;
      sites[index] ??= {
        offset,
        type,
        instruction: OPCODE_NAME[op] ?? "",
        objects: 0,
        elements: 0,
        bytes: 0,
      };
      sites[index].objects += times;
      sites[index].elements += length;
      sites[index].bytes += bytes;
      return;
    }
    const { reads, writes } = accesses(op);
    const isArray = module.types[first]?.kind === "array";
    const field = isArray ? 0 : second;
    const amount = lengths === 0 ? times : length;
    if (op === Op.ARRAY_COPY) {
      fields[families.canonical[first]].writes[0] += amount;
      fields[families.canonical[second]].reads[0] += amount;
      return;
    }
    const typeFields = fields[families.canonical[first]];
    if (reads) typeFields.reads[field] += amount;
    if (writes) typeFields.writes[field] += amount;
  });
  for (const { type, elements, counter } of constants) {
    allocated(type, instances, counter === 0 ? elements * instances : constantLengths(counter));
    amounts[families.canonical[type]].constant += instances;
  }
  const names = readNames(module);
  const listed = new Set<number>();
  module.types.forEach((_, index) => {
    const { reads, writes } = fields[index];
    const isUsed = amounts[index].objects > 0 || [...reads, ...writes].some((count) => count > 0);
    // A supertype has some of its fields, so it is listed, too.
    for (let type = index; isUsed && type >= 0 && !listed.has(type); type = families.supertype[type])
      listed.add(type);
  });
  const types = module.types.flatMap((definition, index): ObjectType[] => {
    if (!listed.has(index)) return [];
    const counts = fields[index];
    const supertype = families.supertype[index];
    const name = nameOf(index, names.types, families.canonical);
    const fieldNames = names.fields.get(index);
    const related = (field: number, access: keyof FieldCounts): boolean =>
      families.someRelated(index, (type) => (fields[type][access][field] ?? 0) > 0);
    return [
      {
        index,
        ...(name === undefined ? {} : { name }),
        kind: definition.kind === "array" ? "array" : "struct",
        ...(supertype < 0 ? {} : { supertype }),
        ...amounts[index],
        fields: fieldsOf(definition).map(({ type, mutable }, field): ObjectField => {
          const named = fieldNames?.get(field);
          return {
            ...(named === undefined ? {} : { name: named }),
            type: formatType(type),
            bytes: model.fieldBytes(type),
            mutable,
            reads: counts.reads[field],
            writes: counts.writes[field],
            unread: countsFields && !related(field, "reads"),
            unwritten: countsFields && !related(field, "writes"),
          };
        }),
      },
    ];
  });
  return { types, sites, siteOfEvent };
}

function nameOf(
  index: number,
  names: ReadonlyMap<number, string>,
  canonical: Int32Array,
): string | undefined {
  const own = names.get(index);
  if (own !== undefined) return own;
  for (const [otherIndex, name] of names) if (canonical[otherIndex] === index) return name;
  return undefined;
}

function fieldsOf(type: CompositeType): readonly { type: number; mutable: boolean }[] {
  if (type.kind === "array") return [type.field];
  return type.kind === "struct" ? type.fields : [];
}

function fieldCounts(type: CompositeType): FieldCounts {
  const { length } = fieldsOf(type);
  return { reads: new Float64Array(length), writes: new Float64Array(length) };
}
