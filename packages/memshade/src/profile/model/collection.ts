/**
 * Blocks freed by the host in a `FinalizationRegistry` callback, after its collector found their wrapper objects
 * unreachable.
 */
export interface BlockCollection {
  /** Number and total size of the blocks. */
  blocks: number;
  bytes: number;
  /** Sum of their lifetimes, in units of the run's clock. */
  lifetime: number;
}

export const NO_COLLECTION: BlockCollection = { blocks: 0, bytes: 0, lifetime: 0 };

export function addCollection(a: BlockCollection, b: BlockCollection): BlockCollection {
  return {
    blocks: a.blocks + b.blocks,
    bytes: a.bytes + b.bytes,
    lifetime: a.lifetime + b.lifetime,
  };
}
