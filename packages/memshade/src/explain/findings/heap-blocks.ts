import { agreeing } from "../../profile/model/counted.ts";
import { formatBlocks, formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../profile/model/indices.ts";
import { ACCESSES_PER_BLOCK } from "../../profile/model/over-time/drag.ts";
import type { BlockMeasure } from "../analyses/block-measure.ts";
import { groupContexts, sumOf } from "../analyses/groups.ts";
import { marginOf } from "../analyses/host-stacks.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { heapTotals } from "../analyses/totals.ts";
import { byCaller } from "./by-caller.ts";
import type { FindingPlace, FindingSentence, Found } from "./finding-kind.ts";
import { callerPlace, heapPlace } from "./places.ts";
import { MOST_SHARE } from "./waste/waste-finding.ts";

/**
 * Smaller savings are not worth reporting in any program. Lost blocks are reported regardless: they are an
 * error, and their number will grow.
 */
export const LEAST_BYTES = 1024;

/** Blocks of one site, selected by an analysis. */
export interface SiteBlocks {
  readonly contexts: readonly IndexIntoContextTable[];
  readonly place: FindingPlace;
  readonly blocks: number;
  readonly bytes: number;
  /** All blocks of the site. */
  readonly allocated: number;
}

/**
 * Returns selected blocks by owner. A function may make blocks for several callers. If nearly all blocks of
 * some callers are selected and none of the others, each of these callers is an owner; otherwise the site is.
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
    if (place === undefined) return [];
    return [{ contexts, place: withMargins(profile, place, contexts, measure), blocks, bytes, allocated }];
  });
  if (found.length === callers.length) return undefined;
  const blocks = found.reduce((sum, owner) => sum + owner.blocks, 0);
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

/**
 * Returns selected blocks by site of the program's own code. The path of a site is that of its heaviest
 * context.
 */
export function blocksBySite(profile: HeapProfile, measure: BlockMeasure): SiteBlocks[] {
  const groups = groupContexts(profile, "site");
  return groups.contexts.flatMap((contexts) => {
    const sums = sumsOf(profile, contexts, measure);
    const place = sums.blocks === 0 ? undefined : heapPlace(profile, heaviest(contexts, measure));
    if (place === undefined) return [];
    return [{ contexts, place: withMargins(profile, place, contexts, measure), ...sums }];
  });
}

/** Adds margins of error to a location, if callers were sampled. */
function withMargins(
  profile: HeapProfile,
  place: FindingPlace,
  contexts: readonly IndexIntoContextTable[],
  { blocks, bytes }: BlockMeasure,
): FindingPlace {
  const isSampled = contexts.some((row) => blocks[row]! > 0 && profile.contexts.isEstimated?.[row] === 1);
  if (!isSampled) return place;
  const margins = {
    blocks: Math.ceil(marginOf(profile, blocks, contexts, "allocCount") ?? 0),
    bytes: Math.ceil(marginOf(profile, bytes, contexts, "totalSize") ?? 0),
  };
  return { ...place, isSampled, ...(margins.blocks + margins.bytes === 0 ? {} : { margins }) };
}

/** Returns the sites with amounts in a column, with the path of the heaviest context. */
export function sitesWith(
  profile: HeapProfile,
  column: Float64Array,
): { contexts: readonly IndexIntoContextTable[]; place: FindingPlace }[] {
  return groupContexts(profile, "site").contexts.flatMap((contexts) => {
    const most = contexts.reduce((a, b) => (column[b]! > column[a]! ? b : a));
    const place = column[most] === 0 ? undefined : heapPlace(profile, most);
    return place === undefined ? [] : [{ contexts, place }];
  });
}

function heaviest(
  contexts: readonly IndexIntoContextTable[],
  { bytes, blocks }: BlockMeasure,
): IndexIntoContextTable {
  return contexts.reduce((most, context) =>
    (bytes[context]! - bytes[most]! || blocks[context]! - blocks[most]!) > 0 ? context : most,
  );
}

/** Returns the memory accesses of a program, its allocator included; undefined if they were not counted. */
export function accessesOf(profile: HeapProfile): number | undefined {
  const { totals, counters } = profile.description;
  if (totals?.otherAccesses === undefined || counters === "none") return undefined;
  const { allocations, heapAccesses } = heapTotals(profile);
  return heapAccesses + totals.otherAccesses + allocations * ACCESSES_PER_BLOCK;
}

/**
 * Restricts a search to locations in modules. The calling script decides when blocks of a module begin and
 * end, but the module decides how it makes and uses them. A script's frame is the location only if the module
 * has no code of the program's own.
 */
export function inModule<F extends Found>(search: (heap: HeapProfile) => F[]): (run: RecordedTools) => F[] {
  return ({ heap }) =>
    heap === undefined ? [] : search(heap).filter(({ place }) => place.path[0]!.address !== undefined);
}

/** Finds sites of whose blocks at least `least` are selected: a few unused entries of a table are normal. */
export function mostlyInVain<Kind extends string>(
  profile: HeapProfile,
  kind: Kind,
  found: BlockMeasure | undefined,
  least: number = MOST_SHARE,
) {
  const { allocatedBytes } = heapTotals(profile);
  if (found === undefined || allocatedBytes === 0 || profile.description.counters === "none") return [];
  return blocksBySite(profile, found)
    .filter(({ blocks, bytes, allocated }) => bytes >= LEAST_BYTES && blocks >= least * allocated)
    .map(({ place, blocks, bytes, allocated }) => ({
      kind,
      tool: "heap" as const,
      place,
      amount: bytes,
      unit: "bytes" as const,
      part: bytes / allocatedBytes,
      blocks,
      allocated,
    }));
}

/** Forms `300 of 1,000 blocks of … are never released`, `1 block of … is never released`. */
export function blocksSentence(
  { blocks, allocated }: { readonly blocks: number; readonly allocated: number },
  predicate: string,
  shortWhat = predicate,
): FindingSentence {
  const verb = agreeing(blocks, "is", "are");
  const [after, shortAfter] = [`${verb} ${predicate}`, `${verb} ${shortWhat}`];
  const short = `${formatBlocks(blocks)} of`;
  if (blocks === allocated) return { before: short, after, shortAfter };
  return { before: `${formatCount(blocks)} of ${formatBlocks(allocated)} of`, after, short, shortAfter };
}
