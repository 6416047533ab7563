/**
 * Heap over time, `heapintervals.json`, version 1: a file beside `run.json` and the raw heap profile, for runs with the
 * tool heap or alloc. Bytes and counts are JSON numbers.
 */
export const HEAP_INTERVALS_SCHEMA = "memshade-heap-intervals";
export const HEAP_INTERVALS_VERSION = 1;
export const HEAP_INTERVALS_FILE = "heapintervals.json";

export interface HeapIntervals {
  /** Name and version of the format. */
  schema: typeof HEAP_INTERVALS_SCHEMA;
  version: typeof HEAP_INTERVALS_VERSION;
  /** Version of memshade that recorded the run. */
  memshade: string;
  /** Unit of intervals. */
  unit: "allocations";
  /** Instances that allocated most, at most 64. */
  instances: InstanceHeap[];
  /** Number of left-out instances, which allocated less. */
  otherInstances: number;
}

/** Heap of one instance, or of all instances that share a memory. */
export interface InstanceHeap {
  /** Index of the module in run.json. */
  module: number;
  /** Number of the instance; the first one of a shared memory. */
  instance: number;
  /** Allocations of a full interval, a power of two. */
  period: number;
  /** Live bytes and blocks when the first interval began: 0, except after `reset()`. */
  startBytes: number;
  startBlocks: number;
  /** Intervals, as columns. */
  intervals: HeapIntervalColumns;
  /** True if the run ended before the last interval was full. */
  lastIsPartial: boolean;
  /** Contexts with most bytes, at most 256; the remainder is the difference to the whole. */
  contexts: ContextHeap[];
  /** Number of left-out contexts. */
  otherContexts: number;
}

/** Row per interval: allocations `start` + 1 to `end`, and the frees before the next allocation. */
export interface HeapIntervalColumns {
  /** Allocations before the interval, and up to its end. */
  start: number[];
  end: number[];
  /** Live at the interval's end. */
  liveBytes: number[];
  liveBlocks: number[];
  /** Maximum of live bytes and blocks in the interval, including its beginning. */
  maxBytes: number[];
  maxBlocks: number[];
  /** Allocated and freed in the interval. Blocks without room in the tables are not included. */
  allocatedBytes: number[];
  freedBytes: number[];
  frees: number[];
  /** Context of the first allocation after the interval, as its key in the raw profile; "0": none, or unknown. */
  next: string[];
}

/** Intervals in which one context allocated or freed, with the amounts. */
export interface ContextHeap {
  /** Decimal key in the raw profile. */
  stackId: string;
  /** Live bytes and blocks of the context when the first interval began. */
  startBytes: number;
  startBlocks: number;
  /** Indices of intervals, ascending. The other columns have as many rows. */
  intervals: number[];
  /** Allocated and freed blocks and bytes in these intervals. */
  allocations: number[];
  allocatedBytes: number[];
  frees: number[];
  freedBytes: number[];
}

/** Returns the live bytes of a context at the end of each interval. */
export function liveBytesOf(context: ContextHeap, intervals: number): Float64Array {
  const live = new Float64Array(intervals);
  let bytes = context.startBytes;
  for (let i = 0, row = 0; i < intervals; i++) {
    for (; context.intervals[row] === i; row++)
      bytes += context.allocatedBytes[row] - context.freedBytes[row];
    live[i] = bytes;
  }
  return live;
}
