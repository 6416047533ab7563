import { COUNTERS, COUNTERS_BITS } from "../../layout.ts";
import type { NativeTool, NativeToolOptions } from "../../native-tool.ts";
import type { BlockView, PlanBlock } from "../../rewrite/plan.ts";
import { AccessGroups } from "./access-groups.ts";

/** What the heap profiler inserts into native programs. */
export function nativeHeap({ includeStack = false }: NativeToolOptions = {}): NativeTool {
  const groups = new AccessGroups({ includeStack });
  const plan: PlanBlock = Object.assign((block: BlockView) => groups.plan(block), { isWalked: true });
  return {
    name: "heap",
    key: includeStack ? "3s" : "3",
    plan,
    shadows: [{ address: COUNTERS, bytes: 2 ** COUNTERS_BITS }],
    slowPaths: 0,
    isCounting: true,
  };
}
