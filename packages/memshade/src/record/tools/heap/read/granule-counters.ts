/** The counters of a program's granules, 8 bytes each. */
export interface GranuleCounters {
  /** Those of granules `[first, end)`, which are numbered by address: twice the accesses, and 1 if one of them reads. */
  read(first: number, end: number): Uint32Array;
}

/** The memory that an instance's tables are in. Its counters are at the beginning of it, or in a place of their own. */
export interface TableMemory {
  readonly buffer: ArrayBufferLike;
  readonly counters?: GranuleCounters | undefined;
}

/** Counters at the beginning of a memory. */
export function countersOf({ buffer, counters }: TableMemory, bytes: number): GranuleCounters {
  if (counters !== undefined) return counters;
  const all = new Uint32Array(buffer, 0, bytes / Uint32Array.BYTES_PER_ELEMENT);
  return { read: (first, end) => all.subarray(first, end) };
}
