import { encodeConstantExpression, I32, importsOf, type ValType } from "../../../../code/wasm/index.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { EntryPoints } from "../../../contexts/entry-points.ts";
import { BEYOND_SENTENCE, LARGEST_FOLLOWED_BYTES } from "../../../rewrite/facts/followed-bytes.ts";
import { usesTailCalls } from "../../../rewrite/facts/module-scan.ts";
import { otherMemoriesNote } from "../../../rewrite/facts/other-memories.ts";
import { type MergedRuntime, mergeRuntime } from "../../../rewrite/link/shadow-runtime.ts";
import type { ToolPass } from "../../../rewrite/tool.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { type WovenAttribution, weaveAttribution } from "../attribution/pass/weave-attribution.ts";
import { encodeCodeMarks } from "../code-marks.ts";
import { Control } from "../layout.ts";
import { ExactLocalityPass } from "../locality/pass/exact-locality-pass.ts";
import { SamplingPass } from "../locality/pass/sampling-pass.ts";
import { type WovenLocality, weaveLocality } from "../locality/pass/weave-locality.ts";
import { clockAt, planWorkingSetLayout, type WorkingSetLayout, workingSetConstants } from "../memory-plan.ts";
import { WORKING_SET_RUNTIME_BASE64 } from "../working-set.generated.ts";
import { findCarriers } from "./carriers.ts";
import { IntervalPass } from "./interval-pass.ts";
import { PollPlan } from "./poll-plan.ts";
import { findRegions, type Regions } from "./regions.ts";

/** Shortest interval unless the user says otherwise: accesses, or nanoseconds. */
const DEFAULT_INTERVAL_ACCESSES = 1_000_000;
const DEFAULT_MOST_INTERVALS = 512;
/** Sampled references wait for the next poll. */
const SAMPLED_ACCESSES_TO_POLL = 1 << 14;

/** What happens when the host enters, by what polls look at. */
const ENTERED = { countdown: "entered", flag: "enteredTimed", both: "enteredBoth" } as const;

/** Weaves the working-set tool into a module. */
export function weaveWorkingSet(around: ToolSurroundings): WovenTool {
  return new WorkingSetWeaver(around).weave();
}

/** Adds the runtimes of the tool and of what is asked for besides to a module, and makes the pass that calls them. */
class WorkingSetWeaver {
  readonly #around: ToolSurroundings;
  readonly #regions: Regions;
  readonly #layout: WorkingSetLayout;
  readonly #countdown: CountdownGlobal;
  readonly #locality: WovenLocality | undefined;
  readonly #attribution: WovenAttribution | undefined;
  /** Those in front of the runtime's own. */
  readonly #globals: NonNullable<WovenTool["globals"]>;
  readonly #runtime: MergedRuntime;
  /** Sampled references carry the accesses counted until then. */
  readonly #looksAt: keyof typeof ENTERED;

