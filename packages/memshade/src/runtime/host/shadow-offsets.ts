// Offsets of the shadow tables' fields, in bytes. They mirror `shadow/assembly/layout.ts`, the code that fills them;
// a test compares the two.

/** Fields of the control block. */
export const Control = {
  liveBytes: 0,
  peakBytes: 8,
  liveBlocks: 16,
  peakBlocks: 20,
  peakStamp: 24,
  clock: 28,
  allocations: 32,
  allocatedBytes: 40,
  frees: 48,
  freedAccesses: 56,
  otherAccesses: 64,
  recordFree: 72,
  recordNext: 76,
  nodeNext: 80,
  mibNext: 84,
  overflowContexts: 88,
  overflowBlocks: 92,
  unmatchedFrees: 96,
  overlaps: 100,
  sharedGranules: 104,
  outside: 108,
  failed: 112,
  nodeFree: 116,
  mibFree: 120,
  highWater: 124,
  wallMs: 128,
  wallBudget: 132,
  wallInterval: 136,
  histogramNext: 140,
  histogramDropped: 144,
  instance: 148,
  evictions: 152,
  misaligned: 156,
  nullFrees: 160,
  foldedAccesses: 168,
  childrenUsed: 176,
  histogramFree: 256,
} as const;

/** Fields of a context's entry in the block table. */
export const Block = {
  liveBytes: 0,
  liveBlocks: 8,
  peakStamp: 12,
  peakBytes: 16,
  peakBlocks: 24,
  node: 28,
  reallocations: 32,
  neverAccessed: 36,
  neverAccessedBytes: 40,
  neverReadBytes: 48,
  neverRead: 56,
  temporary: 60,
  allocCount: 64,
  minSize: 68,
  maxSize: 72,
  allocTimestamp: 76,
  deallocTimestamp: 80,
  minLifetime: 84,
  maxLifetime: 88,
  allocCpu: 92,
  deallocCpu: 96,
  migrated: 100,
  overlaps: 104,
  sameAllocCpu: 108,
  sameDeallocCpu: 112,
  minDensity: 116,
  maxDensity: 120,
  minLifetimeDensity: 124,
  maxLifetimeDensity: 128,
  histogram: 132,
  totalAccesses: 136,
  minAccesses: 144,
  maxAccesses: 152,
  totalSize: 160,
  totalLifetime: 168,
  totalDensity: 176,
  totalLifetimeDensity: 184,
  granulesTouched: 192,
  granules: 200,
  histogramLength: 208,
  histogramClass: 212,
} as const;

/** Fields of a calling context tree node. */
export const Node = {
  parent: 0,
  site: 4,
  mib: 8,
  mark: 12,
} as const;

/** Fields of a live block's record. */
export const Record = {
  address: 0,
  size: 4,
  mib: 8,
  time: 12,
  next: 16,
  instance: 20,
  folded: 24,
} as const;

export const BLOCK_BYTES = 256;
export const NODE_BYTES = 16;
export const RECORD_BYTES = 32;
