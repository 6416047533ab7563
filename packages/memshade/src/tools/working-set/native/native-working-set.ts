import type { NativeTool } from "../../../native/native-tool.ts";
import { CONTROL_BYTES, SHARED, SHARED_UNITS } from "./layout.ts";
import { MarkPlanner } from "./plan-marks.ts";

/** Of the code: another one where that changes. */
const KEY = "lines3";

/** The tool that marks the lines that a native program touches. */
export function nativeWorkingSet(): NativeTool {
  const planner = new MarkPlanner();
  return {
    name: "working-set",
    key: KEY,
    plan: (block) => planner.plan(block),
    shadows: [{ address: SHARED, bytes: SHARED_UNITS * CONTROL_BYTES }],
    slowPaths: 0,
  };
}
