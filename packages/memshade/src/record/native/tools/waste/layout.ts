/**
 * Where everything of the tool lies in a native process. Inserted code reaches all of it with 32 bits, and no base register:
 *
 *     ARENA .. SLOTS_END   slots of sites and blocks, 8 bytes each; a file has its own from where its plan begins
 *     .. TABLES_END        a word per id for each of the tables below
 *     SHADOW ..            two bytes per byte of the program
 *
 * SBCL has what it cannot move between 0x5000_0000 and 0x5ac0_0000.
 */
export const ARENA = 0x5b00_0000;
/** Where the words of slow paths begin, of which this tool has none. */
export const TABLES_END = 0x7ff0_0000;
export const SLOT_BYTES = 8;

/** As many numbers have 16 bits. */
const IDS = 65_536;
const WORD_TABLE_BYTES = IDS * 8;
/** Bytes of a store's that were overwritten before anybody read them: a u64 per id. */
export const DEAD = TABLES_END - 3 * WORD_TABLE_BYTES;
/** The same of bytes whose block was freed. */
export const DEALLOCATED = DEAD + WORD_TABLE_BYTES;
/** A u32 per id: address of the slot of the store that has it. */
export const SLOT_OF_ID = DEALLOCATED + WORD_TABLE_BYTES;
/** A u32: how many ids were assigned. Behind the last id's slot. */
export const NEXT_ID = SLOT_OF_ID + IDS * 4;
/** A u64: system calls of which nobody knows what memory they reach. */
export const UNKNOWN_CALLS = NEXT_ID + 8;
/**
 * Blocks that were sampled, by the context they ran in: a head, a table of places by a hash, and one `Sampled` for each. Places are distances from
 * here.
 */
export const SAMPLED_BYTES = 2 ** 26;
export const SAMPLED = DEAD - SAMPLED_BYTES;
export const SampledHead = {
  /** u32: bytes that are taken, and ids. */
  next: 0,
  ids: 4,
  /** u64: samples that found no room, no id or no context, and those that came from inside of a hook. */
  refused: 8,
  /** u32 per hash; 0: nothing. */
  table: 64,
} as const;
export const SAMPLED_HASH_BITS = 18;
export const Sampled = {
  /** u32: the node of the calling context tree, whose site is in the block, or a caller's site; address of the block's slot. */
  context: 0,
  block: 4,
  /** u32: the id of its first store, the others have those behind it; how many stores, and loads. */
  firstId: 8,
  stores: 12,
  loads: 14,
  /** u64: samples, and runs that they stand for. */
  samples: 16,
  runs: 24,
  /** u64 each: silent stores, or bytes of a string instruction; then the words of loads and string instructions. */
  counts: 32,
} as const;
/** One of so many runs of a block is sampled, as a rule. */
export const SAMPLE_PERIOD = 1024;
/** Behind the last slot that a file can have. */
export const SLOTS_END = SAMPLED;

/** The words of a program's byte lie at `SHADOW + word(address)`. */
export const SHADOW = 0x7fff_8000;
/** Of an address so many bits count: regions of a process, from `0x55…` and from `0x7f…`, differ in the lower ones. */
export const ADDRESS_BITS = 44;
export const SHADOW_BITS = ADDRESS_BITS + 1;

// What a word of the shadow says, as summary mode has it for WebAssembly. 0: memory as the system, the loader, or somebody else gave it.
// Then the store that has this id, unread; a store without an id of its own; nobody's. All ones: read since it was written.
export const UNTOUCHED = 0;
export const FIRST_ID = 1;
export const LAST_ID = 0xfffb;
export const OVERFLOW = 0xfffc;
export const INVALID = 0xfffe;
export const READ_WORD = 0xffff;

/** Words of a store's slots: its id, four times; silent stores. */
export const STORE_SLOTS = 2;
/** Of a load: loads that found something new. */
export const LOAD_SLOTS = 1;
/**
 * Words of a string instruction in place of that: loads that found something new, and bytes that were read; silent stores, and their bytes. The word
 * behind its store's id has the bytes that were written.
 */
export const STRING_SLOTS = 4;
export const StringSlots = { fresh: 0, read: 8, silent: 16, silentBytes: 24 } as const;
/** Of a block with accesses: how often it ran, from 0 downwards. */
export const BLOCK_SLOTS = 1;
/** Of a block that is sampled: runs until something is to be done, downwards; the other words are here. */
export const SAMPLED_BLOCK_SLOTS = 5;
export const SampledBlock = {
  /** Runs so far, and those to come before something is to be done. */
  runs: 8,
  /** Address of the `Sampled` whose ids its stores have just now; 0: they have their own. */
  current: 16,
  /** Runs between the last sample and the next one. */
  gap: 24,
  /** The id of its first store; the others have those behind it. */
  base: 32,
} as const;
/** Stores that were sampled have ids from `LAST_ID` downwards, so many at most; those that are not, from `FIRST_ID` upwards. */
export const MOST_SAMPLED_IDS = 0x8000;
