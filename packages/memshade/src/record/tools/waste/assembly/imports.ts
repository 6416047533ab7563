// What the runtime asks of whoever puts it into a program: addresses of its tables, which depend on the program and become constants, and
// instructions on the program's memory, its stack pointer, and tables that may have memories of their own, which take the place of calls.

@external("layout", "COVERED")
export declare const COVERED: u32;
// Pages that the program's memory can have without the tool at most.
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
// Whether memory that nobody has written counts as valid zeros, or, as in the tool deadstores, as invalid.
@external("layout", "ZERO_IS_VALID")
export declare const ZERO_IS_VALID: u32;
// deadstores: a block that a reallocation moves does not keep its state.
@external("layout", "REALLOC_FORGETS")
export declare const REALLOC_FORGETS: u32;
// The node at hand: the module keeps it in a global of its own.
@external("layout", "NODE")
export declare const NODE: u32;
// 0: accesses are told apart by instruction alone.
@external("layout", "BY_CONTEXT")
export declare const BY_CONTEXT: u32;
// Keys up to here are sites without a context: they take what finds no room.
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
// 0: the host is not opaque, and nobody keeps them.
@external("layout", "DIRTY")
export declare const DIRTY: u32;
@external("layout", "DIRTY_LIST")
export declare const DIRTY_LIST: u32;
// Distance between the records of neighbouring numbers of loads, as a shift.
@external("layout", "LOAD_SHIFT")
export declare const LOAD_SHIFT: u32;
@external("layout", "RECORD_SHIFT")
export declare const RECORD_SHIFT: u32;
// Id of bytes that overflowed at even addresses; at odd ones it is the next. So words of several of them are never of one id.
@external("layout", "OVERFLOW")
export declare const OVERFLOW: u32;
// Whether records are in frames; a u64 per store's key where they are not.
@external("layout", "FRAMED")
export declare const FRAMED: u32;
@external("layout", "STORE_IDS")
export declare const STORE_IDS: u32;
// The last id that may be assigned.
@external("layout", "LAST_ID")
export declare const LAST_ID: u32;
// A u32 per id: the distance of its record from STORES, 0 while nobody has it. Behind, a byte per id says that it is in use.
@external("layout", "RECORD_OF")
export declare const RECORD_OF: u32;
// Bytes that were read, a u64 per id: of its store, since it has the id. Those of ids that are no stores are there too, and nobody
// reads them.
@external("layout", "READS")
export declare const READS: u32;
// Keys of bytes that overflowed.
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

// 0: nobody keeps paths of calls, or what became of blocks. The table of paths has a power of two of entries.
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

// The shadow stack, which may be that of another tool: the address of its newest frame, and words of its memory.
@external("frames", "newest")
export declare function newestFrame(): u32;
@external("frames", "load32")
export declare function framesLoad(at: u32): u32;

// Loads from the program's own memory. The merger puts the instruction in the place of the call.
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

// The program's own global. The merger puts the instruction in the place of the call.
@external("stack", "get")
export declare function stackPointer(): u32;
@external("stack", "set")
export declare function setStackPointer(to: u32): void;

// The tables with a word per byte of the program's memory. Where they do not fit beside everything else, each has a memory of its
// own: the merger puts an instruction on the right memory in the place of each of these calls.
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
