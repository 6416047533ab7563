/** Blocks that came out of others as these grew. A chain is a block and those whose contents were copied into it, one after the other. */
export interface BlockGrowth {
  chains: number;
  /** How often contents were copied to a larger block, in all chains together. */
  copies: number;
  copiedBytes: number;
  /** Of one chain. */
  mostCopies: number;
  /** Sizes of the blocks at the ends of chains. */
  finalBytes: number;
  /** Of those, up to the last byte that was accessed or copied. */
  usedBytes: number;
  /** Size of the largest block at the end of a chain. */
  largestFinal: number;
  /**
   * Blocks that realloc made larger where they were, how often in all, and what they used in the end; absent where there are none.
   * They are chains only if something was copied too.
   */
  steppedChains?: number | undefined;
  steps?: number | undefined;
  steppedBytes?: number | undefined;
}

/** How much of its large blocks was used: of those that were accessed, and did not go on in a larger one. */
export interface BlockCapacity {
  blocks: number;
  /** Their sizes. */
  bytes: number;
  /** Behind the last byte that was accessed or copied. */
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

/** Both together. */
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

/** Both together. */
export function addCapacity(one: BlockCapacity, other: BlockCapacity): BlockCapacity {
  return {
    blocks: one.blocks + other.blocks,
    bytes: one.bytes + other.bytes,
    unusedBytes: one.unusedBytes + other.unusedBytes,
  };
}
