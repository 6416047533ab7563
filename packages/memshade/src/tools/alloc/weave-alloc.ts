import { UserError } from "../../bytes/errors.ts";
import { weaveHeap } from "../heap/pass/weave-heap.ts";
import type { ToolSurroundings, WovenTool } from "../tool.ts";

/**
 * Weaves in who allocates what: the shadow stack and the hooks of the allocator, which are the heap profiler's, and nothing at
 * the accesses.
 *
 * @throws UserError where the heap profiler is asked for too
 */
export function weaveAlloc(around: ToolSurroundings): WovenTool | undefined {
  if (around.options.tools?.includes("heap"))
    throw new UserError("the heap profiler records all that the tool alloc does: ask for one of them");
  // Accesses are what these would count differently.
  const options = {
    ...around.options,
    exactHistogram: false,
    includeStack: false,
    countersOnly: false,
    beside: undefined,
  };
  const heap = weaveHeap({ ...around, options });
  if (heap?.beside === undefined) return undefined;
  return {
    ...heap,
    name: "alloc",
    pass: heap.beside,
    beside: undefined,
    listeners: { copy: -1, fill: -1, init: -1 },
  };
}
