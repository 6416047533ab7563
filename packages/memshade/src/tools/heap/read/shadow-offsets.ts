// Offsets of the shadow tables' fields, in bytes. They mirror `shadow/assembly/layout.ts`, the code that fills them;
// a test compares the two.

/** Fields of the control block. */
export const Control = {
  live: 0,
  peakLimit: 8,
  allocations: 16,
  peakStamp: 24,
  peak: 32,
  recordFree: 40,
  recordNext: 44,
  highWater: 48,
  instance: 52,
  slotsNext: 56,
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
  childTable: 208,
  childShift: 212,
  instances: 180,
  lock: 184,
  lockTurn: 188,
  start: 200,
  deepest: 192,
  histogramFree: 256,
} as const;

/** Fields of a context's entry in the block table. */
export const Block = {
  live: 0,
  peakStamp: 8,
  node: 12,
  peak: 16,
  allocTimestamp: 24,
  deallocTimestamp: 28,
  overlaps: 32,
  temporary: 36,
  totalLifetime: 40,
  totalLifetimeDensity: 48,
  allocCount: 56,
  reallocations: 60,
  totalAccesses: 64,
  totalSize: 72,
  granules: 80,
  granulesTouched: 88,
  minSize: 96,
  minLifetime: 100,
  minDensity: 104,
  minLifetimeDensity: 108,
  maxSize: 112,
  maxLifetime: 116,
  maxDensity: 120,
  maxLifetimeDensity: 124,
  minAccesses: 128,
  maxAccesses: 136,
  totalDensity: 144,
  neverAccessed: 152,
  neverRead: 156,
  neverAccessedBytes: 160,
  neverReadBytes: 168,
  histogramLength: 176,
  forgottenEnd: 180,
  histogram: 184,
  histogramClass: 188,
  allocCpu: 192,
  deallocCpu: 196,
  migrated: 200,
  sameAllocCpu: 204,
  sameDeallocCpu: 208,
  processorsEnd: 212,
} as const;

/** Fields of a shape: equal blocks of a context that have ended. */
export const Shape = {
  owner: 0,
  density: 4,
  count: 8,
  zero: 16,
  minLifetime: 24,
  span: 28,
  pattern: 32,
} as const;

/** Fields of a calling context tree node. */
export const Node = {
  parent: 0,
  site: 4,
  mib: 8,
  mark: 12,
  lastSite: 16,
  lastMib: 20,
  otherSite: 24,
  otherMib: 28,
} as const;

/** Fields of the slot of a live block. */
export const Slot = {
  time: 0,
  tag: 4,
} as const;

/** Fields of a live block's record. */
export const Record = {
  address: 0,
  next: 4,
  mib: 8,
  time: 12,
  size: 16,
  owner: 20,
  folded: 24,
} as const;

/** What a slot's tag, or the owner of a shape, says. */
export const Tag = {
  recorded: 0x80000000,
  contextShift: 14,
  sizeShift: 4,
  sizeMask: 1023,
  placeMask: 15,
} as const;

export const BLOCK_BYTES = 256;
export const SHAPE_BYTES = 128;
export const SHAPE_COUNT = 4096;
/** Bits of a shape's count; those above are another number. */
export const SHAPE_COUNT_BITS = 62;
export const NODE_BYTES = 32;
export const RECORD_BYTES = 32;
/** A region of program memory, and its slots: 8 bytes for 16 of the program. */
export const REGION_BITS = 16;
export const SLOT_REGION_BYTES = 32768;
export const SLOT_BYTES = 8;
/** Live bytes and blocks share a u64: the blocks are its lowest bits, so many. */
export const LIVE_BLOCK_BITS = 26;
