export { ACCESSES_PER_BLOCK } from "../../../profile/model/over-time/drag.ts";

// Layout of the heap profiler's memory, for the code that fills it and the code that reads it. Memory is zero
// at the start, so zero means "nothing yet" in every field, and minima are stored as their complements.
// README.md has a drawing.

/** Low bits of a u64 sum that count live blocks; the bits above count their bytes. */
export const LIVE_BLOCK_BITS = 26;

/** Control block. Every block needs the first 32 bytes. */
export const Control = {
  /** u64, bytes and blocks: the live amount. */
  live: 0,
  /**
   * u64: the largest live amount in the open interval, with all block bits set. A live amount above this is a
   * new maximum.
   */
  peakLimit: 8,
  /** u64: allocations so far. The low half is the virtual clock. */
  allocations: 16,
  /** Generation number: rises with each peak and each ended interval. */
  stamp: 24,
  /**
   * Clock value up to which a block may begin without further checks: no interval ends, and there is room for
   * the block.
   */
  limit: 28,
  /** u64, bytes and blocks: the peak; updated at the first release after it. */
  peak: 32,
  recordFree: 40,
  recordNext: 44,
  highWater: 48,
  instance: 52,
  /** Bytes of slots that regions use. */
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
  /**
   * Allocations of unrecorded contexts until the next flush may be tried, and that number after the last
   * flush that made no room.
   */
  flushPause: 168,
  fruitlessPause: 172,
  childrenUsed: 176,
  instances: 180,
  /** Number of the instance that holds the lock, 0 for none. */
  lock: 184,
  /** Rises whenever the lock is taken. */
  lockTurn: 188,
  /** f64: start of the wall clock of all instances, milliseconds since the epoch. Used by the host only. */
  start: 200,
  /** Largest distance from the base of a stack to the newest frame, in bytes. */
  deepest: 192,
  /** Record of the block of more than `LARGEST_UNMARKED` bytes that began last, 0 once it has ended. */
  youngest: 216,
  /** Low half of `allocations` when that block began. */
  youngestNumber: 220,
  childTable: 208,
  /** 32 minus the number of bits of an index in that table. */
  childShift: 212,
  /** u64: bytes of `earlierSized` blocks. */
  earlierBytes: 224,
  /**
   * Releases of blocks from the memory's initial image, and those of them that have an allocator's header
   * with a size.
   */
  earlierFrees: 232,
  earlierSized: 236,
  /** Releases among `unmatchedFrees` whose blocks have an allocator's header. */
  unmatchedSized: 240,
  /** 32 free lists, one per power of two. */
  histogramFree: 256,
  // Section: the heap over time.
  /** Values of `stamp` at the last peak and at the last end of an interval. */
  peakStamp: 384,
  intervalStamp: 388,
  /** u64: the largest live amount in the open interval, at its beginning or before a release. */
  intervalPeak: 392,
  /** u64: clock value at which the open interval ends. */
  deadline: 400,
  /** u64: clock value when contexts' changes were added up last. */
  settled: 408,
  /** u64: bytes that the rare path has allocated since then. */
  unsettledBytes: 416,
  /** u64: number of ends of intervals, and of changes recorded at them. */
  intervalWork: 424,
  /** u64: clock value when the first interval began. */
  intervalsFrom: 432,
  /** Number of times that intervals were merged; each doubles their length. */
  intervalScale: 440,
  intervals: 444,
  /** Number of changes of all intervals, and index of the first change of the open interval. */
  changes: 448,
  openChanges: 452,
  /** Odd while the intervals are being rewritten. */
  intervalTurn: 456,
  // Section: last accesses (drag).
  /** u64: number of the next small block to be followed. */
  nextSample: 464,
  /** Base-2 logarithm of the sampling interval from which that number was drawn. */
  sampleShift: 472,
  random: 476,
  /** Entries of the table of followed blocks. 0 is no block's. */
  followed: 480,
  /** u64: cost of all looks so far, in granules. */
  lookWork: 488,
  /** u64: the work at which the next look is due. */
  nextLook: 496,
  /** u64: the work at the last look. */
  lookedWork: 504,
  /** A `Fold` per granule of static data that needs one. */
  folds: 512,
  sizeClasses: 2560,
  /** u64: accesses that looks found: to static data, and to blocks, estimated from the followed ones. */
  accesses: 2944,
  /** u64: allocations at the last look before which any were made, and `accesses` at that look. */
  lookedAllocations: 2968,
  accessesThen: 2976,
  /** u64: number of allocations at which the next look is due, independent of accesses. */
  nextLookNumber: 2984,
  /** A `Loop` for each group of loops that poll. */
  loops: 2992,
  /** u64: the part of `accesses` that was found late, by looks after ones that passed the block over. */
  foundLate: 3504,
  // Section: hints of waste.
  /** u64: loads in innermost loops from addresses that do not change there and that the loop does not store to. */
  repeatedLoads: 3512,
  /** u64: bytes that `memory.fill` wrote to memory that was used before. */
  filledBytes: 3520,
} as const;
export const CONTROL_BYTES = 4096;

