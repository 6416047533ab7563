import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { knowsField } from "../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";
import { libraryKeeps } from "./frames/library-blocks.ts";

export const LONGEST_TEMPORARY_LIFETIME = 1;

/**
 * Returns temporary blocks: with the virtual clock, those freed before a second allocation followed their own. Blocks
 * that were never freed are not temporary, and blocks that the C library keeps for itself are left out.
 *
 * A MIB holds the sum and the extremes of the lifetimes, not each of them. If the run did not count temporary blocks,
 * the result is a lower bound: every other block lived at least 2 units, one of them as long as the longest, and the
 * sum of lifetimes is known. Bytes are the mean size times the blocks. Undefined if neither temporary blocks nor
 * lifetimes were recorded.
 */
export function temporaryBlocks(profile: HeapProfile): BlockMeasure | undefined {
  const { mibs, site, length } = profile.contexts;
  if (!knowsField(profile, "allocCount")) return undefined;
  if (site?.temporary === undefined && !knowsField(profile, "totalLifetime")) return undefined;
  const bytes = new Float64Array(length);
  const blocks = new Float64Array(length);
  const isLongestKnown = knowsField(profile, "maxLifetime");
  const isKept = libraryKeeps(profile);
  for (let context = 0; context < length; context++) {
    if (isKept(context)) continue;
    const allocations = mibs.allocCount[context]!;
    blocks[context] =
      site?.temporary?.[context] ??
      Math.max(
        0,
        leastTemporary(
          allocations,
          Number(mibs.totalLifetime[context]),
          isLongestKnown ? mibs.maxLifetime[context]! : undefined,
        ) - (site?.liveBlocks[context] ?? 0),
      );
    bytes[context] =
      allocations === 0 ? 0 : (Number(mibs.totalSize[context]) / allocations) * blocks[context]!;
  }
  return blockMeasure(blocks, bytes, site?.temporary === undefined);
}

function leastTemporary(
  allocations: number,
  totalLifetime: number,
  longestLifetime: number | undefined,
): number {
  if (longestLifetime === undefined)
    return Math.max(0, allocations - Math.floor(totalLifetime / (LONGEST_TEMPORARY_LIFETIME + 1)));
  if (longestLifetime <= LONGEST_TEMPORARY_LIFETIME) return allocations;
  const shortestOther = LONGEST_TEMPORARY_LIFETIME + 1;
  const othersAtMost = 1 + Math.floor((totalLifetime - longestLifetime) / shortestOther);
  return Math.max(0, allocations - othersAtMost);
}
