/**
 * Growth of blocks by copying. A chain is a block and the larger blocks into which its contents were copied, one after
 * the other.
 */
export interface BlockGrowth {
  chains: number;
  /** Number of copies to a larger block, in all chains together. */
  copies: number;
  copiedBytes: number;
  mostCopies: number;
  /** Total size of the last blocks of chains. */
  finalBytes: number;
  /** Used part of `finalBytes`: the bytes up to the last one that was accessed or copied. */
  usedBytes: number;
  /** Size of the largest last block of a chain. */
  largestFinal: number;
  /**
   * Blocks that realloc enlarged in place, the number of these steps, and the bytes used at the end; absent if there
   * are none. Such blocks are chains only if their contents were also copied.
   */
  steppedChains?: number | undefined;
  steps?: number | undefined;
  steppedBytes?: number | undefined;
}

/** Use of large blocks: of blocks that were accessed and did not grow into a larger one. */
export interface BlockCapacity {
  blocks: number;
  bytes: number;
  /** Bytes after the last one that was accessed or copied. */
  unusedBytes: number;
}

export const NO_GROWTH: BlockGrowth = {
  chains: 0,
  copies: 0,
  copiedBytes: 0,
  mostCopies: 0,
  finalBytes: 0,
  usedBytes: 0,
  largestFinal: 0,
};

export const NO_CAPACITY: BlockCapacity = { blocks: 0, bytes: 0, unusedBytes: 0 };

export function addGrowth(one: BlockGrowth, other: BlockGrowth): BlockGrowth {
  return {
    chains: one.chains + other.chains,
    copies: one.copies + other.copies,
    copiedBytes: one.copiedBytes + other.copiedBytes,
    mostCopies: Math.max(one.mostCopies, other.mostCopies),
    finalBytes: one.finalBytes + other.finalBytes,
    usedBytes: one.usedBytes + other.usedBytes,
    largestFinal: Math.max(one.largestFinal, other.largestFinal),
    ...(one.steps === undefined && other.steps === undefined ? {} : addSteps(one, other)),
  };
}

function addSteps(
  one: BlockGrowth,
  other: BlockGrowth,
): Pick<BlockGrowth, "steppedChains" | "steps" | "steppedBytes"> {
  return {
    steppedChains: (one.steppedChains ?? 0) + (other.steppedChains ?? 0),
    steps: stepsOf(one) + stepsOf(other),
    steppedBytes: (one.steppedBytes ?? 0) + (other.steppedBytes ?? 0),
  };
}

export function stepsOf({ steps = 0 }: BlockGrowth): number {
  return steps;
}

export function addCapacity(one: BlockCapacity, other: BlockCapacity): BlockCapacity {
  return {
    blocks: one.blocks + other.blocks,
    bytes: one.bytes + other.bytes,
    unusedBytes: one.unusedBytes + other.unusedBytes,
  };
}
