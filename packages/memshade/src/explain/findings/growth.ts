import { agreeing, counted } from "../../profile/model/counted.ts";
import { formatBytes } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { ACCESSES_PER_BLOCK } from "../../profile/model/over-time/drag.ts";
import { copiedBytes, growthOf, stepsInPlace } from "../analyses/growth.ts";
import { heapTotals } from "../analyses/totals.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, LEAST_PART, OF_WORK } from "./finding-kind.ts";
import { accessesOf, inModule, sitesWith } from "./heap-blocks.ts";

/**
 * Blocks that grow step by step. The amount is the bytes copied again and again. If realloc mostly extends
 * blocks in place, but far more often than doubling would need, the amount is the number of calls.
 */
export interface GrowthFinding extends Found<"growth", "heap"> {
  /** Blocks at the ends of chains, and the number of copies made until then. */
  readonly chains: number;
  readonly copies: number;
  /** Mean size in bytes that would have sufficed from the start. */
  readonly reserve: number;
  /** Size of the largest final block. */
  readonly largestFinal: number;
  /** Number of extensions in place, if the amount is calls. */
  readonly steps?: number | undefined;
}

/** Copying 8 bytes takes a load and a store. */
const ACCESSES_PER_COPIED_BYTE = 2 / 8;
/** A shorter chain is a block that was enlarged once, when its size was known. */
const LEAST_COPIES_PER_CHAIN = 2;
/**
 * Least factor between the steps and those of a doubling block. Growth by an eighth takes six times as many
 * steps.
 */
const TIMES_DOUBLING = 8;
/** Least copied part of all allocated bytes where accesses were not counted: most blocks are for copies then. */
const MOST = 1 / 2;

export const growth: FindingKind<GrowthFinding> = {
  kind: "growth",
  meaning:
    "Blocks that grow step by step (vectors, strings, realloc), each time through a new block and a copy. Many small steps of realloc count too, even where it finds room behind the block.",
  advice: "Reserve the final size before filling, or grow by half or more at a time.",
  sources: ["heap"],
  find: inModule((heap) => [...growthFindings(heap), ...stepFindings(heap)]),
  leastPart: LEAST_PART,
  sums: ["chains", "copies", "steps"],
  sentence: ({ amount, unit, copies, reserve }) => {
    const room = `reserve ${formatBytes(reserve)}`;
    return unit === "calls"
      ? {
          before: `${agreeing(amount, "reallocation")} by`,
          after: `in steps: ${room}`,
          short: "by",
        }
      : {
          before: "copied by",
          after: `in ${counted(copies, "copy", "copies")} as blocks grow: ${room}`,
          shortAfter: `in ${counted(copies, "copy", "copies")}: ${room}`,
          short: "by",
        };
  },
  whole: OF_WORK,
  weight: "copied",
  treeWeights: ["copied", "bytes"],
};

/**
 * Finds sites whose blocks grow step by step. The finding's part is the share of copying in the program's
 * memory accesses: a block with enough space from the start is not copied. Without counted accesses, only small
 * steps are reported, and the part is that of all allocated bytes.
 */
function growthFindings(profile: HeapProfile): GrowthFinding[] {
  const column = copiedBytes(profile);
  const work = accessesOf(profile);
  const { allocatedBytes } = heapTotals(profile);
  if (column === undefined) return [];
  return sitesWith(profile, column).flatMap(({ contexts, place }): GrowthFinding[] => {
    const { chains, copies, copiedBytes: amount, usedBytes, largestFinal } = growthOf(profile, contexts)!;
    if (copies < LEAST_COPIES_PER_CHAIN * chains) return [];
    const reserve = Math.round(usedBytes / chains);
    const part = work === undefined ? amount / allocatedBytes : (amount * ACCESSES_PER_COPIED_BYTE) / work;
    const hasSmallSteps = isInSteps(copies / chains, reserve);
    // Every program has some vectors and tables that double.
    if (!hasSmallSteps && part < LEAST_COMMON_PART) return [];
    if (work === undefined && (part < MOST || !hasSmallSteps)) return [];
    return [
      {
        kind: "growth",
        tool: "heap",
        place,
        amount,
        unit: "bytes",
        part: Math.min(1, part),
        chains,
        copies,
        reserve,
        largestFinal,
      },
    ];
  });
}

/** True for far more steps than a doubling block takes. */
function isInSteps(steps: number, bytes: number): boolean {
  return steps >= TIMES_DOUBLING * Math.log2(Math.max(2, bytes));
}

/**
 * Finds sites whose blocks realloc extends in place in many small steps. With another allocator, or a block
 * behind them, each step would copy. The finding's part is the allocator's share of the program's memory
 * accesses for these calls.
 */
function stepFindings(profile: HeapProfile): GrowthFinding[] {
  const column = stepsInPlace(profile);
  const work = accessesOf(profile);
  const { site } = profile.contexts;
  if (column === undefined || work === undefined || site === undefined) return [];
  return sitesWith(profile, column).flatMap(({ contexts, place }): GrowthFinding[] => {
    const growth = growthOf(profile, contexts)!;
    const { steppedChains: chains = 0, steps = 0, steppedBytes = 0, copies, largestFinal } = growth;
    const reserve = Math.round(steppedBytes / chains);
    if (!isInSteps(steps / chains, reserve)) return [];
    // Blocks that are still small are not followed, but their reallocations count.
    const amount = contexts.reduce((sum, context) => sum + (site.reallocations[context] ?? 0), 0);
    const part = Math.min(1, (amount * ACCESSES_PER_BLOCK) / work);
    return [
      {
        kind: "growth",
        tool: "heap",
        place,
        amount,
        unit: "calls",
        part,
        chains,
        copies,
        reserve,
        largestFinal: Math.max(largestFinal, reserve),
        steps,
      },
    ];
  });
}
