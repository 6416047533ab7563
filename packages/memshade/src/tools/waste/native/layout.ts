/**
 * Where everything of the tool lies in a native process. Inserted code reaches all of it with 32 bits, and no base register:
 *
 *     ARENA .. SLOTS_END   slots of sites and blocks, 8 bytes each; a file has its own from where its plan begins
 *     .. TABLES_END        a word per id for each of the tables below
 *     SHADOW ..            two bytes per byte of the program
 */
export const ARENA = 0x5000_0000;
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
/** What the process has mapped when it exits, as the kernel tells it: lines, and zeros behind them. */
export const MAPS_BYTES = 2 ** 18;
export const MAPS = DEAD - MAPS_BYTES;
/** Behind the last slot that a file can have. */
export const SLOTS_END = MAPS;

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
/** Of a block with accesses: how often it ran, from 0 downwards. */
export const BLOCK_SLOTS = 1;
