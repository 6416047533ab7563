// Imports of the runtime, resolved when it is merged into a program. Table addresses depend on the program and become
// constants. Calls on the program's memory, its stack pointer and the large tables are replaced by instructions.

@external("layout", "COVERED")
export declare const COVERED: u32;
// Largest size, in pages, that the program's memory could have without the tool.
@external("layout", "MOST_PAGES")
export declare const MOST_PAGES: u32;
@external("layout", "CONTROL")
export declare const CONTROL: u32;
@external("layout", "STORES")
export declare const STORES: u32;
@external("layout", "LOADS")
export declare const LOADS: u32;
@external("layout", "SIZES")
export declare const SIZES: u32;
// 1: memory that was never written counts as valid zeros. 0, as in the tool deadstores: it counts as invalid.
@external("layout", "ZERO_IS_VALID")
export declare const ZERO_IS_VALID: u32;
// deadstores: a block that a reallocation moves loses its state.
@external("layout", "REALLOC_FORGETS")
export declare const REALLOC_FORGETS: u32;
// Current context node. The module keeps it in a global.
@external("layout", "NODE")
export declare const NODE: u32;
// 0: accesses are distinguished by instruction alone.
@external("layout", "BY_CONTEXT")
export declare const BY_CONTEXT: u32;
// Keys up to here are sites without a context. They count accesses whose context finds no room.
@external("layout", "STORE_SITES")
export declare const STORE_SITES: u32;
@external("layout", "LOAD_SITES")
export declare const LOAD_SITES: u32;
@external("layout", "STORE_CAPACITY")
export declare const STORE_CAPACITY: u32;
@external("layout", "LOAD_CAPACITY")
export declare const LOAD_CAPACITY: u32;
@external("layout", "INIT")
export declare const INIT: u32;
@external("layout", "INVALID")
export declare const INVALID: u32;
// 0: the host is not opaque, and dirty lines are not recorded.
@external("layout", "DIRTY")
export declare const DIRTY: u32;
@external("layout", "DIRTY_LIST")
export declare const DIRTY_LIST: u32;
// Distance between the records of two consecutive loads, as a shift.
@external("layout", "LOAD_SHIFT")
export declare const LOAD_SHIFT: u32;
@external("layout", "RECORD_SHIFT")
export declare const RECORD_SHIFT: u32;
// Id of bytes that overflowed at even addresses. Odd addresses have the next id, so that two neighbours never look like
// bytes of one store.
@external("layout", "OVERFLOW")
export declare const OVERFLOW: u32;
// 1: records are in frames. 0: STORE_IDS has a u64 per store's key.
@external("layout", "FRAMED")
export declare const FRAMED: u32;
@external("layout", "STORE_IDS")
export declare const STORE_IDS: u32;
@external("layout", "LAST_ID")
export declare const LAST_ID: u32;
// A u32 per id: the distance of its record from STORES, 0 while it is free. A byte per id follows: 1 while it is in
// use.
@external("layout", "RECORD_OF")
export declare const RECORD_OF: u32;
// A u64 per id: bytes that were read since its store has the id. Entries of ids that are no stores are ignored.
@external("layout", "READS")
export declare const READS: u32;
// Store keys of bytes that overflowed.
@external("layout", "WRITERS")
export declare const WRITERS: u32;
@external("layout", "BLOCK_OF")
export declare const BLOCK_OF: u32;
@external("layout", "BLOCKS")
export declare const BLOCKS: u32;
@external("layout", "BLOCK_CAPACITY")
export declare const BLOCK_CAPACITY: u32;
@external("layout", "SITES")
export declare const SITES: u32;
@external("layout", "SITE_CAPACITY")
export declare const SITE_CAPACITY: u32;
@external("layout", "VALUES")
export declare const VALUES: u32;
@external("layout", "READERS")
export declare const READERS: u32;
@external("layout", "SEEN")
export declare const SEEN: u32;
@external("layout", "PAIRS")
export declare const PAIRS: u32;
@external("layout", "PAIR_MASK")
export declare const PAIR_MASK: u32;

// 0: call paths and the fates of blocks are not recorded. The table of paths has a power of two of entries.
@external("layout", "PATHS")
export declare const PATHS: u32;
@external("layout", "PATH_MASK")
export declare const PATH_MASK: u32;
@external("layout", "MARKS")
export declare const MARKS: u32;
@external("layout", "BLOCK_PATH")
export declare const BLOCK_PATH: u32;
@external("layout", "PATH_BLOCKS")
export declare const PATH_BLOCKS: u32;
@external("layout", "FATES")
export declare const FATES: u32;
@external("layout", "FATES_END")
export declare const FATES_END: u32;

// Shadow stack, which another tool may own: the address of its newest frame, and words of its memory.
@external("frames", "newest")
export declare function newestFrame(): u32;
@external("frames", "load32")
export declare function framesLoad(at: u32): u32;

// Loads from the program's own memory. The merger replaces the calls by instructions.
@external("program", "load8")
export declare function programLoad8(address: u32): u32;
@external("program", "load32")
export declare function programLoad32(address: u32): u32;
@external("program", "load64")
export declare function programLoad64(address: u32): u64;
@external("program", "pages")
export declare function programPages(): u32;
@external("program", "claim")
export declare function claimProgram(address: u32): void;

// Stack pointer of the program, a global. The merger replaces the calls by instructions.
@external("stack", "get")
export declare function stackPointer(): u32;
@external("stack", "set")
export declare function setStackPointer(to: u32): void;

// Tables with a word per byte of the program's memory. If they do not fit beside everything else, each has a memory of
// its own; the merger replaces the calls by instructions on the right memory.
@external("writers", "load32")
export declare function writersLoad(at: u32): u32;
@external("writers", "store32")
export declare function writersStore(at: u32, word: u32): void;
@external("writers", "load128")
export declare function writersLoad128(at: u32): v128;
@external("writers", "store128")
export declare function writersStore128(at: u32, words: v128): void;
@external("writers", "copy")
export declare function writersCopy(to: u32, from: u32, bytes: u32): void;
@external("writers", "fill")
export declare function writersFill(at: u32, value: u32, bytes: u32): void;

@external("readers", "load32")
export declare function readersLoad(at: u32): u32;
@external("readers", "store32")
export declare function readersStore(at: u32, word: u32): void;
@external("readers", "load128")
export declare function readersLoad128(at: u32): v128;
@external("readers", "store128")
export declare function readersStore128(at: u32, words: v128): void;
@external("readers", "copy")
export declare function readersCopy(to: u32, from: u32, bytes: u32): void;

@external("shadow", "claim")
export declare function shadowClaim(at: u32): void;
