/**
 * Addresses of the tool in a native process. Inserted code reaches all of them with 32-bit displacements and no base
 * register:
 *
 *     ARENA .. SLOTS_END   slots of sites and blocks, 8 bytes each; each file has a range of its own
 *     .. TABLES_END        a word per id for each of the tables below
 *     SHADOW ..            two bytes per byte of the program
 *
 * SBCL needs the range from 0x5000_0000 to 0x5ac0_0000 at fixed addresses.
 */
export const ARENA = 0x5b00_0000;
/** End of the tables. Words of slow paths, which this tool does not have, would begin here. */
export const TABLES_END = 0x7ff0_0000;
export const SLOT_BYTES = 8;

const IDS = 65_536;
const WORD_TABLE_BYTES = IDS * 8;
/** Bytes that a store wrote and that were overwritten unread: a u64 per id. */
export const DEAD = TABLES_END - 3 * WORD_TABLE_BYTES;
/** Bytes that a store wrote and that were unread when their block or frame ended: a u64 per id. */
export const DEALLOCATED = DEAD + WORD_TABLE_BYTES;
/** Address of the slot of the store that has the id: a u32 per id. */
export const SLOT_OF_ID = DEALLOCATED + WORD_TABLE_BYTES;
/** Number of assigned ids, a u32. It follows the slot of the last id. */
export const NEXT_ID = SLOT_OF_ID + IDS * 4;
/** System calls whose memory accesses are unknown, a u64. */
export const UNKNOWN_CALLS = NEXT_ID + 8;
/**
 * Sampled blocks by the context in which they ran: a head, a hash table of offsets, and one `Sampled` for each block
 * and context. Offsets are relative to `SAMPLED`.
 */
export const SAMPLED_BYTES = 2 ** 26;
export const SAMPLED = DEAD - SAMPLED_BYTES;
export const SampledHead = {
  /** u32 each: bytes in use, ids in use. */
  next: 0,
  ids: 4,
  /** u64: samples dropped for lack of room, of an id or of a context, or because they came from inside a hook. */
  refused: 8,
  /** u32 per hash; 0: empty. */
  table: 64,
} as const;
export const SAMPLED_HASH_BITS = 18;
export const Sampled = {
  /**
   * u32 each: node of the calling context tree whose site is in the block, or a caller's site; address of the block's
   * slot.
   */
  context: 0,
  block: 4,
  /**
   * u32: id of its first store, followed by those of the other stores. Then u16 each: numbers of stores and of loads.
   */
  firstId: 8,
  stores: 12,
  loads: 14,
  /** u64 each: samples, and the runs that they represent. */
  samples: 16,
  runs: 24,
  /**
   * u64 each: per store, silent stores or bytes of a string instruction; then the words of loads and string
   * instructions.
   */
  counts: 32,
} as const;
/** Mean number of runs of a block per sample. */
export const SAMPLE_PERIOD = 1024;
/**
 * Blocks that are followed from their allocation to their end: a head with a hash table of live ones by address, a hash
 * table of sites, and the sites. Offsets are relative to `FOLLOWED`.
 */
