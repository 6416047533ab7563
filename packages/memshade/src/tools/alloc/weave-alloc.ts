import { UserError } from "../../bytes/errors.ts";
import { weaveHeap } from "../heap/pass/weave-heap.ts";
import type { ToolSurroundings, WovenTool } from "../tool.ts";

/**
 * Weaves in who allocates what: the shadow stack and the hooks of the allocator, which are the heap profiler's, and nothing at
 * the accesses.
 *
 * @throws UserError for options of what counts accesses, and where the heap profiler is asked for too
 */
export function weaveAlloc(around: ToolSurroundings): WovenTool | undefined {
  const { tools, exactHistogram, includeStack, includeAllocator } = around.options;
  if (tools?.includes("heap"))
    throw new UserError("the heap profiler records all that the tool alloc does: ask for one of them");
  if (exactHistogram || includeStack || includeAllocator)
    throw new UserError(
      "the tool alloc counts no accesses: which of them to count is an option of the heap profiler",
    );
  const options = { ...around.options, countersOnly: false, beside: undefined };
  const heap = weaveHeap({ ...around, options }, false);
  if (heap?.beside === undefined) return undefined;
  return {
    ...heap,
    name: "alloc",
    pass: heap.beside,
    beside: undefined,
    listeners: { copy: -1, fill: -1, init: -1 },
  };
}
