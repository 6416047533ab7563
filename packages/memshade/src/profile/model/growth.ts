/**
 * Growth of blocks by copying. A chain is a block and the larger blocks into which its contents were copied, one after
 * the other.
 */
export interface BlockGrowth {
  /** Number of chains. */
  chains: number;
  /** Number of copies to a larger block, in all chains together. */
  copies: number;
  /** Bytes copied to larger blocks. */
  copiedBytes: number;
  /** Copies of the longest chain. */
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
  /** Number and total size of the blocks, of 512 bytes or more each. */
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

export function addGrowth(a: BlockGrowth, b: BlockGrowth): BlockGrowth {
  if (b === NO_GROWTH) return a;
  if (a === NO_GROWTH) return b;
  return {
    chains: a.chains + b.chains,
    copies: a.copies + b.copies,
    copiedBytes: a.copiedBytes + b.copiedBytes,
    mostCopies: Math.max(a.mostCopies, b.mostCopies),
    finalBytes: a.finalBytes + b.finalBytes,
    usedBytes: a.usedBytes + b.usedBytes,
    largestFinal: Math.max(a.largestFinal, b.largestFinal),
    ...(a.steps === undefined && b.steps === undefined ? {} : addSteps(a, b)),
  };
}

function addSteps(
  a: BlockGrowth,
  other: BlockGrowth,
): Pick<BlockGrowth, "steppedChains" | "steps" | "steppedBytes"> {
  return {
    steppedChains: (a.steppedChains ?? 0) + (other.steppedChains ?? 0),
    steps: stepsOf(a) + stepsOf(other),
    steppedBytes: (a.steppedBytes ?? 0) + (other.steppedBytes ?? 0),
  };
}

export function stepsOf({ steps = 0 }: BlockGrowth): number {
  return steps;
}

export function addCapacity(a: BlockCapacity, b: BlockCapacity): BlockCapacity {
  if (b === NO_CAPACITY) return a;
  if (a === NO_CAPACITY) return b;
  return {
    blocks: a.blocks + b.blocks,
    bytes: a.bytes + b.bytes,
    unusedBytes: a.unusedBytes + b.unusedBytes,
  };
}
