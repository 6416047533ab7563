// Offsets of the shadow tables' fields, in bytes. They mirror `shadow/assembly/layout.ts`, the code that fills them;
// a test compares the two.

/** Fields of the control block. */
export const Control = {
  live: 0,
  peak: 8,
  allocations: 16,
  peakStamp: 24,
  fastEnd: 28,
  recordFree: 40,
  recordNext: 44,
  highWater: 48,
  instance: 52,
  keepNone: 56,
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
  masks: 512,
} as const;

/** Fields of a context's entry in the block table. */
export const Block = {
  live: 0,
  peakStamp: 8,
  node: 12,
  peak: 16,
  runCount: 24,
  runSize: 28,
  allocTimestamp: 32,
  deallocTimestamp: 36,
  overlaps: 40,
  temporary: 44,
  totalLifetime: 48,
  totalLifetimeDensity: 56,
  pattern: 64,
  runDensity: 96,
  runMinLifetime: 104,
  runMaxLifetime: 108,
  misses: 112,
  totalAccesses: 128,
  totalSize: 136,
  granules: 144,
  granulesTouched: 152,
  minSize: 160,
  minLifetime: 164,
  minDensity: 168,
  minLifetimeDensity: 172,
  maxSize: 176,
  maxLifetime: 180,
  maxDensity: 184,
  maxLifetimeDensity: 188,
  minAccesses: 192,
  maxAccesses: 200,
  totalDensity: 208,
  allocCount: 216,
  reallocations: 220,
  neverAccessed: 224,
  neverRead: 228,
  neverAccessedBytes: 232,
  neverReadBytes: 240,
} as const;

/** Fields that a context's entry has in exact mode, in the place of those of the run. */
export const ExactBlock = {
  histogram: 64,
  histogramClass: 68,
  histogramLength: 72,
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
  unusual: 20,
  folded: 24,
} as const;

export const BLOCK_BYTES = 256;
export const NODE_BYTES = 16;
export const RECORD_BYTES = 32;
/** Stands where a node's number does for the root. */
export const ROOT_NODE = 0x7fffffff;
/** Live bytes and blocks share a u64: the blocks are its lowest bits, so many. */
export const LIVE_BLOCK_BITS = 26;
