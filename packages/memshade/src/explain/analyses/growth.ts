import {
  addCapacity,
  addGrowth,
  type BlockCapacity,
  type BlockGrowth,
  NO_CAPACITY,
  NO_GROWTH,
  stepsOf,
} from "../../profile/model/growth.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";
import { libraryKeeps } from "./frames/library-blocks.ts";

/** Returns the growth in some contexts together; undefined if the run did not follow it. */
export function growthOf(
  { description, contexts: { site } }: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): BlockGrowth | undefined {
  if (site === undefined || description.totals?.growth === undefined) return undefined;
  return contexts.reduce((sum, context) => addGrowth(sum, site.growth[context] ?? NO_GROWTH), NO_GROWTH);
}

/** Returns the used part of the large blocks of some contexts; undefined if the run did not count it. */
export function capacityOf(
  { description, contexts: { site } }: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): BlockCapacity | undefined {
  if (site === undefined || description.totals?.capacity === undefined) return undefined;
  return contexts.reduce(
    (sum, context) => addCapacity(sum, site.capacity[context] ?? NO_CAPACITY),
    NO_CAPACITY,
  );
}

export function copiedBytes(profile: HeapProfile): Float64Array | undefined {
  return perContext(profile, (context) => growthOf(profile, [context])?.copiedBytes);
}

export function stepsInPlace(profile: HeapProfile): Float64Array | undefined {
  return perContext(profile, (context) => {
    const growth = growthOf(profile, [context]);
    return growth && stepsOf(growth);
  });
}

/** Returns the bytes of large blocks after the last used one, per context. */
export function spareBytes(profile: HeapProfile): Float64Array | undefined {
  return perContext(profile, (context) => capacityOf(profile, [context])?.unusedBytes);
}

/** Returns a column without the blocks that the C library keeps. */
function perContext(
  profile: HeapProfile,
  amountOf: (context: IndexIntoContextTable) => number | undefined,
): Float64Array | undefined {
  const isKept = libraryKeeps(profile);
  const column = new Float64Array(profile.contexts.length);
  for (let context = 0; context < column.length; context++) {
    const value = amountOf(context as IndexIntoContextTable);
    if (value === undefined) return undefined;
    column[context] = isKept(context) ? 0 : value;
  }
  return column;
}
