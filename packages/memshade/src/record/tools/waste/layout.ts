// Layout of the waste tool's memory, for the code that writes it and the code that reads it. README.md has a drawing.
// The addresses of the tables depend on the profiled module: see `memory-plan.ts`.

export const Control = {
  /** Sites of the current bulk instruction or host call. */
  storeSite: 0,
  loadSite: 4,
  /** Largest size of the program's memory so far, pages. */
  pages: 8,
  /** Accesses above COVERED. */
  outside: 12,
  nodeNext: 20,
  storeKeys: 24,
  loadKeys: 28,
  pairsUsed: 32,
  pairsLost: 36,
  keysLost: 40,
  blockNext: 44,
  blockFree: 48,
  /** Code offset of the current call of the allocator, 0: unknown. */
  allocationSite: 52,
  sitesNext: 56,
  /** Number of keys of sites that allocate, free or return. */
  places: 60,
  /** 16 bytes: the operand's bytes before a store. */
  scratch: 64,
  /** Store site of the current call of calloc, 0: unknown. */
  zeroedSite: 80,
  /** Code offset of the instruction that moves the stack pointer. */
  returnSite: 84,
  /** u64: number of accesses so far, counted only with objects. */
  clock: 88,
  allocationNode: 96,
  /** Refused requests for more memory than is covered. */
  refused: 116,
  /** Largest size that they requested, pages. */
  asked: 100,
  /** Length of the list of dirty lines in memory.ts. */
  dirtyLines: 112,
  /** Two words of `contexts/layout.ts`, used with frames. */
  hostWord: 120,
  /** `Slot` of frames for calls from outside. */
  rootSlot: 128,
  frameNext: 144,
  /** Size of the memory when an opaque host was last in control, bytes. */
  hostEnd: 160,
  fatesNext: 164,
  path: 192,
  streams: 512,
  /** Bytes of a data segment that memory.init is about to copy. */
  initBytes: 1024,
  /** 12 pairs of words for loops.ts: where each stream ended, and its stride. */
  ends: 4352,
} as const;
export const CONTROL_BYTES = 8192;
/** Bytes of a data segment, or of a write by the host, that are compared at a time. */
export const INIT_BUFFER_BYTES = 2048;

/**
 * Fields of a store's record: a u64 each, except `node` and `site`. Summary mode has those up to `same`. Plain stores
 * have a constant size; their `written` counts how often the loop around them began.
 */
export const Store = {
  stores: 0,
  read: 8,
  deallocated: 16,
  silent: 24,
  hostRead: 32,
  written: 40,
  silentBytes: 48,
  same: 56,
  overwritten: 64,
  overZero: 72,
  approximate: 80,
  begun: 88,
  node: 96,
  site: 100,
  lanes: 104,
  overSegment: 112,
  /** Memo of the pair with an overwritten store: see state.ts. */
  pair: 120,
} as const;

/**
 * Fields of a load's record. Summary mode has those up to `silent`. Plain loads use `bytes` as plain stores use
 * `written`.
 */
export const Load = {
  loads: 0,
  fresh: 8,
  bytes: 16,
  silent: 24,
  redundant: 32,
  redundantBytes: 40,
  zeroBytes: 48,
  approximate: 56,
  node: 96,
  site: 100,
  pair: 104,
  /** Number of times that the loop around it began. */
  begun: 112,
} as const;
export const RECORD_BYTES = 128;

/** Bytes per id of the counts of reads; bytes per store of the words that hold its id four times. */
export const READS_BYTES = 8;
export const STORE_IDS_BYTES = 8;
/** Bytes of program memory in a dirty line, as a shift. */
export const DIRTY_LINE_SHIFT = 8;

export const MOST_STREAMS = 12;

/**
 * Header of a loop in the table. `streams`: its number of accesses. `runs`: offset of the count of its block's runs
 * from the base of counters. `open`: runs that have begun and not ended. `site`: its first site; the others follow it.
 * Two words per access come next: flags with the key, and the stride.
 */