/** State of the sampling of the host's entries, if the host's stacks are recorded. */
export const HostEntries = {
  /** Input of the host: number of host frames above the requested one. */
  above: 0,
  /** Output of the host: number of a stack. */
  answer: 4,
  random: 8,
  /** Entries with allocations whose callers were requested, and entries that were left out. */
  asked: 12,
  leftOut: 16,
  /** An array of `HostKind`, by a hash of an entry's calls up to its first allocation. */
  kinds: 64,
  /** A byte per hash of a path: number of its requests out of turn. */
  paths: 2112,
} as const;
export const HOST_ENTRIES_BYTES = 4096;

/** Sampling state of one kind of entries. */
export const HostKind = {
  /** Entries to be left out before the next request. */
  skip: 0,
  /** u16: one of 4 ** stage entries is requested. */
  stage: 4,
  /** u16: entries requested in this stage. */
  asked: 6,
  /** u64: a bit for each caller found so far, by a hash of its number. */
  callers: 8,
} as const;
export const HOST_KIND_BYTES = 16;
export const HOST_KINDS = 128;
export const HOST_PATHS = 512;

/**
 * Bytes of the program's stack that calls of the host took and did not give back: this head, then the takes
 * in order.
 */
export const StackTakes = {
  count: 0,
  /** The highest `count` so far. */
  most: 4,
  /** Takes beyond the list. */
  furtherCalls: 8,
  furtherBytes: 12,
} as const;
export const STACK_TAKES_HEAD_BYTES = 16;
export const StackTake = {
  /** The stack pointer before and after. */
  from: 0,
  to: 4,
  /** Index, in the original module, of the function that the host called. */
  mover: 8,
  /** Number of the host's stack, 0 if the host was not asked. */
  caller: 12,
} as const;
export const STACK_TAKE_BYTES = 16;
/** Value of `mover` if no function moved the stack pointer: an exception left frames of the program on the stack. */
export const LEFT_BY_EXCEPTION = 0xffffffff;
/** Bound on the number of times the host is asked for a stack. */
export const MOST_STACK_TAKES = 4096;

/** Accesses to a granule of static data beyond the range of its counter. An empty entry is zero. */
export const Fold = {
  address: 0,
  /** u64 */
  accesses: 8,
} as const;
export const FOLD_BYTES = 16;
/**
 * Few granules are accessed so often, as a counter overflows only after seconds. Accesses that find no entry
 * are added to other accesses.
 */
export const FOLD_COUNT = 128;

export const SizeClass = {
  /** Followed blocks that are live, and all blocks followed so far. */
  followed: 0,
  taken: 4,
  /** Base-2 logarithm: one in 2^shift blocks is followed. */
  shift: 8,
} as const;
export const SIZE_CLASS_BYTES = 16;
/** The smallest class has the blocks of at most `LARGEST_UNMARKED` bytes. */
export const SMALLEST_CLASS_BITS = 8;
export const SIZE_CLASSES = 24;
/** Most live followed blocks of a class. Beyond that, half of them are no longer followed. */
export const MOST_OF_CLASS = 256;

/** A loop that polls, by its number modulo `LOOPS`. */
export const Loop = {
  /** Trips begun so far, and the trip at which the next look is due. */
  trips: 0,
  next: 4,
} as const;
export const LOOP_BYTES = 8;
export const LOOPS = 64;

/**
 * A live block that is followed to its last access. The first entry stands for the static data and uses
 * `weight` and `accesses` only.
 */
export const Followed = {
  record: 0,
  /** Number of blocks that it stands for. */
  weight: 4,
  /** Time of the last look that found its counters changed; at first, the time of its beginning. */
  seen: 8,
  /** u16: looks that will pass it over, and that number when it was set last. */
  rest: 12,
  lastRest: 14,
  /** u64: its accesses at `seen`. */
  accesses: 16,
  /** u64: the work at its beginning, and at `seen`; the latter without accesses found late. */
  startWork: 24,
  seenWork: 32,
} as const;
export const FOLLOWED_BYTES = 40;
export const MOST_FOLLOWED = SIZE_CLASSES * MOST_OF_CLASS + 1;

