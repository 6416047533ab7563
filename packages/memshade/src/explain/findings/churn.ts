import { isCollected } from "../../profile/model/collected-objects.ts";
import { agreeing, counted } from "../../profile/model/counted.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { ACCESSES_PER_BLOCK } from "../../profile/model/over-time/drag.ts";
import { type BlockMeasure, blockMeasure } from "../analyses/block-measure.ts";
import { sumOf } from "../analyses/groups.ts";
import { temporaryBlocks } from "../analyses/temporary.ts";
import { heapTotals } from "../analyses/totals.ts";
import { byCaller } from "./by-caller.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_WORK } from "./finding-kind.ts";
import { accessesOf, blocksBySite, inModule, type SiteBlocks } from "./heap-blocks.ts";

/**
 * Blocks that are freed soon after their allocation, again and again. The amount is their number; for a
 * collector's objects, and for a line that keeps nothing, the number of all blocks.
 */
export interface ChurnFinding extends Found<"churn", "heap"> {
  /** Blocks concerned. */
  readonly blocks: number;
  /** True if a collector in the program frees them; the amount is then all blocks of the site. */
  readonly collected?: boolean | undefined;
  /** All blocks that the site allocated. */
  readonly allocated: number;
  /** Mean number of its blocks that are live; undefined if most are freed before the second next allocation. */
  readonly atOnce?: number | undefined;
}

/** Least part of a site's blocks that are temporary. */
const MOST = 0.5;

/**
 * Largest part of a site's blocks that are live at a time, on average, if it makes most of the program's blocks and
 * keeps nothing. A collection that is filled and used has about half of its blocks live, a batch of a hundred has this.
 */
const KEPT = 1 / 100;

/** Fewest blocks without counted work to compare them with: a process makes hundreds before its own work begins. */
const MANY = 1000;

/** Largest mean lifetime of short-lived objects of a collector, as a part of the run. */
const SOON = 1 / 8;

export const churn: FindingKind<ChurnFinding> = {
  kind: "churn",
  also: ["temporary", "short-lived"],
  meaning:
    "Temporary blocks, made again and again: each is freed before two further allocations were made, so that most of the work is the allocator's. Also one line that makes more than half of all blocks and keeps nothing: at most one of a hundred is live at a time.",
  advice: "Allocate one block before the loop and use it again, or use a variable on the stack.",
  more: "concepts.md#time",
  sources: ["heap"],
  find: inModule(churnFindings),
  leastPart: LEAST_COMMON_PART,
  sums: ["blocks", "allocated"],
  sentence: ({ amount, collected, atOnce }) => ({
    before: `${agreeing(amount, "block")} of`,
    after:
      collected === true
        ? "soon become garbage"
        : atOnce === undefined
          ? "are freed right away"
          : `are freed soon, most of all blocks: ${counted(atOnce, "is", "are")} live at a time`,
    shortAfter: collected === true ? "soon garbage" : `freed ${atOnce === undefined ? "right away" : "soon"}`,
  }),
  whole: OF_WORK,
  weight: "temporary",
  treeWeights: ["temporary", "blocks"],
};

/**
 * Finds sites that repeatedly make blocks which are freed before the next one is made, and the site that makes most
 * blocks and keeps nothing. The finding's part is the allocator's share of the program's memory accesses for these
 * blocks. Few allocations beside much other work are therefore not reported. Without counted accesses, only a site
 * with most of the program's blocks is reported, and the part is that of all blocks.
 */
function churnFindings(profile: HeapProfile): ChurnFinding[] {
  if (profile.description.clock.kind !== "virtual") return [];
  const work = accessesOf(profile);
  const { allocations } = heapTotals(profile);
  const finding = (site: SiteBlocks, facts: Partial<ChurnFinding>): ChurnFinding => ({
    kind: "churn",
    tool: "heap",
    place: site.place,
    amount: site.blocks,
    unit: "blocks",
    part: work === undefined ? site.blocks / allocations : (site.blocks * ACCESSES_PER_BLOCK) / work,
    blocks: site.blocks,
    allocated: site.allocated,
    ...facts,
  });
  const isMostly = ({ blocks, allocated }: SiteBlocks) => blocks > 1 && blocks >= MOST * allocated;
  if (isCollected(profile))
    return work === undefined
      ? []
      : blocksBySite(profile, soonCollected(profile))
          .filter(isMostly)
          // Objects that the collector has not freed yet are garbage too.
          .map((site) => finding(site, { amount: site.allocated, collected: true }));
  const temporary = temporaryBlocks(profile);
  if (temporary === undefined) return [];
  const blocks = withoutOutgrown(profile, temporary.blocks);
  const { allocCount, totalLifetime } = profile.contexts.mibs;
  // A function that serves many callers alike, such as an interpreter's own allocator, is not the cause.
  const isOfCaller = ({ contexts }: SiteBlocks, whole: number) =>
    byCaller(profile, contexts).some((caller) => 2 * sumOf(allocCount, caller.contexts) > whole);
  const isMost = ({ allocated }: SiteBlocks) => 2 * allocated > allocations && allocated >= MANY;
  const isCause = (site: SiteBlocks) =>
    work === undefined ? isMost(site) && isOfCaller(site, allocations) : isOfCaller(site, site.allocated);
  const soonFreed = blocksBySite(profile, blockMeasure(blocks, temporary.bytes))
    .filter((site) => isMostly(site) && isCause(site))
    .map((site) => finding(site, {}));
  const ended = withoutOutgrown(profile, Float64Array.from(allocCount));
  const unkept = blocksBySite(profile, blockMeasure(ended, ended)).flatMap((site): ChurnFinding[] => {
    const atOnce = sumOf(totalLifetime, site.contexts) / allocations;
    const isKept = atOnce > KEPT * site.allocated || !isMost(site) || !isCause(site) || !isMostly(site);
    if (isKept || sumOf(blocks, site.contexts) >= MOST * site.allocated) return [];
    return [finding(site, { atOnce: Math.ceil(atOnce) })];
  });
  return [...soonFreed, ...unkept];
}

/**
 * Returns objects that soon become garbage. The time at which an object becomes garbage is unknown, so
 * contexts with a short mean lifetime are chosen.
 */
export function soonCollected(profile: HeapProfile): BlockMeasure {
  const { mibs, site, length } = profile.contexts;
  const { allocations } = heapTotals(profile);
  const blocks = Float64Array.from({ length }, (_, context) => {
    const ended = mibs.allocCount[context]! - (site?.liveBlocks[context] ?? 0);
    const isSoon = Number(mibs.totalLifetime[context]) <= mibs.allocCount[context]! * allocations * SOON;
    return isSoon ? ended : 0;
  });
  return blockMeasure(blocks, new Float64Array(length));
}

/** Leaves out blocks that were replaced as they grew: the program did not free these. */
function withoutOutgrown({ contexts: { site } }: HeapProfile, blocks: Float64Array): Float64Array {
  const { growth, reallocations } = site ?? {};
  return blocks.map((count, context) =>
    Math.max(0, count - Math.max(growth?.[context]?.copies ?? 0, reallocations?.[context] ?? 0)),
  );
}
