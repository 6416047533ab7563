// Imports of the runtime, resolved when it is merged into a program. Table addresses depend on the program and become
// constants. Calls on the program's memory, its stack pointer and the large tables are replaced by instructions.

declare module "layout";
export declare const COVERED: u32;
// Largest size, in pages, that the program's memory could have without the tool.
export declare const MOST_PAGES: u32;
export declare const CONTROL: u32;
export declare const STORES: u32;
export declare const LOADS: u32;
export declare const SIZES: u32;
// 1: memory that was never written counts as valid zeros. 0, as in the tool deadstores: it counts as invalid.
export declare const ZERO_IS_VALID: u32;
// deadstores: a block that a reallocation moves loses its state.
export declare const REALLOC_FORGETS: u32;
// Current context node. The module keeps it in a global.
export declare const NODE: u32;
// 0: accesses are distinguished by instruction alone.
export declare const BY_CONTEXT: u32;
// Keys up to here are sites without a context. They count accesses whose context finds no room.
export declare const STORE_SITES: u32;
export declare const LOAD_SITES: u32;
export declare const STORE_CAPACITY: u32;
export declare const LOAD_CAPACITY: u32;
export declare const INIT: u32;
export declare const INVALID: u32;
// 0: the host is not opaque, and dirty lines are not recorded.
export declare const DIRTY: u32;
export declare const DIRTY_LIST: u32;
// Distance between the records of two consecutive loads, as a shift.
export declare const LOAD_SHIFT: u32;
export declare const RECORD_SHIFT: u32;
// Id of bytes that overflowed at even addresses. Odd addresses have the next id, so that two neighbours never look like
// bytes of one store.
export declare const OVERFLOW: u32;
// 1: records are in frames. 0: STORE_IDS has a u64 per store's key.
export declare const FRAMED: u32;
export declare const STORE_IDS: u32;
export declare const LAST_ID: u32;
// A u32 per id: the distance of its record from STORES, 0 while it is free. A byte per id follows: 1 while it is in
// use.
export declare const RECORD_OF: u32;
// A u64 per id: bytes that were read since its store has the id. Entries of ids that are no stores are ignored.
export declare const READS: u32;
// Store keys of bytes that overflowed.
export declare const WRITERS: u32;
export declare const BLOCK_OF: u32;
export declare const BLOCKS: u32;
export declare const BLOCK_CAPACITY: u32;
export declare const SITES: u32;
export declare const SITE_CAPACITY: u32;
export declare const VALUES: u32;
export declare const READERS: u32;
export declare const SEEN: u32;
export declare const PAIRS: u32;
export declare const PAIR_MASK: u32;

// 0: call paths and the fates of blocks are not recorded. The table of paths has a power of two of entries.
export declare const PATHS: u32;
export declare const PATH_MASK: u32;
export declare const MARKS: u32;
export declare const BLOCK_PATH: u32;
export declare const PATH_BLOCKS: u32;
export declare const FATES: u32;
export declare const FATES_END: u32;

declare module "frames";
// Shadow stack, which another tool may own: the address of its newest frame, and words of its memory.
@external("newest")
export declare function newestFrame(): u32;
@external("load32")
export declare function framesLoad(at: u32): u32;

declare module "program";
// Loads from the program's own memory. The merger replaces the calls by instructions.
@external("load8")
export declare function programLoad8(address: u32): u32;
@external("load32")
export declare function programLoad32(address: u32): u32;
@external("load64")
export declare function programLoad64(address: u32): u64;
@external("pages")
export declare function programPages(): u32;
@external("claim")
export declare function claimProgram(address: u32): void;

declare module "stack";
// Stack pointer of the program, a global. The merger replaces the calls by instructions.
@external("get")
export declare function stackPointer(): u32;
@external("set")
export declare function setStackPointer(to: u32): void;

declare module "writers";
// Tables with a word per byte of the program's memory. If they do not fit beside everything else, each has a memory of
// its own; the merger replaces the calls by instructions on the right memory.
@external("load32")
export declare function writersLoad(at: u32): u32;
@external("store32")
export declare function writersStore(at: u32, word: u32): void;
@external("load128")
export declare function writersLoad128(at: u32): v128;
@external("store128")
export declare function writersStore128(at: u32, words: v128): void;
@external("copy")
export declare function writersCopy(to: u32, from: u32, bytes: u32): void;
@external("fill")
export declare function writersFill(at: u32, value: u32, bytes: u32): void;

declare module "readers";
@external("load32")
export declare function readersLoad(at: u32): u32;
@external("store32")
export declare function readersStore(at: u32, word: u32): void;
@external("load128")
export declare function readersLoad128(at: u32): v128;
@external("store128")
export declare function readersStore128(at: u32, words: v128): void;
@external("copy")
export declare function readersCopy(to: u32, from: u32, bytes: u32): void;

declare module "shadow";
@external("claim")
export declare function shadowClaim(at: u32): void;