/**
 * Drag of a context's ended blocks, cleared together with them. Times and work are multiplied by sizes. Work
 * is f64, counts of followed blocks are u32, the rest is u64.
 */
export const Drag = {
  byteTime: 0,
  dragged: 8,
  lateBlocks: 16,
  lateBytes: 24,
  lateLastUse: 32,
  followed: 40,
  lateFollowed: 44,
  /** u64: number and bytes of the blocks that the followed ones stand for. */
  blocks: 48,
  bytes: 56,
  byteWork: 64,
  lateByteWork: 72,
  lateUsedByteWork: 80,
} as const;
export const DRAG_BYTES = 88;

/**
 * Entry of a calling context that allocates; entry 0 is overflow. Neighbours in a group of 16 bytes are
 * updated together as a vector.
 */
export const Context = {
  // Section: stays when the ended blocks are cleared.
  /** u64, bytes and blocks, each modulo its bits. The live amount is `allocated` minus `freed`. */
  allocated: 0,
  stamp: 8,
  /** Address; in free entries the index of the next free one. */
  node: 12,
  /** u64, packed as `allocated`. */
  freed: 16,
  // Section: changes with every block. The fields after these are also in the shapes.
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
  // Section: used only if several instances share the memory; cleared with the ended blocks.
  /** Processor numbers of the last ended block; 0 before the first. */
  allocCpu: 192,
  deallocCpu: 196,
  migrated: 200,
  sameAllocCpu: 204,
  sameDeallocCpu: 208,
  processorsEnd: 212,
  // Section: blocks freed by finalizers of the host's garbage collector. The host writes it; it is cleared
  // with the ended blocks.
  /** u64 */
  collectedBytes: 216,
  /** u64: sum of their lifetimes. */
  collectedLifetime: 224,
  collectedBlocks: 232,
  collectedEnd: 236,
} as const;
export const CONTEXT_BYTES = 256;

/** Values of a context before its last change. */
export const Past = {
  /** u64: the live amount at the last peak, if it has changed since. */
  peak: 0,
  /**
   * u64: `Context.allocated` and `Context.freed` when the changes of the open interval were added up last.
   */
  allocated: 8,
  freed: 16,
  /** Index of its last change among the changes. */
  change: 24,
} as const;
export const PAST_BYTES = 32;

/** Most intervals that are kept. Beyond that, neighbours are merged. */
export const MOST_INTERVALS = 512;
export const Interval = {
  /** u64: the clock. */
  end: 0,
  /** u64, bytes and blocks: the live amount at its end, and the largest one in it, its beginning included. */
  live: 8,
  peak: 16,
  changesEnd: 24,
  /** Index of the context of the first allocation after it. */
  next: 28,
} as const;
export const INTERVAL_BYTES = 32;

/** Work of one context in one interval. */
export const Change = {
  context: 0,
  allocations: 4,
  /** u64. */
  allocatedBytes: 8,
  frees: 16,
  /** u64. */
  freedBytes: 24,
} as const;
export const CHANGE_BYTES = 32;
/** Size of the table of changes, as a multiple of the changes that one interval can have. */
export const CHANGES_PER_CONTEXT = 8;
/**
 * Growth and capacity of a context's ended blocks: an entry beside each context's, cleared with the ended
 * blocks.
 */
export const Growth = {
  /** Number of ended chains: blocks that others were copied into, one after the other. */
  chains: 0,
  copies: 4,
  /** u64: bytes that were copied. */
  copiedBytes: 8,
  /** u64: sizes of the last blocks. */
  finalBytes: 16,
  /** u64: bytes of the last blocks up to the last byte that was accessed or copied. */
  usedBytes: 24,
  mostCopies: 32,
  largestFinal: 36,
  /**
   * u64: sizes of ended blocks of more than `LARGEST_UNMARKED` bytes that were accessed and have no successor
   * in a chain.
   */
  endedBytes: 40,
  /** u64: bytes of these behind the last byte that was accessed or copied. */
  unusedBytes: 48,
  endedBlocks: 56,
  /** Blocks that realloc enlarged in place, and the number of these steps. */
  steppedChains: 60,
  steps: 64,
  /** u64: bytes of these blocks at their end, up to the last byte that was accessed or copied. */
  steppedBytes: 72,
} as const;
export const GROWTH_BYTES = 128;

