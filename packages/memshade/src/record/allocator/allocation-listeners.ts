export interface AllocationListeners {
  /** (), before an allocation or reallocation; absent if not needed. */
  requested?: number;
  /** (address, bytes, `zeroedBy` of a zeroed block, else 0), after the allocation; the address may be 0. */
  allocated: number;
  /** Returns a number other than 0 that identifies a function whose blocks are zeroed. */
  zeroedBy(functionIndex: number): number;
  /** (old address, new address, bytes), after the reallocation. */
  reallocated: number;
  /** (address), before the release. */
  released: number;
}
