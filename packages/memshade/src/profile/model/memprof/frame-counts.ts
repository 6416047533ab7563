import { freeArray } from "./column.ts";
import type { RankedBits } from "./merge/ranked-bits.ts";
import type { StackChains } from "./stack-chains.ts";

/**
 * Number of occurrences of each frame in certain stacks, and the sum of its positions there (0 for the leaf). By frame.
 */
export interface FrameCounts {
  readonly counts: Float64Array;
  readonly positionSums: Float64Array;
}

/**
 * Counts the frames of the used stacks. Callers have lower numbers than callees, so one pass in descending order sums
 * the number and the distance of all stacks above each stack.
 *
 * @param branches stacks that call a chain
 * @param ranks new numbers of the frames
 */
export function countFrames(
  stacks: StackChains,
  used: RankedBits,
  branches: RankedBits,
  ranks: Uint32Array,
): FrameCounts {
  const counts = new Float64Array(ranks.length);
  const positionSums = new Float64Array(ranks.length);
  /** Used stacks of the chains that each branch calls, and their distances. */
  const countsAbove = new Float64Array(branches.count);
  const distancesAbove = new Float64Array(branches.count);
  let count = 0;
  let distance = 0;
  for (let stack = stacks.length - 1; stack > 0; stack--) {
    if (used.has(stack)) count++;
    if (branches.has(stack)) {
      const branch = branches.rankOf(stack);
      count += countsAbove[branch]!;
      distance += distancesAbove[branch]!;
    }
    const frame = ranks[stacks.frameOf(stack)]!;
    counts[frame]! += count;
    positionSums[frame]! += distance;
    distance += count;
    const caller = stacks.parentOf(stack);
    if (caller === stack - 1 && stacks.isContinued(caller)) continue;
    const branch = branches.rankOf(caller);
    countsAbove[branch]! += count;
    distancesAbove[branch]! += distance;
    count = 0;
    distance = 0;
  }
  freeArray(countsAbove);
  freeArray(distancesAbove);
  return { counts, positionSums };
}
