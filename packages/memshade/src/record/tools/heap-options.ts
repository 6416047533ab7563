import type { CounterMode } from "../../profile/model/run.ts";

export const HOST_STACKS = ["sampled", "exact", "off"] as const;
/** Whether call paths go on with the host's stack that entered the module: a sample of the entries is asked, all, or none. */
export type HostStacks = (typeof HOST_STACKS)[number];

/** What the heap tool records and how. Every field is optional; the defaults give an exact, repeatable profile. */
export interface HeapOptions {
  /** Unit of lifetimes: allocations made so far ("virtual", repeatable) or milliseconds ("wall"). Default "virtual". */
  clock?: "virtual" | "wall" | undefined;
  /** Count every access at its own 8-byte granule, so that the profile holds access histograms. */
  exactHistogram?: boolean | undefined;
  /** Count accesses to the program's own stack too. */
  includeStack?: boolean | undefined;
  /** Count the allocator's own accesses too. */
  includeAllocator?: boolean | undefined;
  /** The allocation functions where they cannot be found: `malloc=NAME|#INDEX,free=…`. */
  allocator?: string | undefined;
  /** Calling contexts kept in a module before they are handed out as a dump. */
  maxContexts?: number | undefined;
  /** Live blocks that can be followed at the same time. */
  maxBlocks?: number | undefined;
  /** Call paths go on with the JavaScript that entered the module. */
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
  /** Blocks are followed to their last access: so it is unless this is false. */
  followsBlocks?: boolean | undefined;
  /** The host reports what functions of WASI read. */
  observesHost?: boolean | undefined;
}

/** The part of the options that shapes reading and writing the profile. */
export function toSessionOptions(heap: HeapOptions): HeapSessionOptions {
  return {
    clock: heap.clock ?? "virtual",
    rawVersion: heap.rawVersion ?? 4,
    counters: heap.exactHistogram ? "exact" : "merged",
    includeStack: heap.includeStack ?? false,
    includeAllocator: heap.includeAllocator ?? false,
  };
}