export const Loop = { streams: 0, runs: 4, open: 8, site: 12 } as const;
export const LOOP_BYTES = 16;
export const LOOP_STREAM_BYTES = 8;
export const STREAM_END_BYTES = 8;

/** Kinds of pairs. An entry has first, second, kind, unused, u64 bytes, u64 operations. */
export const Pair = {
  overwritten: 1,
  deallocated: 2,
  returned: 3,
  silent: 4,
  redundant: 5,
  into: 6,
  /** Site that reallocates, and `GREW` or `MOVED`. */
  reallocated: 7,
  /** Store, or load, and the allocation site of the block that it accesses. */
  writesInto: 8,
  readsFrom: 9,
} as const;
export const PAIR_BYTES = 32;
export const GREW = 1;
export const MOVED = 2;

export const Block = {
  address: 0,
  size: 4,
  site: 8,
  next: 12,
  flags: 16,
  /** Store key of the zeros that the block was handed out with. */
  zeroedBy: 20,
  born: 24,
  first: 32,
  last: 40,
  low: 48,
  high: 52,
} as const;
export const BLOCK_BYTES = 64;
/**
 * Flags of a block: read, written, live, read because a reallocation moved it, written before a reallocation moved it
 * here.
 */
export const BlockFlag = { read: 1, written: 2, live: 4, carriedOn: 8, carriedIn: 16 } as const;

/** Header of an allocation site: sums over its blocks. Counts per offset follow. */
export const ObjectSite = {
  site: 0,
  size: 4,
  objects: 8,
  bytes: 16,
  dead: 24,
  varies: 32,
  smallest: 36,
  live: 40,
  peak: 48,
  ended: 56,
  usefulLifetime: 64,
  /** Bytes touched in ended blocks that were both read and written. */
  touched: 72,
  span: 80,
  lifetime: 88,
} as const;
export const OBJECT_SITE_HEADER_BYTES = 128;
/** Counts of one offset, a u32 each. */
export const OffsetCount = { reads: 0, writes: 4, overwritten: 8, deallocated: 12, silent: 16 } as const;
export const OFFSET_BYTES = 20;
/** Offsets with counts of their own. One more entry counts all offsets after them. */
export const OFFSETS = 4096;
export const OBJECT_SITE_BYTES = OBJECT_SITE_HEADER_BYTES + (OFFSETS + 1) * OFFSET_BYTES;

/** Value that a load found again: its bytes, its count, and the possible error of the count. */
export const Value = { lower: 0, upper: 8, count: 16, error: 24 } as const;
export const VALUE_BYTES = 32;
export const VALUES_OF_LOAD = 8;
export const VALUES_BYTES = VALUES_OF_LOAD * VALUE_BYTES;

/** Callers in a call path of an allocation, the innermost first. */
export const PATH_FRAMES = 14;
/** Call path of allocations: a hash of its code offsets, their number, and the offsets. */
export const Path = { hash: 0, frames: 4, places: 8 } as const;
export const PATH_BYTES = 64;
/** Flag in the number of a block's path: the block was copied to another block of the path, and so was read. */
export const CARRIED_ON = 0x8000;
/** Bytes of a granule in summary mode, as a shift. */
export const GRANULE_SHIFT = 2;
/** Accesses to a granule in any of the blocks of one path. */
export const GranuleFate = { read: 1, written: 2 } as const;
/** Blocks of one path in summary mode: sums over the ended blocks, and a byte per granule with its fate. */
export const PathBlocks = {
  blocks: 0,
  bytes: 8,
  /** Blocks that were stored to and never read, and their bytes. */
  unread: 16,
  unreadBytes: 24,
  /** Bytes of granules that were stored to and never read, in all blocks. */
  unreadGranules: 32,
  size: 40,
  smallest: 44,
  /** Address of the fates, and the number of granules that they have room for. Granules after those have no fate. */
  fates: 48,
  granules: 52,
} as const;
export const PATH_BLOCKS_BYTES = 64;
/** Largest number of granules with fates of one block. */
export const MOST_GRANULES = 262_144;
