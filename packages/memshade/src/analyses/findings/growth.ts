import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { ACCESSES_PER_BLOCK } from "../../model/over-time/drag.ts";
import { groupContexts } from "../groups.ts";
import { capacityOf, copiedBytes, growthOf, spareBytes, stepsInPlace } from "../growth.ts";
import type { FindingPlace, GrowthFinding, OverCapacityFinding } from "./finding.ts";
import { LEAST_BYTES } from "./heap-blocks.ts";
import { heapPlace } from "./place.ts";
import { accessesOf } from "./work.ts";

/** Copying 8 bytes takes a load and a store. */
const ACCESSES_PER_COPIED_BYTE = 2 / 8;
/** A chain shorter than this is a block that was made larger once, as its size was known. */
const LEAST_COPIES_PER_CHAIN = 2;
/** So many times the steps that a block takes which doubles are small ones: one that grows by an eighth takes six times as many. */
const TIMES_DOUBLING = 8;
/** Of a place's bytes, the part from which on the place asks for too much; of the peak, that from which on one block does. */
const MOST = 0.5;

/**
 * Places whose blocks grow step by step. Their part is that of the program's memory accesses which copying takes: one that
 * has room from the start copies nothing.
 */
export function growthFindings(profile: HeapProfile): GrowthFinding[] {
  const column = copiedBytes(profile);
  const work = accessesOf(profile);
  if (column === undefined || work === undefined) return [];
  return sitesOf(profile, column).flatMap(({ contexts, place }): GrowthFinding[] => {
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
export function stepFindings(profile: HeapProfile): GrowthFinding[] {
  const column = stepsInPlace(profile);
  const work = accessesOf(profile);
  const { site } = profile.contexts;
  if (column === undefined || work === undefined || site === undefined) return [];
  return sitesOf(profile, column).flatMap(({ contexts, place }): GrowthFinding[] => {
    const growth = growthOf(profile, contexts)!;
    const { steppedChains: chains = 0, steps = 0, steppedBytes = 0, copies, largestFinal } = growth;
    const reserve = Math.round(steppedBytes / chains);
    if (steps / chains < TIMES_DOUBLING * Math.log2(Math.max(2, reserve))) return [];
    // Blocks that are still small are not followed, but their reallocations count.
    const amount = contexts.reduce((sum, context) => sum + (site.reallocations[context] ?? 0), 0);
    const part = Math.min(1, (amount * ACCESSES_PER_BLOCK) / work);
    return [
      {
        ...({ kind: "growth", tool: "heap", place, amount, unit: "calls", part } as const),
        ...{ chains, copies, reserve, largestFinal: Math.max(largestFinal, reserve), steps },
      },
    ];
  });
}

/**
 * Places whose blocks are used up to less than half: several of them, or one that is more than half of the program's memory. What
 * goes is what lies behind there at the peak, taken to be as much as on average.
 */
export function overCapacityFindings(profile: HeapProfile): OverCapacityFinding[] {
  const column = spareBytes(profile);
  const { site } = profile.contexts;
  const { peakBytes } = profile.description.totals ?? {};
  if (column === undefined || site === undefined || peakBytes === undefined || peakBytes === 0) return [];
  return sitesOf(profile, column).flatMap(({ contexts, place }): OverCapacityFinding[] => {
    const { blocks, bytes, unusedBytes } = capacityOf(profile, contexts)!;
    const spare = unusedBytes / bytes;
    const amount = Math.round(spare * contexts.reduce((sum, context) => sum + site.peakBytes[context]!, 0));
    const part = amount / peakBytes;
    if (amount < LEAST_BYTES || spare < MOST || (blocks === 1 && part < MOST)) return [];
    const used = Math.round((bytes - unusedBytes) / blocks);
    const size = Math.round(bytes / blocks);
    return [{ kind: "over-capacity", tool: "heap", place, amount, unit: "bytes", part, blocks, size, used }];
  });
}

/** The sites that have some of a column, with the path of the context that has most. */
function sitesOf(
  profile: HeapProfile,
  column: Float64Array,
): { contexts: readonly IndexIntoContextTable[]; place: FindingPlace }[] {
  return groupContexts(profile, "site").contexts.flatMap((contexts) => {
    const most = contexts.reduce((a, b) => (column[b]! > column[a]! ? b : a));
    const place = column[most] === 0 ? undefined : heapPlace(profile, most);
    return place === undefined ? [] : [{ contexts, place }];
  });
}
