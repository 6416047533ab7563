import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";

/** Accesses by their offset in the blocks, summed over all blocks of some contexts. */
export interface GranuleAccesses {
  readonly counts: Float64Array;
  readonly granuleBytes: number;
  /** True, by granule, if counters may have saturated: the count is then a lower bound. */
  readonly isCut: readonly boolean[];
  /** Ranges of bytes without accesses; `end` is exclusive. */
  readonly untouched: readonly { readonly start: number; readonly end: number }[];
}

/** Returns the number of accesses with a known offset, per context; undefined if the profile has none. */
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

/** Returns true if saturated counters may hide accesses to the blocks of some contexts (by default all). */
export function areAccessesCut(profile: HeapProfile, rows?: readonly IndexIntoContextTable[]): boolean {
  const { length, mibs } = profile.contexts;
  if (profile.description.counterLimit === undefined) return false;
  const contextRows = rows ?? Array.from({ length }, (_, row) => row as IndexIntoContextTable);
  return contextRows.some((row) => {
    const limit = limitOf(profile, row);
    return mibs.histogram[row]?.some((count) => Number(count) >= limit) === true;
  });
}

/**
 * Returns the sum from which a granule's counts may include a saturated counter; infinity if no block was accessed that
 * often.
 */
function limitOf({ contexts, description }: HeapProfile, row: IndexIntoContextTable): number {
  const { counterLimit = Number.POSITIVE_INFINITY } = description;
  return Number(contexts.mibs.maxAccessCount[row]) < counterLimit ? Number.POSITIVE_INFINITY : counterLimit;
}
