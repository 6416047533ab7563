import { UserError } from "../../ground/bytes/errors.ts";
import { weaveHeap } from "./heap/pass/weave-heap.ts";
import type { ToolSurroundings, WovenTool } from "./tool.ts";

/**
 * Inserts the heap profiler's shadow stack and allocator hooks, which record blocks and their callers,
 * without access counters.
 *
 * @throws UserError for options of access counters, or if the heap profiler is requested too
 */
export function weaveAlloc(surroundings: ToolSurroundings): WovenTool | undefined {
  const { tools, exactHistogram, includeStack, includeAllocator } = surroundings.options;
  if (tools?.includes("heap"))
    throw new UserError("the tool heap includes the tool alloc: choose one of them");
  if (exactHistogram || includeStack || includeAllocator)
    throw new UserError("the tool alloc counts no accesses: use the tool heap with options of accesses");
  const options = { ...surroundings.options, countersOnly: false, beside: undefined };
  const heap = weaveHeap({ ...surroundings, options }, false);
  if (heap?.beside === undefined) return undefined;
  const { beside: pass, listeners: _, ...recorder } = heap;
  return { ...recorder, name: "alloc", pass };
}
