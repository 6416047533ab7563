import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { type BlockMeasure, blockMeasure } from "../block-measure.ts";
import { groupContexts } from "../groups.ts";
import type { FindingPlace } from "./finding.ts";
import { heapPlace } from "./place.ts";

/**
 * What is won where fewer bytes go is of no use to anybody, however small the program. Lost blocks are told of all the same: these are a
 * mistake, and there will be more of them.
 */
export const LEAST_BYTES = 1024;

/** Blocks of one site that an analysis picked out. */
export interface SiteBlocks {
  readonly contexts: readonly IndexIntoContextTable[];
  readonly place: FindingPlace;
  readonly blocks: number;
  readonly bytes: number;
  /** All blocks of the site. */
  readonly allocated: number;
}

/** What an analysis picked out, by sites of the program's own code. The path of a site is the one with most of it. */
export function blocksBySite(profile: HeapProfile, measure: BlockMeasure): SiteBlocks[] {
  const groups = groupContexts(profile, "site");
  return groups.contexts.flatMap((contexts) => {
    const sumOf = (column: ArrayLike<number>) => contexts.reduce((sum, row) => sum + column[row]!, 0);
    const blocks = sumOf(measure.blocks);
    const place = blocks === 0 ? undefined : heapPlace(profile, heaviest(contexts, measure));
    if (place === undefined) return [];
    const allocated = sumOf(profile.contexts.mibs.allocCount);
    const isSampled = contexts.some(
      (row) => measure.blocks[row]! > 0 && profile.contexts.isEstimated?.[row] === 1,
    );
    return [
      {
        contexts,
        place: isSampled ? { ...place, isSampled } : place,
        blocks,
        bytes: Math.round(sumOf(measure.bytes)),
        allocated,
      },
    ];
  });
}

/** The places of which many blocks are lost, or hang on lost ones. */
export function lostPlaces(profile: HeapProfile): FindingPlace[] {
  const { site } = profile.contexts;
  if (site === undefined) return [];
  const all = blockMeasure(
    site.liveBlocks.map((_, context) => site.lostBlocks[context]! + site.indirectlyLostBlocks[context]!),
    site.liveBytes,
  );
  return blocksBySite(profile, all)
    .filter(({ blocks, allocated }) => 2 * blocks >= allocated)
    .map(({ place }) => place);
}

function heaviest(
  contexts: readonly IndexIntoContextTable[],
  { bytes, blocks }: BlockMeasure,
): IndexIntoContextTable {
  return contexts.reduce((most, context) =>
    (bytes[context]! - bytes[most]! || blocks[context]! - blocks[most]!) > 0 ? context : most,
  );
}
