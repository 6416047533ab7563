import { freeArray } from "./column.ts";
import type { RankedBits } from "./merge/ranked-bits.ts";
import type { StackChains } from "./stack-chains.ts";

/** How often frames occur in certain stacks, and the sum of their positions there (0 for the leaf). By frame. */
export interface FrameCounts {
  readonly counts: Float64Array;
  readonly positionSums: Float64Array;
}

/**
 * Counts the frames of the stacks in use. Callers have lower numbers than what they call: going down through the numbers,
 * a stack has heard of all stacks above it, how many they are and how far away.
 *
 * @param branches of the stacks
 * @param ranks what the frames are to be numbered as
 */
export function countFrames(
  stacks: StackChains,
  used: RankedBits,
  branches: RankedBits,
  ranks: Uint32Array,
): FrameCounts {
  const counts = new Float64Array(ranks.length);
  const positionSums = new Float64Array(ranks.length);
  /** By branch: the stacks in use of the chains that it calls, and their distances. */
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
