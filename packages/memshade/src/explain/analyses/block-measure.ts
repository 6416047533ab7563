/**
 * Blocks that an analysis picked out, and their bytes, per context in the order of the context table.
 */
export interface BlockMeasure {
  readonly blocks: Float64Array;
  readonly bytes: Float64Array;
  readonly totalBlocks: number;
  readonly totalBytes: number;
  /** The profile does not tell every such block: there are at least so many. */
  readonly isLowerBound: boolean;
  /** The profile has bytes alone: blocks are 0, and mean nothing. */
  readonly lacksBlocks?: true;
}

export function blockMeasure(blocks: Float64Array, bytes: Float64Array, isLowerBound = false): BlockMeasure {
  return { blocks, bytes, totalBlocks: sum(blocks), totalBytes: sum(bytes), isLowerBound };
}

function sum(column: Float64Array): number {
  return column.reduce((total, value) => total + value, 0);
}
