// Tables behind those of the working set (and of the locality). Addresses depend on the profiled module: they are imports
// here and become constants when this code is merged into it. `tools/working-set/pass/attribution-layout.ts` places them.
//
//   TOUCHERS     u32 per line: key of what touched it first in the open interval, 0 for nothing yet
//   BYTES        u8 per byte of the program's memory below COVERED: 1 if it was touched in the open interval; 2 if only
//                before the block came that it lies in
//   BYTE_STAMPS  u16 per byte: number of the last interval that touched it, plus one; 0 for never
//   STARTS       u32 per 8 bytes: the block that starts there
//   FIRSTS       u32 per line: the block that the line's first byte lies in, if it starts before
//   BLOCKS       B_* : blocks by number, from 1
//   SETTLED      T_* : touched bytes of blocks that were freed in the open interval
//   HEADS        u32 per line: its first entry of SETTLED
//   OWNED        O_* : whose the bytes of lines were when they were touched last. The first entries are those of the lines,
//                by their numbers; those behind belong to lines that need several
//   TABLE        E_* : what the open interval's lines add up to, while they are looked at; open addressing
//   USED         u32 per entry of TABLE in use, in order
//   LISTS        per snapshot: u32 number of entries, u32 unused, the entries
//   FRAMES …     calling contexts: ../frames
//
// A key is an address in a frame: for an instruction that touches memory, as far behind the header as the instruction is
// from the function's first; for a call that allocates, that of its slot. Small keys are what has no place.

@external("layout", "FIRST_TOUCH")
export declare const FIRST_TOUCH: u32;
@external("layout", "FILL")
export declare const FILL: u32;
@external("layout", "OWNERS")
export declare const OWNERS: u32;
/** Bytes of the program's memory that tables with something per byte have room for. */
@external("layout", "COVERED")
export declare const COVERED: u32;
@external("layout", "TOUCHERS")
export declare const TOUCHERS: u32;
@external("layout", "BYTES")
export declare const BYTES: u32;
@external("layout", "BYTE_STAMPS")
export declare const BYTE_STAMPS: u32;
@external("layout", "STARTS")
export declare const STARTS: u32;
@external("layout", "FIRSTS")
export declare const FIRSTS: u32;
@external("layout", "HEADS")
export declare const HEADS: u32;
@external("layout", "BLOCKS")
export declare const BLOCKS: u32;
@external("layout", "BLOCK_CAPACITY")
export declare const BLOCK_CAPACITY: u32;
@external("layout", "SETTLED")
export declare const SETTLED: u32;
@external("layout", "SETTLED_CAPACITY")
export declare const SETTLED_CAPACITY: u32;
@external("layout", "OWNED")
export declare const OWNED: u32;
/** Entries of OWNED, with the first ones. */
@external("layout", "OWNED_CAPACITY")
export declare const OWNED_CAPACITY: u32;
@external("layout", "TABLE")
export declare const TABLE: u32;
@external("layout", "TABLE_MASK")
export declare const TABLE_MASK: u32;
@external("layout", "USED")
export declare const USED: u32;
@external("layout", "LISTS")
export declare const LISTS: u32;
/** Lists of entries end here; behind is room for what has no room, OTHERS alone, of all snapshots. */
@external("layout", "LISTS_LIMIT")
export declare const LISTS_LIMIT: u32;
@external("layout", "LISTS_END")
export declare const LISTS_END: u32;
@external("layout", "STATE")
export declare const STATE: u32;
/** Global in which whoever calls leaves the address of the slot, as far as it is known. */
@external("layout", "slot")
export declare function slot(): u32;

// State.
export const A_KEY: usize = 0; // what a bulk instruction or the host's accesses are charged to
export const A_REQUEST: usize = 4; // slot of the call that allocates, 0: not known
export const A_BLOCK_NEXT: usize = 8; // blocks numbered so far
export const A_BLOCK_FREE: usize = 12; // list of numbers to use again
export const A_SETTLED: usize = 16; // entries of SETTLED in use
export const A_LISTS: usize = 20; // bytes of LISTS in use
export const A_USED: usize = 24; // entries of TABLE in use
export const A_NODE_NEXT: usize = 28; // last node of the calling context tree
export const A_FRAME_NEXT: usize = 32; // where the next frame begins
export const A_HOST_WORD: usize = 40; // as the heap profiler's: where the host is
export const A_ENTRY_WORD: usize = 44;
export const A_ROOT_SLOT: usize = 48; // 16 bytes: the slot of whoever calls from outside
export const A_BLOCKS_LOST: usize = 64; // blocks that found no room
export const A_SETTLED_LOST: usize = 68; // pieces of freed blocks that found no room
export const A_LISTS_LOST: usize = 72; // snapshots that found no room for their entries
export const A_KEYS_LOST: usize = 76; // touches without room for their own entry
export const A_OWNED_NEXT: usize = 80; // entries of OWNED behind the first ones that were ever in use
export const A_OWNED_FREE: usize = 84; // list of those to use again
export const A_OWNED_LOST: usize = 88; // pieces of lines that found no room there
export const A_BYTE_COUNTS: usize = 128; // u32 per bucket: bytes of the interval at hand
export const A_LAST: usize = 256; // per kind: key, tag and address of the entry that was added to last
export const LAST_SIZE: u32 = 16;
export const A_PARTS: usize = 512; // whose the bytes of the line at hand are: key and mask, as many as there are bytes
export const A_WEIGHTS: usize = 1536; // what the line at hand adds to keys: key and weight, two for each byte

// Keys without a place.
export const NO_KEY: u32 = 0;
export const STACK_KEY: u32 = 1;
export const STATIC_KEY: u32 = 2;
export const HEAP_KEY: u32 = 3;
export const HOST_KEY: u32 = 4;
export const OTHERS: u32 = 5;
export const BYTES_KEY: u32 = 6;
export const UNKNOWN_SITE: u32 = 7;

// What entries tell, and their buckets.
export const TOUCH_KIND: u32 = 1;
export const SHARE_KIND: u32 = 2;
export const FILL_KIND: u32 = 3;

export const E_KEY: usize = 0;
export const E_TAG: usize = 4; // kind << 8 | bucket; 0 for an empty entry
export const E_WEIGHT: usize = 8; // f64
export const ENTRY_SIZE: u32 = 16;

export const B_ADDRESS: usize = 0;
export const B_SIZE: usize = 4;
export const B_KEY: usize = 8;
export const B_NEXT: usize = 12; // in the list of free numbers
export const BLOCK_SIZE: u32 = 16;

// Entries of one line have different bytes, but for what was touched in no block since: that is told apart.
export const O_KEY: usize = 0;
export const O_NEXT: usize = 4; // entry of the same line, 0 for none
export const O_MASK: usize = 8; // u64; 0: nothing
export const O_STAMP: usize = 16; // u32: number of the interval that touched the bytes, plus one
export const OWNED_SIZE: u32 = 24;

export const T_KEY: usize = 0;
export const T_NEXT: usize = 4; // entry of the same line, 0 for none
export const T_MASK: usize = 8; // u64: its bytes of the line; of different entries, different ones
export const T_LINE: usize = 16;
export const SETTLED_SIZE: u32 = 24;
