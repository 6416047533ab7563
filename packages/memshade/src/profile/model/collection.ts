/** Blocks that the host gave back when its collector had found the objects that stood for them: in a `FinalizationRegistry`'s callback. */
export interface BlockCollection {
  blocks: number;
  bytes: number;
  /** Sum of their lifetimes, by the clock of the run. */
  lifetime: number;
}

/** Adds two collections. */
export function addCollection(one: BlockCollection, other: BlockCollection): BlockCollection {
  return {
    blocks: one.blocks + other.blocks,
    bytes: one.bytes + other.bytes,
    lifetime: one.lifetime + other.lifetime,
  };
}
