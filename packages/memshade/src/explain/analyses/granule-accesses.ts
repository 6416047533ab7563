import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";

/** Accesses by their place in the blocks, all blocks of some contexts together. */
export interface GranuleAccesses {
  /** By granule, the first one at the start of the block. */
  readonly counts: Float64Array;
  readonly granuleBytes: number;
  /** By granule, whether counters in it may have been full: then there were so many accesses, or more. */
  readonly isCut: readonly boolean[];
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
  profile: HeapProfile,
  rows: readonly IndexIntoContextTable[],
): GranuleAccesses {
  const { contexts, description } = profile;
  const { histogram } = contexts.mibs;
  const { granuleBytes } = description;
  const lists = rows.map((row) => ({ list: histogram[row] ?? [], limit: limitOf(profile, row) }));
  const counts = new Float64Array(lists.reduce((most, { list }) => Math.max(most, list.length), 0));
  const isCut = new Array<boolean>(counts.length).fill(false);
  for (const { list, limit } of lists)
    for (const [granule, count] of list.entries()) {
      counts[granule]! += Number(count);
      isCut[granule] ||= Number(count) >= limit;
    }
  const untouched: { start: number; end: number }[] = [];
  for (const [granule, count] of counts.entries()) {
    if (count > 0) continue;
    const start = granule * granuleBytes;
    const last = untouched.at(-1);
    if (last?.end === start) last.end = start + granuleBytes;
    else untouched.push({ start, end: start + granuleBytes });
  }
  return { counts, granuleBytes, isCut, untouched };
}

/**
 * Whether there may have been more accesses to the blocks of some contexts (without them, of all) than are counted,
 * because counters were full.
 */
export function areAccessesCut(profile: HeapProfile, rows?: readonly IndexIntoContextTable[]): boolean {
  const { length, mibs } = profile.contexts;
  if (profile.description.counterLimit === undefined) return false;
  const all = rows ?? Array.from({ length }, (_, row) => row as IndexIntoContextTable);
  return all.some((row) => {
    const limit = limitOf(profile, row);
    return mibs.histogram[row]?.some((count) => Number(count) >= limit) === true;
  });
}

/**
 * From where on the sum of one counter of all blocks of a context may have a full one in it. None is, if no block was accessed
 * so often.
 */
function limitOf({ contexts, description }: HeapProfile, row: IndexIntoContextTable): number {
  const { counterLimit = Number.POSITIVE_INFINITY } = description;
  return Number(contexts.mibs.maxAccessCount[row]) < counterLimit ? Number.POSITIVE_INFINITY : counterLimit;
}