export const FOLLOWED_BYTES = 2 ** 24;
export const FOLLOWED = SAMPLED - FOLLOWED_BYTES;
/** Blocks at the start of a program that are all followed. */
export const FIRST_BLOCKS = 4096;
export const FollowedHead = {
  /** u64 each: blocks so far, the last followed, the next to follow, and blocks left out for lack of room. */
  blocks: 0,
  last: 8,
  next: 16,
  refused: 24,
  /** u32: number of sites. */
  sites: 32,
  /** `LiveBlock` per hash. */
  live: 64,
} as const;
export const LIVE_BITS = 16;
export const LiveBlock = {
  /** u64: 0 if the entry is free. */
  address: 0,
  /** u32 each: offset of its site; size. */
  site: 8,
  size: 12,
  /** u64: number of blocks that it stands for. */
  weight: 16,
} as const;
export const LIVE_BYTES = 24;
/** A u32 per hash of a node: offset of its site, 0 if there is none. The sites follow. */
export const FOLLOWED_SITES = FOLLOWED + FollowedHead.live + LIVE_BYTES * 2 ** LIVE_BITS;
export const FOLLOWED_SITES_BITS = 14;
/** Bytes at the start of each block that are followed. */
export const MOST_FOLLOWED = 4096;
/** Ended blocks of a call path. */
export const FollowedSite = {
  /** u32 each: node of the calling context tree, smallest and largest size. */
  node: 0,
  smallest: 4,
  largest: 8,
  /** u64 each: number and bytes of the blocks that the followed ones stand for. */
  blocks: 16,
  bytes: 24,
  /** u64 each: those that were stored to and never loaded; bytes of all blocks that were. */
  unread: 32,
  unreadBytes: 40,
  neverRead: 48,
  /** A byte per 4 bytes of a block (`Fate`). */
  fates: 56,
} as const;
export const Fate = { read: 1, written: 2 } as const;
export const FOLLOWED_SITE_BYTES = FollowedSite.fates + MOST_FOLLOWED / 4;
export const SLOTS_END = FOLLOWED;

/** The words of a program's byte lie at `SHADOW + word(address)`. */
export const SHADOW = 0x7fff_8000;
/** Number of address bits that are used. Regions at `0x55…` and at `0x7f…` also differ in these lower bits. */
export const ADDRESS_BITS = 44;
export const SHADOW_BITS = ADDRESS_BITS + 1;

/**
 * Marks begin at the address with this bit: a byte per 4 bytes of the program, 1 once any of them was loaded. Only marks
 * of followed blocks are cleared, when the block begins. The mark of a byte lies at an eighth of the offset of its words.
 */
export const MARKS_BIT = 46;
export const MARK_SHIFT = 3;
export const MARKED_BYTES = 4;
export const MARK_BITS = ADDRESS_BITS - 2;

// Values of shadow words, as in summary mode for WebAssembly. 0: memory as the system, the loader or foreign code
// provided it. First to last id: bytes stored by the store with that id, unread. `OVERFLOW`: bytes of a store without
// an id. `INVALID`: freed, or part of a frame that ended. `READ_WORD`: read since they were written.
export const UNTOUCHED = 0;
export const FIRST_ID = 1;
export const LAST_ID = 0xfffb;
export const OVERFLOW = 0xfffc;
export const INVALID = 0xfffe;
export const READ_WORD = 0xffff;

/** Words of a store's slots: its id, four times; number of silent stores. */
export const STORE_SLOTS = 2;
/** Words of a load's slot: number of loads that found unread bytes. */
export const LOAD_SLOTS = 1;
/**
 * Words of a string instruction, instead of a load's: loads that found unread bytes, bytes read, silent stores, bytes
 * of silent stores. The word after its store's id counts the bytes written.
 */
export const STRING_SLOTS = 4;
export const StringSlots = { fresh: 0, read: 8, silent: 16, silentBytes: 24 } as const;
/** Words of a block with accesses: its runs, counted from 0 downwards. */
export const BLOCK_SLOTS = 1;
/** Words of a sampled block: first a countdown of runs until the next action, then the words below. */
export const SAMPLED_BLOCK_SLOTS = 5;
export const SampledBlock = {
  /** Runs so far, including the remaining runs of the countdown. */
  runs: 8,
  /** Address of the `Sampled` whose ids its stores have at the moment; 0: they have their own ids. */
  current: 16,
  gap: 24,
  /** Id of its first store, followed by those of the other stores. */
  base: 32,
} as const;
/**
 * Limit of ids for sampled stores, which are assigned from `LAST_ID` downwards. Other stores have ids from `FIRST_ID`
 * upwards.
 */
export const MOST_SAMPLED_IDS = 0x8000;
