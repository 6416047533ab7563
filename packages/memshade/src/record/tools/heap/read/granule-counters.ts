/** Granules whose counters are read at once: blocks of gigabytes are read piece by piece. */
export const COUNTED_PIECE = 2 ** 18;

export interface GranuleCounters {
  /**
   * Returns the counters of granules `[first, end)`, which are numbered by address. A counter is accesses ×
   * 2, plus 1 if one of them reads.
   */
  read(first: number, end: number): Uint32Array;
}

/** Memory with an instance's tables. Its counters are at its start, or are read by `counters`. */
export interface TableMemory {
  readonly buffer: ArrayBufferLike;
  readonly counters?: GranuleCounters | undefined;
}

/** Returns the counters of the first `bytes` bytes of a memory, or its own counters. */
export function countersOf({ buffer, counters }: TableMemory, bytes: number): GranuleCounters {
  if (counters !== undefined) return counters;
  const words = new Uint32Array(buffer, 0, bytes / Uint32Array.BYTES_PER_ELEMENT);
  return { read: (first, end) => words.subarray(first, end) };
}
