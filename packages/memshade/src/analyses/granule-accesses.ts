import type { HeapProfile } from "../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../model/indices.ts";

/** Accesses by their place in the blocks, all blocks of some contexts together. */
export interface GranuleAccesses {
  /** By granule, the first one at the start of the block. */
  readonly counts: Float64Array;
  readonly granuleBytes: number;
  /** Ranges of bytes that no access went to; `end` is not included. */
  readonly untouched: readonly { readonly start: number; readonly end: number }[];
}

/** Accesses per context that have a place; undefined if the profile has none. */
export function placedAccesses({ contexts }: HeapProfile): Float64Array | undefined {
  const { histogram } = contexts.mibs;
  if (!histogram.some((counts) => counts !== undefined && counts.length > 0)) return undefined;
  return Float64Array.from({ length: contexts.length }, (_, context) =>
    (histogram[context] ?? []).reduce((sum, count) => sum + Number(count), 0),
  );
}

export function granuleAccesses(
  { contexts, description }: HeapProfile,
  rows: readonly IndexIntoContextTable[],
): GranuleAccesses {
  const { histogram } = contexts.mibs;
  const { granuleBytes } = description;
  const lists = rows.map((row) => histogram[row] ?? []);
  const counts = new Float64Array(lists.reduce((most, list) => Math.max(most, list.length), 0));
  for (const list of lists) {
    for (const [granule, count] of list.entries()) counts[granule]! += Number(count);
  }
  const untouched: { start: number; end: number }[] = [];
  for (const [granule, count] of counts.entries()) {
    if (count > 0) continue;
    const start = granule * granuleBytes;
    const last = untouched.at(-1);
    if (last?.end === start) last.end = start + granuleBytes;
    else untouched.push({ start, end: start + granuleBytes });
  }
  return { counts, granuleBytes, untouched };
}
