import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { mergeRuntime } from "../../../rewrite/link/shadow-runtime.ts";
import type { ToolPass } from "../../../rewrite/tool.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { I32, importsOf } from "../../../wasm/index.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { weaveAttribution } from "../attribution/pass/weave-attribution.ts";
import { encodeCodeMarks } from "../code-marks.ts";
import { Control } from "../layout.ts";
import { ExactLocalityPass } from "../locality/pass/exact-locality-pass.ts";
import { SamplingPass } from "../locality/pass/sampling-pass.ts";
import { type WovenLocality, weaveLocality } from "../locality/pass/weave-locality.ts";
import { clockAt, planWorkingSetLayout, workingSetConstants } from "../memory-plan.ts";
import { WORKING_SET_RUNTIME_BASE64 } from "../working-set.generated.ts";
import { findCarriers } from "./carriers.ts";
import { placeCountdown } from "./countdown-global.ts";
import { IntervalPass } from "./interval-pass.ts";
import { PollPlan } from "./poll-plan.ts";
import { findRegions } from "./regions.ts";

/** Shortest interval unless the user says otherwise: accesses, or nanoseconds. */
export const DEFAULT_INTERVAL_ACCESSES = 1_000_000;
const DEFAULT_MOST_INTERVALS = 512;
/** Sampled references wait for the next poll. */
const SAMPLED_ACCESSES_TO_POLL = 1 << 14;

/** What happens when the host enters, by what polls look at. */
const ENTERED = { countdown: "entered", flag: "enteredTimed", both: "enteredBoth" } as const;

/** Weaves the working-set tool into a module. */
export function weaveWorkingSet(around: ToolSurroundings): WovenTool {
  const { module, appended, options, memory, memory64, shadowMemory } = around;
  const { workingset = {} } = options;
  const unit = workingset.unit ?? "accesses";
  const regions = findRegions(around);
  const layout = planWorkingSetLayout({
    memoryBytes: around.memoryBytes,
    interval: workingset.interval ?? DEFAULT_INTERVAL_ACCESSES,
    maxIntervals: workingset.maxIntervals ?? DEFAULT_MOST_INTERVALS,
    unit,
    assumeAligned: workingset.assumeAligned ?? (unit !== "accesses" && workingset.attribution === undefined),
    adaptive: unit === "accesses" && workingset.interval === undefined,
    mostAccessesToPoll: workingset.locality === undefined ? undefined : SAMPLED_ACCESSES_TO_POLL,
    ...regions,
  });
  const countdown = placeCountdown(appended, around.firstGlobal, shadowMemory, clockAt(layout));
  const globals = [...countdown.globals];
  const { clock, setClock } = countdown.hosts;
  const locality = weaveLocality(
    { ...around, firstGlobal: around.firstGlobal + globals.length },
    layout,
    clock,
  );
  const constants = { ...workingSetConstants(layout), ...regions.code };
  globals.push(...(locality?.globals ?? []));
  const attribution = weaveAttribution(
    around,
    layout,
    locality?.endBytes ?? layout.locality,
    around.firstGlobal + globals.length,
    constants,
  );
  globals.push(...(attribution?.globals ?? []));
  const attributed = (name: string): number[] => {
    const index = attribution?.functions.get(name);
    return index === undefined ? [] : [index];
  };
  const [beforeScan] = attributed("attribute");
  const [merged] = attributed("merged");
  const runtime = mergeRuntime(bytesOfBase64(WORKING_SET_RUNTIME_BASE64), {
    appended,
    shadowMemory,
    firstGlobal: around.firstGlobal + globals.length,
    constants,
    hosts: {
      programPages: appended.add(appended.typeIndex([], [I32]), () => programPages(memory, memory64)),
      noteStack: around.noteStack(),
      clock,
      setClock,
      ...(locality === undefined || locality.beforePoll < 0 ? {} : { beforePoll: locality.beforePoll }),
      ...(beforeScan === undefined || merged === undefined ? {} : { beforeScan, merged }),
    },
  });
  const target = (name: string): number => runtime.functions.get(name) as number;
  // Sampled references carry the accesses counted until then.
  const looksAt = unit === "accesses" ? "countdown" : locality?.sampling === undefined ? "flag" : "both";
  const polls = new PollPlan(module, around.scan);
  const exceptions = module.tags.length > 0 || importsOf(module, "tag").length > 0;
  // What other tools put in the place of functions or calls knows of no other types.
  const isAlone = options.tools?.every((tool) => tool === "workingset") === true && attribution === undefined;
  const carriers =
    isAlone && looksAt !== "flag" && !exceptions
      ? findCarriers(module, around.scan, polls, appended)
      : new Map<number, number>();
  const marks = new IntervalPass({
    memory: shadowMemory,
    memory64,
    lines: layout.lines,
    planes: [-1, 0, layout.written, layout.both],
    clock: countdown.index,
    published: clockAt(layout),
    flag: looksAt === "flag" ? layout.control + Control.flag : -1,
    poll: target(looksAt === "both" ? "pollBoth" : "poll"),
    pollFlag: target("pollFlag"),
    noteSize: target("noteSize"),
    polls,
    carriers,
    assumeAligned: layout.assumeAligned,
    exceptions,
  });
  let calls = "";
  /** The working set's own function of a name, and those of whoever else listens. */
  const listener = (
    name: string,
    parameters: number,
    others = attributed(name),
    inLocality = name,
  ): number => {
    const all = [target(name), ...others];
    const own = locality?.listeners.get(inLocality);
    if (own !== undefined) all.push(own);
    return all.length === 1 ? all[0] : callAll(appended, all, parameters);
  };
  return {
    name: "workingset",
    pass: passWith(marks, locality, memory64),
    beside: attribution?.pass,
    followedCalls: attribution?.followedCalls,
    shadowBytes: attribution?.endBytes ?? locality?.endBytes ?? layout.endBytes,
    codeWritten: (marks) => {
      calls = encodeCodeMarks(marks);
    },
    describe: () => ({ ...layout, calls, ...locality?.description, ...attribution?.description }),
    start: -1,
    entered: target(ENTERED[looksAt]),
    left: looksAt === "flag" ? -1 : countdown.publish,
    memoryLimit: undefined,
    carried: carriers.size > 0 ? { types: carriers, global: countdown.index } : undefined,
    globals: [...globals, ...runtime.globals],
    exports: {
      hostRead: listener("hostRead", 2, attributed("hostAccessed")),
      hostWrote: listener("hostWrote", 2, attributed("hostAccessed")),
    },
    listeners: {
      copy: listener("copied", 3),
      fill: listener("filled", 3),
      init: listener("initialized", 2),
      arrived: listener("initialized", 2),
      left: listener("hostRead", 2, attributed("initialized"), "initialized"),
    },
    allocations: attribution?.allocations,
    notTracked: [
      ...(regions.heapFrom < 0 && regions.code === undefined
        ? ["Where the heap begins is not known: lines of the heap are counted as static data."]
        : []),
      ...(attribution?.notTracked ?? []),
    ],
  };
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
