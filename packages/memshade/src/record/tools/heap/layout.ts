export { ACCESSES_PER_BLOCK } from "../../../profile/model/over-time/drag.ts";

// Where things are in the heap profiler's memory, for the code that fills it and for the one that reads it. Memory is zero at
// the start, so zero means "nothing yet" in every field: minima are kept as their complements. README.md has a drawing.

/** Blocks that live are counted in the lowest bits of a u64, so many; their bytes are above. */
export const LIVE_BLOCK_BITS = 26;

/** Control block. The first 32 bytes are what every block needs. */
export const Control = {
  /** u64, bytes and blocks. */
  live: 0,
  /** u64: what was live most in the open interval, with as many blocks as can be; what is live above it is more. */
  peakLimit: 8,
  /** u64; its low half is the virtual clock. */
  allocations: 16,
  /** Number of peaks and ended intervals so far. */
  stamp: 24,
  /** Clock up to which nothing has to be looked at before a block begins: no interval ends, and there is room for the block. */
  limit: 28,
  /** u64, bytes and blocks; noticed at the first release after it. */
  peak: 32,
  recordFree: 40,
  recordNext: 44,
  highWater: 48,
  instance: 52,
  /** Bytes of slots that regions have. */
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
  /** Allocations of further contexts that go without a flush, and how many those were after the last flush that made no room. */
  flushPause: 168,
  fruitlessPause: 172,
  childrenUsed: 176,
  /** Instances so far, where several share the memory. */
  instances: 180,
  /** Number of the instance that holds the lock, 0 for none. */
  lock: 184,
  /** Rises whenever the lock is taken. */
  lockTurn: 188,
  /** f64: when the wall clock of all instances began, milliseconds of the epoch; the host's. */
  start: 200,
  /** Bytes from the base of a stack to the newest frame, at most. */
  deepest: 192,
  /** Record of the block of more than `LARGEST_UNMARKED` bytes that began last, 0 once it has ended. */
  youngest: 216,
  /** Low half of `allocations` when it began. */
  youngestNumber: 220,
  /** Address of the children's table. */
  childTable: 208,
  /** 32 without the bits of an index in it. */
  childShift: 212,
  /** u64: bytes of `earlierSized` blocks. */
  earlierBytes: 224,
  /** Releases of blocks that the memory begins with, and those of them whose size the allocator's header tells. */
  earlierFrees: 232,
  earlierSized: 236,
  /** Of `unmatchedFrees`, those of blocks that have an allocator's header. */
  unmatchedSized: 240,
  /** 32 free lists, one per power of two. */
  histogramFree: 256,
  // The heap over time.
  /** `stamp` at the last peak, and at the last end of an interval. */
  peakStamp: 384,
  intervalStamp: 388,
  /** u64: what was live most in the open interval, when a block was released or at its beginning. */
  intervalPeak: 392,
  /** u64: the clock when the open interval is due. */
  deadline: 400,
  /** u64: the clock when contexts' changes were added up last. */
  settled: 408,
  /** u64: bytes that the rare path has allocated since then. */
  unsettledBytes: 416,
  /** u64: ends of intervals, and changes that they had. */
  intervalWork: 424,
  /** u64: the clock when the first interval began. */
  intervalsFrom: 432,
  /** How often the length of intervals was doubled. */
  intervalScale: 440,
  /** Intervals that have ended. */
  intervals: 444,
  /** Changes of all intervals, and where those of the open one begin. */
  changes: 448,
  openChanges: 452,
  /** Odd while the intervals are being rewritten. */
  intervalTurn: 456,
  // Last accesses.
  /** u64: number of the next small block to be followed. */
  nextSample: 464,
  /** The one that this is, of so many on average: a power of two. */
  sampleShift: 472,
  random: 476,
  /** Entries of the table of followed blocks; 0 is none. */
  followed: 480,
  /** u64: what looking at blocks has cost, granules. */
  lookWork: 488,
  /** u64: the work at which the next look is due. */
  nextLook: 496,
  /** u64: the work at the last look. */
  lookedWork: 504,
  /** A `Fold` per granule of static data that needs one. */
  folds: 512,
  /** A `SizeClass` per power of two that blocks have. */
  sizeClasses: 2560,
  /** u64: accesses that looks found: to static data, and to blocks, estimated from those to followed ones. */
  accesses: 2944,
  /** u64: allocations until the last look, and `accesses` behind the first look that had as many. */
  lookedAllocations: 2968,
  accessesThen: 2976,
  /** u64: how many allocations there are when the next look is due, whatever was accessed. */
  nextLookNumber: 2984,
  /** A `Loop` for each group of loops that poll. */
  loops: 2992,
  /** u64: of `accesses`, those that a look found late: it was passed over where they were. */
  foundLate: 3504,
} as const;
export const CONTROL_BYTES = 4096;