/**
 * Small ended blocks of one context that have the same size and the same counters. They are only counted,
 * with their lifetimes, until another shape takes over the entry; then they are added to the context's sums.
 * Zero: no blocks.
 */
export const Shape = {
  /**
   * Index of the context and the size as in a slot's tag, and a bit that is set if the contents do not live
   * on.
   */
  owner: 0,
  /** Access density × 1000. */
  density: 4,
  /** u64: blocks with a lifetime above zero. The highest bits are another number, see `SHAPE_COUNT_BITS`. */
  count: 8,
  /** u64: blocks with lifetime zero, which no other field counts. */
  zero: 16,
  /** Shortest lifetime of `count` blocks. */
  minLifetime: 24,
  /** Longest lifetime minus the shortest. */
  span: 28,
  /** 16 counters; those beyond the block's size are undefined. */
  pattern: 32,
} as const;
export const SHAPE_BYTES = 128;
export const SHAPE_BITS = 12;
export const SHAPE_COUNT = 2 ** SHAPE_BITS;
/**
 * Position of a small number above the count: blocks of other shapes until one of them may take over the
 * entry.
 */
export const SHAPE_COUNT_BITS = 62;

/** Node of the calling context tree; the first is the root. */
export const Node = {
  /** Address; in free nodes that of the next free one. */
  parent: 0,
  site: 4,
  mib: 8,
  mark: 12,
  /**
   * Last allocating call that was searched below this node, and its context. In native programs any call, and
   * its node.
   */
  lastSite: 16,
  lastMib: 20,
  /** The call searched before that. */
  otherSite: 24,
  otherMib: 28,
} as const;
export const NODE_BYTES = 32;
/**
 * Node that stands for the host. The host allocates nothing itself, so the field `mib` is used for a count.
 */
export const HostNode = {
  /** Number of entries with this node. */
  entries: 8,
} as const;

/** Entry of the hash table (open addressing): (parent, site) → node, and its context once it was searched. */
export const Child = {
  parent: 0,
  site: 4,
  node: 8,
  mib: 12,
} as const;
export const CHILD_BYTES = 16;
/** Entries of the first table of children: most programs need no second page. */
export const FIRST_CHILDREN = 256;

/** Bits of an address within its region of program memory, and within its slot. */
export const REGION_BITS = 16;
export const SLOT_BITS = 4;
export const SLOT_BYTES = 8;
export const SLOT_REGION_BYTES = 2 ** (REGION_BITS - SLOT_BITS) * SLOT_BYTES;
/** Slot of the live block that starts in its bytes. Zero until the first block starts there. */
export const Slot = { time: 0, tag: 4 } as const;
/**
 * Fields of a slot's tag. 0 means no block. Otherwise the tag holds the index of the block's context, the
 * block's size, and its start within the slot's 16 bytes. With the highest bit set it holds the index of the
 * first record of a chain. The owner of a shape has the same form.
 */
export const Tag = {
  recorded: 0x80000000,
  contextShift: 14,
  sizeShift: 4,
  sizeMask: 1023,
  /** Bits of the address. If slots cover more than 16 bytes, the lowest bits are left out, as they are 0. */
  placeMask: 15,
  /** First context index that does not fit a tag. All blocks of such contexts have records. */
  contexts: 131072,
} as const;

/** Live block that no slot can hold. The first record is no block's. */
export const Record = {
  address: 0,
  /** Offset of the next record of the slot, or of the next free one. */
  next: 4,
  mib: 8,
  time: 12,
  size: 16,
  /** Number of the instance that allocated it, if several share the memory. */
  owner: 20,
  /** High half of the address, in native programs. */
  addressHigh: 20,
  /** u64: accesses that a counter had no room for. */
  folded: 24,
  /** Copies in the block's chain so far; 0 for most blocks, or `WENT_ON`. */
  copies: 32,
  /** Bytes at the block's start that were in use when it began. */
  carried: 36,
  /** u64: bytes that were copied. */
  copiedBytes: 40,
  /** Index among the followed blocks; 0 if it is not followed. */
  followed: 48,
  /** Number of times that the block and its predecessors were enlarged in place. */
  steps: 52,
} as const;
export const RECORD_BYTES = 56;
/**
 * Value of a record's copies once the contents were copied into another block. A collector frees this block
 * later.
 */
export const WENT_ON = 0xffffffff;

/** Largest block, in bytes, that can have a shape; it has at most 16 counters. */
export const LARGEST_SMALL = 128;
/** Largest block, in bytes, that has no marks and fits a slot. Larger blocks have a record. */
export const LARGEST_UNMARKED = 511;
