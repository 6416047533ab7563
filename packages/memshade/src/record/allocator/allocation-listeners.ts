/** Functions of a tool, by index, that listen to the allocator. */
export interface AllocationListeners {
  /** () before an allocation or reallocation; absent: nothing to be told. */
  requested?: number;
  /** (address, bytes, `zeroedBy` of a block of zeros, else 0), behind the allocation; the address may be 0. */
  allocated: number;
  /** What the tool wants to be told of blocks that this function hands out zeroed. Not 0. */
  zeroedBy(functionIndex: number): number;
  /** (old address, new address, bytes), behind the reallocation. */
  reallocated: number;
  /** (address), before the release. */
  released: number;
}