/** What is known of entries of the host, where its stacks are asked for. */
export const HostEntries = {
  /** To the host: how many host frames are above the one that it is asked for. */
  above: 0,
  /** From the host: the number of a stack. */
  answer: 4,
  /** State of the random numbers. */
  random: 8,
  /** Entries with allocations whose callers were asked for, and others. */
  asked: 12,
  leftOut: 16,
  /** `HostKind` of entries, by a hash of what they call until they allocate. */
  kinds: 64,
  /** A byte per hash of a path: how often it was asked out of turn. */
  paths: 2112,
} as const;
export const HOST_ENTRIES_BYTES = 4096;

/** How one kind of entries is sampled. */
export const HostKind = {
  /** So many are left out before the next one. */
  skip: 0,
  /** u16: of 4 ** stage entries one is asked. */
  stage: 4,
  /** u16: entries asked in this stage. */
  asked: 6,
  /** u64: a bit for each caller met so far, by a hash of its number. */
  callers: 8,
} as const;
export const HOST_KIND_BYTES = 16;
export const HOST_KINDS = 128;
export const HOST_PATHS = 512;

/** Bytes of the program's stack that calls of the host have taken and not given back: this head, then the takes in their order. */
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
  /** Index of the function, in the original module, that the host called. */
  mover: 8,
  /** Number of the host's stack, 0 if the host was not asked. */
  caller: 12,
} as const;
export const STACK_TAKE_BYTES = 16;
/** A mover that is none: an exception has left the frames of the program. */
export const LEFT_BY_EXCEPTION = 0xffffffff;
/** A bound on how often the host is asked. */
export const MOST_STACK_TAKES = 4096;

/** Accesses to a granule of static data that its counter had no room for; zeros: none. */
export const Fold = {
  /** The granule's. */
  address: 0,
  /** u64 */
  accesses: 8,
} as const;
export const FOLD_BYTES = 16;
/** More accesses than a counter holds take seconds: few granules get there. What finds no room goes to other accesses. */
export const FOLD_COUNT = 128;

/** Blocks of about one size of which some are followed to their last access. */
export const SizeClass = {
  /** That live, and all so far. */
  followed: 0,
  taken: 4,
  /** One of so many is followed: a power of two. */
  shift: 8,
} as const;
export const SIZE_CLASS_BYTES = 16;
/** The smallest class has the blocks of at most `LARGEST_UNMARKED` bytes. */
export const SMALLEST_CLASS_BITS = 8;
export const SIZE_CLASSES = 24;
/** Followed blocks of a class that live; when there are more, half of them are let go. */
export const MOST_OF_CLASS = 256;

/** Loops that poll, by their number modulo `LOOPS`. */
export const Loop = {
  /** Begun so far, and those at which they look next. */
  trips: 0,
  next: 4,
} as const;
export const LOOP_BYTES = 8;
export const LOOPS = 64;

/** A live block that is followed to its last access. The first entry stands for the static data: it has `weight` and `accesses` alone. */
export const Followed = {
  /** Offset of its record. */
  record: 0,
  /** How many blocks it stands for. */
  weight: 4,
  /** Time of the look that found its counters changed last; before that, of its beginning. */
  seen: 8,
  /** u16: looks that pass it over before the next one that does not, and how many did so the last time. */
  rest: 12,
  lastRest: 14,
  /** u64: its accesses until then. */
  accesses: 16,
  /** u64: the work that was seen at its beginning, and at `seen`, there without what was found late. */
  startWork: 24,
  seenWork: 32,
} as const;
export const FOLLOWED_BYTES = 40;
export const MOST_FOLLOWED = SIZE_CLASSES * MOST_OF_CLASS + 1;

/**
 * What a context's ended blocks say of drag, forgotten with them: times and work are times sizes. All but two are u64, and those of
 * work are f64.
 */