  constructor(around: ToolSurroundings) {
    const { appended, firstGlobal } = around;
    this.#around = around;
    this.#regions = findRegions(around);
    const layout = planLayout(around, this.#regions);
    this.#layout = layout;
    this.#countdown = placeCountdown(appended, firstGlobal);
    const globals = [...this.#countdown.globals];
    this.#locality = weaveLocality(
      { ...around, firstGlobal: firstGlobal + globals.length },
      layout,
      this.#countdown.hosts.clock,
    );
    globals.push(...(this.#locality?.globals ?? []));
    const constants = { ...workingSetConstants(layout), ...this.#regions.code };
    const from = this.#locality?.endBytes ?? layout.locality;
    this.#attribution = weaveAttribution(around, layout, from, firstGlobal + globals.length, constants);
    globals.push(...(this.#attribution?.globals ?? []));
    this.#globals = globals;
    this.#runtime = this.#mergeRuntime(constants);
    this.#looksAt =
      layout.unit === "accesses" ? "countdown" : this.#locality?.sampling === undefined ? "flag" : "both";
  }

  weave(): WovenTool {
    const layout = this.#layout;
    const locality = this.#locality;
    const attribution = this.#attribution;
    const polls = new PollPlan(this.#around.module, this.#around.scan);
    const carriers = this.#carriers(polls);
    const marks = this.#intervalPass(polls, carriers);
    let calls = "";
    return {
      name: "workingset",
      pass: passWith(marks, locality, this.#around.memory64),
      beside: attribution?.pass,
      followedCalls: attribution?.followedCalls,
      shadowBytes: attribution?.endBytes ?? locality?.endBytes ?? layout.endBytes,
      codeWritten: (places) => {
        calls = encodeCodeMarks(places);
      },
      describe: () => ({
        ...layout,
        calls,
        asksHost: (this.#around.options.hostStacks ?? "off") !== "off",
        ...locality?.description,
        ...attribution?.description,
      }),
      entered: this.#target(ENTERED[this.#looksAt]),
      carried: carriers.size > 0 ? { types: carriers, global: this.#countdown.index } : undefined,
      globals: [...this.#globals, ...this.#runtime.globals],
      exports: {
        hostRead: this.#listener("hostRead", 2, this.#attributed("hostAccessed")),
        hostWrote: this.#listener("hostWrote", 2, this.#attributed("hostAccessed")),
      },
      listeners: {
        copy: this.#listener("copied", 3),
        fill: this.#listener("filled", 3),
        init: this.#listener("initialized", 2),
        arrived: this.#listener("initialized", 2),
        left: this.#listener("hostRead", 2, this.#attributed("initialized"), "initialized"),
      },
      allocations: attribution?.allocations,
      notTracked: [
        ...otherMemoriesNote(this.#around.module),
        ...(this.#around.memory64 && this.#around.memoryBytes === LARGEST_FOLLOWED_BYTES
          ? [BEYOND_SENTENCE]
          : []),
        ...(this.#regions.heapFrom < 0 && this.#regions.code === undefined
          ? ["Where the heap begins is not known: lines of the heap are counted as static data."]
          : []),
        ...(attribution?.notTracked ?? []),
      ],
    };
  }

  #mergeRuntime(constants: Record<string, number | Uint8Array>): MergedRuntime {
    const { appended, firstGlobal, memory, memory64, noteStack, shadowMemory } = this.#around;
    const beforePoll = this.#locality?.beforePoll ?? -1;
    const [beforeScan] = this.#attributed("attribute");
    const [merged] = this.#attributed("merged");
    return mergeRuntime(bytesOfBase64(WORKING_SET_RUNTIME_BASE64), {
      appended,
      shadowMemory,
      firstGlobal: firstGlobal + this.#globals.length,
      constants,
      hosts: {
        programPages: appended.add(appended.typeIndex([], [I32]), () => programPages(memory, memory64)),
        noteStack: noteStack(),
        ...this.#countdown.hosts,
        ...(beforePoll < 0 ? {} : { beforePoll }),
        ...(beforeScan === undefined || merged === undefined ? {} : { beforeScan, merged }),
      },
    });
  }

  #target(name: string): number {
    return this.#runtime.functions.get(name) as number;
  }

  /** The attribution's function of a name, where there is an attribution and it has one. */
  #attributed(name: string): number[] {
    const index = this.#attribution?.functions.get(name);
    return index === undefined ? [] : [index];
  }

  /** The working set's own function of a name, and those of whoever else listens, as one. */
  #listener(name: string, parameters: number, others = this.#attributed(name), inLocality = name): number {
    const all = [this.#target(name), ...others];
    const own = this.#locality?.listeners.get(inLocality);
    if (own !== undefined) all.push(own);
    return all.length === 1 ? all[0] : callAll(this.#around.appended, all, parameters);
  }

  get #hasExceptions(): boolean {
    const { module } = this.#around;
    return module.tags.length > 0 || importsOf(module, "tag").length > 0;
  }

  /** The functions that hand the countdown on. What other tools put in the place of functions or calls knows of no other types. */
  #carriers(polls: PollPlan): ReadonlyMap<number, number> {
    const { appended, module, options, scan } = this.#around;
    const isAlone = this.#attribution === undefined && options.tools?.every((tool) => tool === "workingset");
    return isAlone === true && this.#looksAt !== "flag" && !this.#hasExceptions
      ? findCarriers(module, scan, polls, appended)
      : new Map();
  }

  #intervalPass(polls: PollPlan, carriers: ReadonlyMap<number, number>): IntervalPass {
    const layout = this.#layout;
    const looksAt = this.#looksAt;
    const { module, scan } = this.#around;
    const { entered } = new EntryPoints(module, scan);
    const isEntered = (index: number) => entered.has(index);
    return new IntervalPass({
      memory: this.#around.shadowMemory,
      memory64: this.#around.memory64,
      lines: layout.lines,
      planes: [-1, 0, layout.written, layout.both],
      clock: this.#countdown.index,
      published: clockAt(layout),
      flag: looksAt === "flag" ? layout.control + Control.flag : -1,
      poll: this.#target(looksAt === "both" ? "pollBoth" : "poll"),
      pollFlag: this.#target("pollFlag"),
      noteSize: this.#target("noteSize"),
      polls,
      isEntered,
      // A tail call goes on to any function.
      publishes: usesTailCalls(scan) ? () => true : isEntered,
      carriers,
      assumeAligned: layout.assumeAligned,
      exceptions: this.#hasExceptions,
    });
  }
}

function planLayout({ options, memoryBytes }: ToolSurroundings, regions: Regions): WorkingSetLayout {
  const { workingset = {} } = options;
  const unit = workingset.unit ?? "accesses";
  return planWorkingSetLayout({
    memoryBytes,
    interval: workingset.interval ?? DEFAULT_INTERVAL_ACCESSES,
    maxIntervals: workingset.maxIntervals ?? DEFAULT_MOST_INTERVALS,
    unit,
    assumeAligned: workingset.assumeAligned ?? (unit !== "accesses" && workingset.attribution === undefined),
    adaptive: unit === "accesses" && workingset.interval === undefined,
    mostAccessesToPoll: workingset.locality === undefined ? undefined : SAMPLED_ACCESSES_TO_POLL,
    ...regions,
  });
}

function passWith(marks: IntervalPass, locality: WovenLocality | undefined, memory64: boolean): ToolPass {
  if (locality?.access !== undefined)
    return new ExactLocalityPass(marks, { memory64, access: locality.access });
  return locality?.sampling === undefined ? marks : new SamplingPass(marks, locality.sampling);
}

/** A function of i32 parameters that calls others with them. */
function callAll(
  appended: ToolSurroundings["appended"],
  functions: readonly number[],
  parameters: number,
): number {
  return appended.add(appended.typeIndex(Array(parameters).fill(I32), []), () => {
    const body = new BodyBuilder();
    for (const index of functions) {
      for (let i = 0; i < parameters; i++) body.op("local.get", i);
      body.op("call", index);
    }
    return body.finish();
  });
}

/** Size of the program's memory in 64 KiB pages. */
function programPages(memory: number, memory64: boolean): Uint8Array {
  const body = new BodyBuilder().op("memory.size", memory);
  if (memory64) body.op("i32.wrap_i64");
  return body.finish();
}

/** The global in which an instance counts accesses down to its next snapshot. */
export interface CountdownGlobal {
  /** −1: nothing is counted. */
  index: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  /** What runtimes import to get at it. */
  hosts: { clock: number; setClock: number };
}

/** Makes the global with index `index`, and what gets at it. */
export function placeCountdown(appended: AppendedFunctions, index: number): CountdownGlobal {
  const zero = encodeConstantExpression(I32, 0);
  return {
    index,
    globals: [{ type: I32, initial: zero }],
    hosts: {
      clock: appended.add(appended.typeIndex([], [I32]), () =>
        new BodyBuilder().op("global.get", index).finish(),
      ),
      setClock: appended.add(appended.typeIndex([I32], []), () =>
        new BodyBuilder().op("local.get", 0).op("global.set", index).finish(),
      ),
    },
  };
}
