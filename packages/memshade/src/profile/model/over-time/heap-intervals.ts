/**
 * The heap over time, `heapintervals.json`, version 1: a file beside `run.json` and the raw heap profile, for runs with the heap
 * tool or alloc. Bytes and counts are JSON numbers.
 */
export const HEAP_INTERVALS_SCHEMA = "memshade-heap-intervals";
export const HEAP_INTERVALS_VERSION = 1;
/** Name of the file in a run folder. */
export const HEAP_INTERVALS_FILE = "heapintervals.json";

export interface HeapIntervals {
  schema: typeof HEAP_INTERVALS_SCHEMA;
  version: typeof HEAP_INTERVALS_VERSION;
  /** Version of memshade that recorded the run. */
  memshade: string;
  /** What the intervals' `start` and `end` count. */
  unit: "allocations";
  instances: InstanceHeap[];
  /** Instances that allocated less than those, and are left out. */
  otherInstances: number;
}

/** The heap of one instance, or of all instances that share their memory. */
export interface InstanceHeap {
  /** Index among the run's modules. */
  module: number;
  /** Number of the instance, from 0. */
  instance: number;
  /** Allocations of a full interval. */
  period: number;
  /** When the first interval began: what was live. 0 unless earlier records were forgotten. */
  startBytes: number;
  startBlocks: number;
  intervals: HeapIntervalColumns;
  /** The run ended before the last interval did. */
  lastIsPartial: boolean;
  /** The contexts that matter; what others did is the difference to the whole. */
  contexts: ContextHeap[];
  /** Contexts that are left out. */
  otherContexts: number;
}

/** One row per interval: allocations `start` + 1 to `end`, and what was released before the next one. */
export interface HeapIntervalColumns {
  start: number[];
  end: number[];
  /** Live at the interval's end. */
  liveBytes: number[];
  liveBlocks: number[];
  /** Most that was live inside of it, its beginning included. */
  maxBytes: number[];
  maxBlocks: number[];
  /** Allocated and released in it. Of blocks that the tables had no room for nothing is in these. */
  allocatedBytes: number[];
  freedBytes: number[];
  frees: number[];
  /** The context of the allocation that came after it, as its key in the raw profile; "0": none, or not known. */
  next: string[];
}

/** One context: the intervals in which it did something, and what. */
export interface ContextHeap {
  /** Decimal; the key in the raw profile. */
  stackId: string;
  /** When the first interval began: what was live of it. */
  startBytes: number;
  startBlocks: number;
  /** Indices of intervals, rising. The other columns have as many rows. */
  intervals: number[];
  allocations: number[];
  allocatedBytes: number[];
  frees: number[];
  freedBytes: number[];
}

/** What is live of a context at the end of each interval, bytes. */
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