export const Drag = {
  byteTime: 0,
  dragged: 8,
  lateBlocks: 16,
  lateBytes: 24,
  lateLastUse: 32,
  followed: 40,
  lateFollowed: 44,
  /** u64: how many blocks those that were followed stand for, and their sizes. */
  blocks: 48,
  bytes: 56,
  byteWork: 64,
  lateByteWork: 72,
  lateUsedByteWork: 80,
} as const;
export const DRAG_BYTES = 88;

/** Entry of a calling context that allocates; entry 0 is overflow. Neighbours in one group of 16 bytes are updated together as one vector. */
export const Context = {
  // What stays when the ended blocks are forgotten.
  /** u64, bytes and blocks, each modulo its bits; less what is freed it is what is live. */
  allocated: 0,
  /** `Control.stamp` at the last change. */
  stamp: 8,
  /** Address; in free entries the index of the next free one. */
  node: 12,
  /** u64, as `allocated`. */
  freed: 16,
  // What changes with every block; the rest is also in the shapes.
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
  // Only where several instances share the memory; forgotten with the ended blocks.
  /** Of the last ended block; 0 before the first. */
  allocCpu: 192,
  deallocCpu: 196,
  migrated: 200,
  sameAllocCpu: 204,
  sameDeallocCpu: 208,
  processorsEnd: 212,
  // What the host's collector gave back, by its finalizers; the host writes it, and it is forgotten with the ended blocks.
  /** u64 */
  collectedBytes: 216,
  /** u64: sum of their lifetimes. */
  collectedLifetime: 224,
  collectedBlocks: 232,
  collectedEnd: 236,
} as const;
export const CONTEXT_BYTES = 256;

/** What a context was before its last change. */
export const Past = {
  /** u64: what was live at the last peak, if something has changed since. */
  peak: 0,
  /** u64: `Context.allocated` and `Context.freed` when the changes of the open interval were added up last. */
  allocated: 8,
  freed: 16,
  /** Where its change was noted last: an index among the changes. */
  change: 24,
} as const;
export const PAST_BYTES = 32;

/** Intervals of the heap that are kept; when there are more, neighbours become one. */
export const MOST_INTERVALS = 512;
/** An interval that has ended. */
export const Interval = {
  /** u64: the clock. */
  end: 0,
  /** u64, bytes and blocks: at its end, and most inside of it, its beginning included. */
  live: 8,
  peak: 16,
  /** Index behind its last change. */
  changesEnd: 24,
  /** Index of the context of the allocation that came next. */
  next: 28,
} as const;
export const INTERVAL_BYTES = 32;

/** What one context did in one interval. */
export const Change = {
  /** Index of the context's entry. */
  context: 0,
  allocations: 4,
  /** u64. */
  allocatedBytes: 8,
  frees: 16,
  /** u64. */
  freedBytes: 24,
} as const;
export const CHANGE_BYTES = 32;
/** So many times the changes that one interval can have find room. */
export const CHANGES_PER_CONTEXT = 8;
/** What ended blocks of a context say of growth and capacity: an entry beside each context's, forgotten with the ended blocks. */
export const Growth = {
  /** Blocks at the end of a chain: others were copied into them, one after the other. */
  chains: 0,
  /** How often the contents of those were copied. */
  copies: 4,
  /** u64: bytes that were copied. */
  copiedBytes: 8,
  /** u64: sizes of the blocks at the ends. */
  finalBytes: 16,
  /** u64: of those, up to the last byte that was accessed or copied. */
  usedBytes: 24,
  mostCopies: 32,
  largestFinal: 36,
  /** u64: sizes of blocks of more than `LARGEST_UNMARKED` bytes that were accessed, ended, and did not go on in another one. */
  endedBytes: 40,
  /** u64: of those, behind the last byte that was accessed or copied. */
  unusedBytes: 48,
  endedBlocks: 56,
  /** Blocks that realloc made larger where they were, and how often. */
  steppedChains: 60,
  steps: 64,
  /** u64: of those blocks at their end, up to the last byte that was accessed or copied. */
  steppedBytes: 72,
} as const;
export const GROWTH_BYTES = 128;

/**
 * Small blocks of one context that ended with the same size and the same counters. They are only counted, with what depends on
 * their lifetimes, until another shape takes the entry and they join the context's sums. Zeros: no blocks.
 */
