// Where things are in the waste tool's memory, for the code that fills it and for the one that reads it. README.md has a drawing.
// Where the tables themselves begin depends on the profiled module: `memory-plan.ts`.

/** The control block, bytes from its address. */
export const Control = {
  /** Sites of the bulk instruction or host call at hand. */
  storeSite: 0,
  loadSite: 4,
  /** Largest size of the program's memory seen, in pages. */
  pages: 8,
  /** Events above COVERED. */
  outside: 12,
  nodeNext: 20,
  storeKeys: 24,
  loadKeys: 28,
  pairsUsed: 32,
  pairsLost: 36,
  keysLost: 40,
  blockNext: 44,
  blockFree: 48,
  /** Code offset of the call of the allocator at hand, 0: unknown. */
  allocationSite: 52,
  sitesNext: 56,
  /** Keys of places that allocate, free or return. */
  places: 60,
  /** 16 bytes: the operand's bytes before a store. */
  scratch: 64,
  /** Store site of the call of calloc at hand, 0: unknown. */
  zeroedSite: 80,
  /** Code offset of the place that moves the stack pointer. */
  returnSite: 84,
  /** u64: accesses so far, where objects are asked for. */
  clock: 88,
  /** Context of the place at `allocationSite`. */
  allocationNode: 96,
  /** Requests for more memory than is followed, which were refused. */
  refused: 116,
  /** The most pages that they asked for. */
  asked: 100,
  /** Lines in the list of memory.ts. */
  dirtyLines: 112,
  /** Two words of `contexts/layout.ts`: where the host is, where frames are told apart. */
  hostWord: 120,
  /** A `Slot` of frames: that of whoever calls from outside. */
  rootSlot: 128,
  frameNext: 144,
  /** How large the memory was when an opaque host was last in control, bytes. */
  hostEnd: 160,
  /** Where the next fates of granules go. */
  fatesNext: 164,
  /** Places of the path at hand. */
  path: 192,
  /** 12 records of loops.ts. */
  streams: 512,
  /** Bytes of a data segment that memory.init is about to put into memory. */
  initBytes: 1024,
  /** 12 pairs of words: loops.ts. */
  ends: 4352,
} as const;
export const CONTROL_BYTES = 8192;
/** Bytes of a data segment, or of what the host writes, that are compared at a time. */
export const INIT_BUFFER_BYTES = 2048;

/**
 * What is counted of a store: a u64 each, but for `node` and `site`. Summary mode has those up to `same`, and sizes are known of plain
 * stores: `written` of one counts how often the loop around it has begun.
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
  /** How often the loop around it has begun. */
  begun: 88,
  node: 96,
  site: 100,
  lanes: 104,
  overSegment: 112,
  /** Memo of a pair with what it overwrites: state.ts. */
  pair: 120,
} as const;

/** The same of a load. Summary mode has those up to `silent`; `bytes` is as `written` of a store. */
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
  /** Memo of a redundant pair: state.ts. */
  pair: 104,
  /** How often the loop around it has begun. */
  begun: 112,
} as const;
/** Bytes of a record in precise mode. */
export const RECORD_BYTES = 128;

/** Bytes per id of what counts reads; of the words with an id four times. */
export const READS_BYTES = 8;
export const STORE_IDS_BYTES = 8;
/** Bytes of program memory that are dirty or clean together, as a shift. */
export const DIRTY_LINE_SHIFT = 8;

/** Streams of one loop, and bytes in which it says where each ended. */
export const MOST_STREAMS = 12;

/**
 * A loop in the table of those that are followed as a whole: how many accesses it has; where the runs of its block are counted, from
 * the base of counters; runs that have begun and not ended; its first site, the others are those behind it. Two words per access
 * follow: what it is, and its stride.
 */
export const Loop = { streams: 0, runs: 4, open: 8, site: 12 } as const;
export const LOOP_BYTES = 16;
export const LOOP_STREAM_BYTES = 8;
export const STREAM_END_BYTES = 8;

/** Kinds of pairs, each (first, second, kind, unused, u64 bytes, u64 operations). */
export const Pair = {
  overwritten: 1,
  deallocated: 2,
  returned: 3,
  silent: 4,
  redundant: 5,
  /** A writer of dead bytes and the allocation site of their block. */
  into: 6,
  /** A place that reallocates, and `grew` or `moved`. */
  reallocated: 7,
  /** A store, or a load, and the allocation site of the block that it goes to. */
  writesInto: 8,
  readsFrom: 9,
} as const;
export const PAIR_BYTES = 32;
export const GREW = 1;
export const MOVED = 2;

/** A block of the heap. */
export const Block = {
  address: 0,
  size: 4,
  site: 8,
  /** Of a free block. */
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
/** Flags of a block: read, written, not ended yet, read by what it was moved to, written before it was moved here. */
export const BlockFlag = { read: 1, written: 2, live: 4, carriedOn: 8, carriedIn: 16 } as const;

/** A place that allocates: sums over its blocks, then counts per offset. */
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
  /** f64: sum over ended blocks. */
  usefulLifetime: 64,
  /** Bytes touched in ended blocks that were both read and written. */
  touched: 72,
  span: 80,
  /** Sum of lifetimes of ended blocks, accesses. */
  lifetime: 88,
} as const;
export const OBJECT_SITE_HEADER_BYTES = 128;
/** Counts of one offset, a u32 each. */
export const OffsetCount = { reads: 0, writes: 4, overwritten: 8, deallocated: 12, silent: 16 } as const;
export const OFFSET_BYTES = 20;
/** Offsets that are told apart; one more entry has what lies behind. */
export const OFFSETS = 4096;
export const OBJECT_SITE_BYTES = OBJECT_SITE_HEADER_BYTES + (OFFSETS + 1) * OFFSET_BYTES;

/** A value that a load found again: its bytes, how often, and how often nearly so. */
export const Value = { lower: 0, upper: 8, count: 16, error: 24 } as const;
export const VALUE_BYTES = 32;
/** Values that are counted of one load. */
export const VALUES_OF_LOAD = 8;
export const VALUES_BYTES = VALUES_OF_LOAD * VALUE_BYTES;

/** Calls of the allocator that are told apart by this many callers, the innermost first. */
export const PATH_FRAMES = 14;
/** A path of calls below which blocks are asked for: a hash of its places, how many there are, and their code offsets. */
export const Path = { hash: 0, frames: 4, places: 8 } as const;
export const PATH_BYTES = 64;
/** Beside the number of a block's path: it was copied to another block of that, and so was read. */
export const CARRIED_ON = 0x8000;
/** Bytes of a block that are told apart in summary mode, as a shift. */
export const GRANULE_SHIFT = 2;
/** What happened to a granule of the blocks of one path, in any of them. */
export const GranuleFate = { read: 1, written: 2 } as const;
/** The blocks of one path in summary mode: those that have ended, sums over them, and a byte per granule with their fates. */
export const PathBlocks = {
  blocks: 0,
  bytes: 8,
  /** Blocks that were stored to and never read, and their bytes. */
  unread: 16,
  unreadBytes: 24,
  /** Bytes of granules that were stored to and never read, of all blocks. */
  unreadGranules: 32,
  size: 40,
  smallest: 44,
  /** Address of the fates, and how many there is room for; what lies behind is not told apart. */
  fates: 48,
  granules: 52,
} as const;
export const PATH_BLOCKS_BYTES = 64;
/** Granules of one block that are told apart at most. */
export const MOST_GRANULES = 262_144;
