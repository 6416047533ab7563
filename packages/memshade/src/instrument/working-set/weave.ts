import { I32, importsOf } from "../../wasm/index.ts";
import { BodyBuilder } from "../body-builder.ts";
import { mergeRuntime } from "../shadow-runtime.ts";
import type { ToolSurroundings, WovenTool } from "../tool-pass.ts";
import { IntervalPass } from "./interval-pass.ts";
import { planWorkingSetLayout, workingSetConstants } from "./layout.ts";
import { PollPlan } from "./poll-plan.ts";
import { findRegions } from "./regions.ts";
import { workingSetRuntimeBytes } from "./runtime-bytes.ts";

/** Offsets in the control block that inserted code uses; `runtime/shadow/assembly/working-set/layout.ts` has them all. */
const FLAG = 44;
const CLOCK = 64;

/** Shortest interval unless the user says otherwise: accesses, or nanoseconds. */
export const DEFAULT_INTERVAL_ACCESSES = 1_000_000;
const DEFAULT_MOST_INTERVALS = 512;

/** Weaves the working-set tool into a module. */
export function weaveWorkingSet(around: ToolSurroundings): WovenTool {
  const { module, appended, options, memory, memory64, shadowMemory } = around;
  const { workingset = {} } = options;
  const unit = workingset.unit ?? "accesses";
  const regions = findRegions(module, around.stackPointer);
  const layout = planWorkingSetLayout({
    memoryBytes: around.memoryBytes,
    interval: workingset.interval ?? DEFAULT_INTERVAL_ACCESSES,
    maxIntervals: workingset.maxIntervals ?? DEFAULT_MOST_INTERVALS,
    unit,
    assumeAligned: workingset.assumeAligned === true,
    adaptive: unit === "accesses" && workingset.interval === undefined,
    ...regions,
  });
  const runtime = mergeRuntime(workingSetRuntimeBytes(), {
    appended,
    shadowMemory,
    firstGlobal: around.firstGlobal,
    constants: workingSetConstants(layout),
    hosts: {
      programPages: appended.add(appended.typeIndex([], [I32]), () => programPages(memory, memory64)),
      noteStack: around.noteStack(),
    },
  });
  const target = (name: string): number => runtime.functions.get(name) as number;
  const pass = new IntervalPass({
    memory: shadowMemory,
    memory64,
    lines: layout.lines,
    planes: [-1, 0, layout.written, layout.both],
    clock: layout.control + CLOCK,
    flag: unit === "accesses" ? -1 : layout.control + FLAG,
    poll: target("poll"),
    pollFlag: target("pollFlag"),
    advance: target("advance"),
    markRange: target("markRange"),
    polls: new PollPlan(module, around.scan),
    scan: around.scan,
    assumeAligned: layout.assumeAligned,
    exceptions: module.tags.length > 0 || importsOf(module, "tag").length > 0,
  });
  return {
    name: "workingset",
    pass,
    shadowBytes: layout.endBytes,
    describe: () => layout,
    start: -1,
    entered: target(unit === "accesses" ? "entered" : "enteredTimed"),
    memoryLimit: undefined,
    globals: runtime.globals,
    exports: { hostRead: target("hostRead"), hostWrote: target("hostWrote") },
    listeners: { copy: target("copied"), fill: target("filled"), init: target("initialized") },
    allocations: undefined,
    notTracked:
      regions.heapFrom < 0
        ? ["Where the heap begins is not known: lines of the heap are counted as static data."]
        : [],
  };
}

/** Size of the program's memory in 64 KiB pages. */
function programPages(memory: number, memory64: boolean): Uint8Array {
  const body = new BodyBuilder().op("memory.size", memory);
  if (memory64) body.op("i32.wrap_i64");
  return body.finish();
}