export const Shape = {
  /** The context's index and the size as in a slot's tag, below them whether contents live on. */
  owner: 0,
  /** Times 1000. */
  density: 4,
  /** u64: blocks with a lifetime; its highest bits are another number. */
  count: 8,
  /** u64: blocks without lifetime, which are nowhere else. */
  zero: 16,
  /** of `count` blocks.
   */
  minLifetime: 24,
  /** By how much the longest of their lifetimes is longer. */
  span: 28,
  /** 16 counters; those behind the block's are anything. */
  pattern: 32,
} as const;
export const SHAPE_BYTES = 128;
/** Bits of an entry's index. */
export const SHAPE_BITS = 12;
export const SHAPE_COUNT = 2 ** SHAPE_BITS;
/** Above these bits of a shape's count: blocks of other shapes until one of them may take the entry. */
export const SHAPE_COUNT_BITS = 62;

/** Node of the calling context tree; the first is the root. */
export const Node = {
  /** Address; in free nodes that of the next free one. */
  parent: 0,
  site: 4,
  /** Address. */
  mib: 8,
  mark: 12,
  /** The allocating call that was looked for last, and its context; in native programs any call, and its node. */
  lastSite: 16,
  lastMib: 20,
  /** The one before it. */
  otherSite: 24,
  otherMib: 28,
} as const;
export const NODE_BYTES = 32;
/** In the place of `mib`, where a node stands for the host, which allocates nothing itself. */
export const HostNode = {
  /** How many entries it is of. */
  entries: 8,
} as const;

/** Open addressing: (parent, site) → node, and its context once it was asked for. */
export const Child = {
  parent: 0,
  site: 4,
  node: 8,
  mib: 12,
} as const;
export const CHILD_BYTES = 16;
/** Entries of the first table of children: most programs need no page more. */
export const FIRST_CHILDREN = 256;

/** Bits of an address within its region of program memory, and within its slot. */
export const REGION_BITS = 16;
export const SLOT_BITS = 4;
export const SLOT_BYTES = 8;
export const SLOT_REGION_BYTES = 2 ** (REGION_BITS - SLOT_BITS) * SLOT_BYTES;
/** Slot of the live block that starts in its bytes. One that has never had a block is zero. */
export const Slot = { time: 0, tag: 4 } as const;
/**
 * What a slot's tag is: 0 for no block, or the index of its context, its size, and where in its 16 bytes it begins; or with the
 * highest bit the index of the first in a chain of records. The owner of a shape is alike.
 */
export const Tag = {
  recorded: 0x80000000,
  contextShift: 14,
  sizeShift: 4,
  sizeMask: 1023,
  /** Bits of the address; where slots are for more than 16 bytes, without the lowest ones, which are 0. */
  placeMask: 15,
  /** Contexts with an index from here on have records for all their blocks. */
  contexts: 131072,
} as const;

/** Live block that no slot can hold; the first record stands for none. */
export const Record = {
  address: 0,
  /** Offset of the next record of the slot, or of the next free one. */
  next: 4,
  /** Address. */
  mib: 8,
  time: 12,
  size: 16,
  /** Where several instances share the memory: the one that allocated. */
  owner: 20,
  /** In native programs, the high half of the address. */
  addressHigh: 20,
  /** u64: accesses that a counter had no room for. */
  folded: 24,
  /** How often the contents were copied from block to block until they were here; 0 for most, or `WENT_ON`. */
  copies: 32,
  /** Bytes at the block's start that were there when it began. */
  carried: 36,
  /** u64: bytes that were copied. */
  copiedBytes: 40,
  /** Index among the followed blocks; 0: it is none of them. */
  followed: 48,
  /** How often it was made larger where it was, and the blocks before it. */
  steps: 52,
} as const;
export const RECORD_BYTES = 56;
/** In the place of a record's copies: the contents were copied into another block, and a collector frees this one some day. */
export const WENT_ON = 0xffffffff;

/** Accesses as far apart as this, or farther, never share a counter: a counter says where it was to that many bytes. */
export const MERGED_BYTES = 512;

/** Blocks with at most this many bytes, so at most 16 counters, have a shape. */
export const LARGEST_SMALL = 128;
/** Blocks with at most this many bytes have no marks, and fit a slot; others have a record. */
export const LARGEST_UNMARKED = 511;
