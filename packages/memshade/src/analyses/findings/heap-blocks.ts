import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../model/indices.ts";
import { type BlockMeasure, blockMeasure } from "../block-measure.ts";
import { groupContexts, sumOf } from "../groups.ts";
import { MOST_SHARE } from "../waste/waste-finding.ts";
import { byCaller } from "./by-caller.ts";
import type { FindingPlace } from "./finding.ts";
import { callerPlace, heapPlace } from "./place.ts";

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

/**
 * What an analysis picked out, by who owns it. Where a function makes blocks for several callers, and the analysis picked out nearly
 * all that some of them have and none of the others', it is these callers, each for itself. Else it is the site.
 */
export function blocksByOwner(profile: HeapProfile, measure: BlockMeasure): SiteBlocks[] {
  return blocksBySite(profile, measure).flatMap((site) => ofCallers(profile, site, measure) ?? [site]);
}

function ofCallers(profile: HeapProfile, site: SiteBlocks, measure: BlockMeasure): SiteBlocks[] | undefined {
  const callers = byCaller(profile, site.contexts);
  const found = callers.flatMap(({ contexts, stacks }): SiteBlocks[] => {
    const { blocks, bytes, allocated } = sumsOf(profile, contexts, measure);
    if (blocks < MOST_SHARE * allocated) return [];
    const most = heaviest(contexts, measure);
    const caller = stacks[contexts.indexOf(most)]!;
    const place = caller === NONE ? undefined : callerPlace(profile, most, caller);
    return place === undefined ? [] : [{ contexts, place, blocks, bytes, allocated }];
  });
  if (found.length === callers.length) return undefined;
  const blocks = found.reduce((sum, one) => sum + one.blocks, 0);
  return blocks === site.blocks ? found : undefined;
}

function sumsOf(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  measure: BlockMeasure,
): Pick<SiteBlocks, "blocks" | "bytes" | "allocated"> {
  const [blocks, bytes] = [sumOf(measure.blocks, contexts), Math.round(sumOf(measure.bytes, contexts))];
  return { blocks, bytes, allocated: sumOf(profile.contexts.mibs.allocCount, contexts) };
}

/** What an analysis picked out, by sites of the program's own code. The path of a site is the one with most of it. */
export function blocksBySite(profile: HeapProfile, measure: BlockMeasure): SiteBlocks[] {
  const groups = groupContexts(profile, "site");
  return groups.contexts.flatMap((contexts) => {
    const sums = sumsOf(profile, contexts, measure);
    const place = sums.blocks === 0 ? undefined : heapPlace(profile, heaviest(contexts, measure));
    if (place === undefined) return [];
    const isSampled = contexts.some(
      (row) => measure.blocks[row]! > 0 && profile.contexts.isEstimated?.[row] === 1,
    );
    return [{ contexts, place: isSampled ? { ...place, isSampled } : place, ...sums }];
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
