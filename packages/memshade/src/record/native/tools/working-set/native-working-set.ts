import type { NativeTool, NativeToolOptions } from "../../native-tool.ts";
import type { BlockView, PlanBlock } from "../../rewrite/plan.ts";
import { awaitNextInterval } from "./access-clock.ts";
import {
  CONTROL_BYTES,
  OWNED_PAGES_BIT,
  OWNED_PAGES_BITS,
  OWNERS_BIT,
  OWNERS_BITS,
  SHARED,
  SHARED_UNITS,
} from "./layout.ts";
import { MarkPlanner } from "./plan-marks.ts";

/** Of the code: another one where that changes. */
const KEY = "lines5";

/** The tool that marks the lines that a native program touches, and counts its accesses where intervals are measured by them. */
export function nativeWorkingSet({
  isCounting = false,
  isOwned = false,
}: NativeToolOptions = {}): NativeTool {
  const planner = new MarkPlanner(isCounting);
  const plan: PlanBlock = Object.assign((block: BlockView) => planner.plan(block), {
    isWalked: true,
    ...(isCounting ? { common: awaitNextInterval() } : {}),
  });
  return {
    name: "working-set",
    key: isCounting ? `${KEY}c` : KEY,
    plan,
    isWatched: isCounting,
    isMarking: true,
    keptBytes: CONTROL_BYTES,
    isOwned,
    shadows: [
      { address: SHARED, bytes: SHARED_UNITS * CONTROL_BYTES },
      ...(isOwned
        ? [
            { address: 2 ** OWNERS_BIT, bytes: 2 ** OWNERS_BITS },
            { address: 2 ** OWNED_PAGES_BIT, bytes: 2 ** OWNED_PAGES_BITS },
          ]
        : []),
    ],
    slowPaths: 0,
  };
}
