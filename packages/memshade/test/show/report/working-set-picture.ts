import {
  type InstanceWorkingSet,
  MEASURES,
  type StackFrame,
  type WorkingSetProfile,
} from "../../../src/profile/model/working-set/working-set.ts";
import { buildLevels, totalOf } from "../../../src/profile/model/working-set/working-set-series.ts";
import { IntervalStamps } from "../../explain/analyses/working-set/interval-stamps.ts";

/** A profile of intervals of letters, one 64-byte line each: `["ab", "a", "c"]`; each interval also names its function. */
export function pictureOf(
  intervals: readonly string[],
  functions: readonly string[] = [],
  period = 1000,
): WorkingSetProfile {
  const stamps = new IntervalStamps({ mostIntervals: 1024 });
  intervals.forEach((letters, i) => {
    for (const letter of letters) {
      const isUpper = letter !== letter.toLowerCase();
      stamps.access(letter.toLowerCase().charCodeAt(0) * 64, 8, isUpper);
    }
    if (i < intervals.length - 1) stamps.tick((i + 1) * period);
  });
  const records = stamps.finish(intervals.length * period);
  const names = [...new Set(functions)];
  const stacks = names.map((name, i): StackFrame[] => [
    { function: i + 1, offset: 10 * i, name },
    { function: 0, offset: 0, name: "main" },
  ]);
  const instance: InstanceWorkingSet = {
    module: 0,
    instance: 0,
    duration: intervals.length * period,
    period,
    snapshots: intervals.length - 1,
    memoryBytes: 65536,
    profilerBytes: 10_000,
    total: Object.fromEntries(MEASURES.map((measure) => [measure, totalOf(records, measure)])),
    levels: buildLevels(records, false),
    stackOf: intervals.map((_, i) => names.indexOf(functions[i] ?? "")),
    stacks,
  };
  return {
    schema: "memshade-working-set",
    version: 1,
    memshade: "0.0.0",
    command: ["program.wasm"],
    program: "program.wasm",
    lineBytes: 64,
    unit: "accesses",
    options: {
      interval: period,
      maxIntervals: 512,
      assumeAligned: false,
      firstTouch: false,
      fill: false,
    },
    modules: [{ index: 0, name: "program.wasm", buildId: "00" }],
    instances: [instance],
    notTracked: [],
  };
}
