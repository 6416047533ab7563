// Offsets of the shadow tables' fields, in bytes. They mirror `shadow/assembly/layout.ts`, the code that fills them;
// a test compares the two.

/** Fields of the control block. */
export const Control = {
  liveBytes: 0,
  liveBlocks: 8,
  peakBytes: 16,
  peakBlocks: 24,
  peakStamp: 28,
  allocations: 32,
  recordFree: 40,
  recordNext: 44,
  highWater: 48,
  instance: 52,
  otherAccesses: 64,
  unfollowedBytes: 72,
  nodeNext: 80,
  mibNext: 84,
  overflowContexts: 88,
  overflowBlocks: 92,
  unmatchedFrees: 96,
  overlaps: 100,
  sharedGranules: 104,
  outside: 108,
  nodeFree: 116,
  mibFree: 120,
  wallMs: 128,
  wallBudget: 132,
  wallInterval: 136,
  histogramNext: 140,
  histogramDropped: 144,
  evictions: 152,
  misaligned: 156,
  nullFrees: 160,
  unfollowedFrees: 164,
  flushPause: 168,
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
  totalAccesses: 64,
  totalSize: 72,
  totalLifetime: 80,
  totalDensity: 88,
  totalLifetimeDensity: 96,
  granules: 104,
  minSize: 112,
  minLifetime: 116,
  minDensity: 120,
  minLifetimeDensity: 124,
  maxSize: 128,
  maxLifetime: 132,
  maxDensity: 136,
  maxLifetimeDensity: 140,
  allocTimestamp: 144,
  deallocTimestamp: 148,
  allocCpu: 152,
  deallocCpu: 156,
  allocCount: 160,
  overlaps: 164,
  sameAllocCpu: 168,
  sameDeallocCpu: 172,
  minAccesses: 176,
  maxAccesses: 184,
  granulesTouched: 192,
  migrated: 200,
  lastAccesses: 208,
  lastSize: 216,
  lastDensity: 220,
  histogram: 240,
  histogramClass: 244,
  histogramLength: 248,
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
