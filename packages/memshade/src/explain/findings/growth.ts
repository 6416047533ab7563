import { agreeing, counted } from "../../profile/model/counted.ts";
import { formatBytes } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { ACCESSES_PER_BLOCK } from "../../profile/model/over-time/drag.ts";
import { copiedBytes, growthOf, stepsInPlace } from "../analyses/growth.ts";
import { type FindingKind, type Found, LEAST_PART, OF_WORK } from "./finding-kind.ts";
import { accessesOf, inModule, sitesWith } from "./heap-blocks.ts";

/**
 * Blocks that grow step by step. The amount is the bytes that are copied again and again; or the calls of realloc, where these find room
 * behind the block as a rule, far more often than a block that doubles needs them.
 */
export interface GrowthFinding extends Found<"growth", "heap"> {
  /** Blocks at the ends of chains, and how often contents were copied until they were there. */
  readonly chains: number;
  readonly copies: number;
  /** Bytes that would have been enough from the start, on average. */
  readonly reserve: number;
  /** Size of the largest block at an end. */
  readonly largestFinal: number;
  /** Where the amount is calls: how often these made a block larger where it was. */
  readonly steps?: number | undefined;
}

/** Copying 8 bytes takes a load and a store. */
const ACCESSES_PER_COPIED_BYTE = 2 / 8;
/** A chain shorter than this is a block that was made larger once, as its size was known. */
const LEAST_COPIES_PER_CHAIN = 2;
/** So many times the steps that a block takes which doubles are small ones: one that grows by an eighth takes six times as many. */
const TIMES_DOUBLING = 8;

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
      ? { before: `${agreeing(amount, "reallocation")} by`, after: `in steps: ${room}`, short: "by" }
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
 * Places whose blocks grow step by step. Their part is that of the program's memory accesses which copying takes: one that
 * has room from the start copies nothing.
 */
function growthFindings(profile: HeapProfile): GrowthFinding[] {
  const column = copiedBytes(profile);
  const work = accessesOf(profile);
  if (column === undefined || work === undefined) return [];
  return sitesWith(profile, column).flatMap(({ contexts, place }): GrowthFinding[] => {
    const { chains, copies, copiedBytes: amount, usedBytes, largestFinal } = growthOf(profile, contexts)!;
    if (copies < LEAST_COPIES_PER_CHAIN * chains) return [];
    const part = Math.min(1, (amount * ACCESSES_PER_COPIED_BYTE) / work);
    const reserve = Math.round(usedBytes / chains);
    return [
      {
        kind: "growth",
        tool: "heap",
        place,
        amount,
        unit: "bytes",
        part,
        chains,
        copies,
        reserve,
        largestFinal,
      },
    ];
  });
}

/**
 * Places whose blocks realloc makes larger in many small steps, where they are: another allocator, or one block behind them, and each step
 * is a copy. Their part is that of the program's memory accesses which the allocator makes for them.
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
    if (steps / chains < TIMES_DOUBLING * Math.log2(Math.max(2, reserve))) return [];
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
