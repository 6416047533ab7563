import { agreeing } from "../../profile/model/counted.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { ACCESSES_PER_BLOCK } from "../../profile/model/over-time/drag.ts";
import { type BlockMeasure, blockMeasure } from "../analyses/block-measure.ts";
import { isCollected } from "../analyses/collected.ts";
import { temporaryBlocks } from "../analyses/temporary.ts";
import { heapTotals } from "../analyses/totals.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_WORK } from "./finding-kind.ts";
import { accessesOf, blocksBySite, inModule } from "./heap-blocks.ts";

/**
 * Blocks that are freed soon after their allocation, again and again. The amount is their number; for a
 * collector's objects the number of all blocks.
 */
export interface ChurnFinding extends Found<"churn", "heap"> {
  /** Blocks concerned. */
  readonly blocks: number;
  /** True if a collector in the program frees them; the amount is then all blocks of the site. */
  readonly collected?: boolean | undefined;
  /** All blocks that the site allocated. */
  readonly allocated: number;
}

/** Least part of a site's blocks that are temporary. */
const MOST = 0.5;

/** Largest mean lifetime of short-lived objects of a collector, as a part of the run. */
const SOON = 1 / 8;

export const churn: FindingKind<ChurnFinding> = {
  kind: "churn",
  also: ["temporary", "short-lived"],
  meaning:
    "Temporary blocks, made again and again: each is freed before two further allocations were made, so that most of the work is the allocator's.",
  advice: "Allocate one block before the loop and use it again, or use a variable on the stack.",
  more: "concepts.md#time",
  sources: ["heap"],
  find: inModule(churnFindings),
  leastPart: LEAST_COMMON_PART,
  sums: ["blocks", "allocated"],
  sentence: ({ amount, collected }) => ({
    before: `${agreeing(amount, "block")} of`,
    after: collected === true ? "soon become garbage" : "are freed right away",
    shortAfter: collected === true ? "soon garbage" : "freed right away",
  }),
  whole: OF_WORK,
  weight: "temporary",
  treeWeights: ["temporary", "blocks"],
};

/**
 * Finds sites that repeatedly make blocks which are freed before the next one is made. The finding's part is
 * the allocator's share of the program's memory accesses for these blocks. Few allocations beside much other
 * work are therefore not reported.
 */
function churnFindings(profile: HeapProfile): ChurnFinding[] {
  const work = accessesOf(profile);
  if (profile.description.clock.kind !== "virtual" || work === undefined) return [];
  const collected = isCollected(profile);
  const blocks = collected ? soonCollected(profile) : withoutOutgrown(profile);
  if (blocks === undefined) return [];
  return blocksBySite(profile, blocks)
    .filter(({ blocks, allocated }) => blocks > 1 && blocks >= MOST * allocated)
    .map(({ place, blocks, allocated }) => ({
      kind: "churn",
      tool: "heap",
      place,
      // Objects that the collector has not freed yet are garbage too.
      amount: collected ? allocated : blocks,
      unit: "blocks",
      part: (blocks * ACCESSES_PER_BLOCK) / work,
      blocks,
      allocated,
      ...(collected ? { collected } : {}),
    }));
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

/**
 * Returns temporary blocks, except blocks that were replaced as they grew: the program did not free these.
 */
function withoutOutgrown(profile: HeapProfile): BlockMeasure | undefined {
  const temporary = temporaryBlocks(profile);
  if (temporary === undefined) return undefined;
  const { blocks, bytes } = temporary;
  const { growth, reallocations } = profile.contexts.site ?? {};
  const otherBlocks = blocks.map((count, context) =>
    Math.max(0, count - Math.max(growth?.[context]?.copies ?? 0, reallocations?.[context] ?? 0)),
  );
  return blockMeasure(otherBlocks, bytes);
}
