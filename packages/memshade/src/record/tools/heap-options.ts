import type { CounterMode } from "../../profile/model/run.ts";

export const HOST_STACKS = ["sampled", "exact", "off"] as const;
/**
 * Extent of call paths into the host's stack that entered the module: for a sample of the entries, for all,
 * or for none.
 */
export type HostStacks = (typeof HOST_STACKS)[number];

/** Options of the heap tool. Every field is optional; the defaults give an exact, repeatable profile. */
export interface HeapOptions {
  /** Unit of lifetimes: allocations made so far ("virtual", repeatable) or milliseconds ("wall"). Default "virtual". */
  clock?: "virtual" | "wall" | undefined;
  /** Count every access at its own 8-byte granule, so that the profile holds access histograms. */
  exactHistogram?: boolean | undefined;
  /** Count accesses to the program's own stack too. */
  includeStack?: boolean | undefined;
  /** Count the allocator's own accesses too. */
  includeAllocator?: boolean | undefined;
  /** Allocation functions, if they cannot be found: `malloc=NAME|#INDEX,free=…`. */
  allocator?: string | undefined;
  /** Most calling contexts in a module before they are flushed as a dump. */
  maxContexts?: number | undefined;
  /** Most live blocks that can be followed at the same time. */
  maxBlocks?: number | undefined;
  /** Continue call paths with the JavaScript that entered the module. */
  hostStacks?: HostStacks | undefined;
  /** Version of the raw MemProf file: 4 (default), 5 or 3. */
  rawVersion?: 3 | 4 | 5 | undefined;
}

export interface HeapSessionOptions {
  clock: "virtual" | "wall";
  rawVersion: 3 | 4 | 5;
  counters: CounterMode;
  includeStack: boolean;
  includeAllocator: boolean;
  /** False if blocks are not followed to their last access. */
  followsBlocks?: boolean | undefined;
  /** True if the host reports reads by functions of WASI. */
  observesHost?: boolean | undefined;
}

export function toSessionOptions(heap: HeapOptions): HeapSessionOptions {
  return {
    clock: heap.clock ?? "virtual",
    rawVersion: heap.rawVersion ?? 4,
    counters: heap.exactHistogram ? "exact" : "merged",
    includeStack: heap.includeStack ?? false,
    includeAllocator: heap.includeAllocator ?? false,
  };
}
