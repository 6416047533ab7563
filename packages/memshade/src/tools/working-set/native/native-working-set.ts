import type { NativeTool, NativeToolOptions } from "../../../native/native-tool.ts";
import type { PlanBlock } from "../../../native/rewrite/emit.ts";
import { awaitNextInterval } from "./access-clock.ts";
import { CONTROL_BYTES, SHARED, SHARED_UNITS } from "./layout.ts";
import { MarkPlanner } from "./plan-marks.ts";

/** Of the code: another one where that changes. */
const KEY = "lines4";

/** The tool that marks the lines that a native program touches, and counts its accesses where intervals are measured by them. */
export function nativeWorkingSet({ isCounting = false }: NativeToolOptions = {}): NativeTool {
  const planner = new MarkPlanner(isCounting);
  const plan: PlanBlock = (block) => planner.plan(block);
  return {
    name: "working-set",
    key: isCounting ? `${KEY}c` : KEY,
    plan: isCounting ? Object.assign(plan, { common: awaitNextInterval() }) : plan,
    isWatched: isCounting,
    shadows: [{ address: SHARED, bytes: SHARED_UNITS * CONTROL_BYTES }],
    slowPaths: 0,
  };
}
