import { sum } from "../../ground/bytes/numbers.ts";

/** Blocks selected by an analysis, and their bytes, per context in the order of the context table. */
export interface BlockMeasure {
  readonly blocks: Float64Array;
  readonly bytes: Float64Array;
  readonly totalBlocks: number;
  readonly totalBytes: number;
  /** True if the profile may miss such blocks, so that the numbers are lower bounds. */
  readonly isLowerBound: boolean;
  /** True if the profile has only bytes: `blocks` is 0 and has no meaning. */
  readonly lacksBlocks?: true;
}

export function blockMeasure(blocks: Float64Array, bytes: Float64Array, isLowerBound = false): BlockMeasure {
  return { blocks, bytes, totalBlocks: sum(blocks), totalBytes: sum(bytes), isLowerBound };
}
