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
    if (place === undefined) return [];
    return [{ contexts, place: withMargins(profile, place, contexts, measure), blocks, bytes, allocated }];
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
    return [{ contexts, place: withMargins(profile, place, contexts, measure), ...sums }];
  });
}

/** The place of what an analysis picked out, with how far that may be off where a sample of the callers was asked. */
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

/** The sites that have some of a column, with the path of the context that has most. */
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

/** The memory accesses that a program makes, those of its allocator among them; undefined where none were counted. */
export function accessesOf(profile: HeapProfile): number | undefined {
  const { totals, counters } = profile.description;
  if (totals?.otherAccesses === undefined || counters === "none") return undefined;
  const { allocations, heapAccesses } = heapTotals(profile);
  return heapAccesses + totals.otherAccesses + allocations * ACCESSES_PER_BLOCK;
}

/**
 * Searches a heap for findings at places in modules. When blocks of a module begin and end is up to the script that calls it; how the
 * module makes and uses them is not, and a frame of a script is the place only where nothing of the module is the program's own.
 */
export function inModule<F extends Found>(search: (heap: HeapProfile) => F[]): (run: RecordedTools) => F[] {
  return ({ heap }) =>
    heap === undefined ? [] : search(heap).filter(({ place }) => place.path[0]!.address !== undefined);
}

/** Places of which nearly all blocks are in vain: some entries of a table that nobody asks for are how tables work. */
export function mostlyInVain<Kind extends string>(
  profile: HeapProfile,
  kind: Kind,
  found: BlockMeasure | undefined,
) {
  const { allocatedBytes } = heapTotals(profile);
  if (found === undefined || allocatedBytes === 0 || profile.description.counters === "none") return [];
  return blocksBySite(profile, found)
    .filter(({ blocks, bytes, allocated }) => bytes >= LEAST_BYTES && blocks >= MOST_SHARE * allocated)
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

/** `300 of 1,000 blocks of … are never released`, `1 block of … is never released` */
export function blocksSentence(
  { blocks, allocated }: { readonly blocks: number; readonly allocated: number },
  what: string,
  shortWhat = what,
): FindingSentence {
  const verb = agreeing(blocks, "is", "are");
  const [after, shortAfter] = [`${verb} ${what}`, `${verb} ${shortWhat}`];
  const short = `${formatBlocks(blocks)} of`;
  if (blocks === allocated) return { before: short, after, shortAfter };
  return { before: `${formatCount(blocks)} of ${formatBlocks(allocated)} of`, after, short, shortAfter };
}
