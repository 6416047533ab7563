/**
 * Blocks freed by the host in a `FinalizationRegistry` callback, after its collector found their wrapper objects
 * unreachable.
 */
export interface BlockCollection {
  blocks: number;
  bytes: number;
  /** Sum of their lifetimes, in units of the run's clock. */
  lifetime: number;
}

export function addCollection(one: BlockCollection, other: BlockCollection): BlockCollection {
  return {
    blocks: one.blocks + other.blocks,
    bytes: one.bytes + other.bytes,
    lifetime: one.lifetime + other.lifetime,
  };
}
