// The waste tool's memory. Addresses depend on the profiled module: they are imports here and become constants when
// this code is merged into it. `tools/waste/pass/waste-layout.ts` places the tables, `tools/waste/read/` reads them.
//
//   0         shadow of the program's memory: an id per byte (brief), or the value seen (full)
//   WRITERS … the last store of each byte, its reader, what it is a copy of: tables.ts
//   CONTROL   offsets C_*
//   STORES    a record per store site (or per store site and calling context), offsets S_*: RECORD_SIZE bytes, or, with one id
//             per byte, as many as the fields up to S_SAME take
//   LOADS     as STORES for loads, offsets L_*, up to L_SILENT with one id per byte
//   SIZES     u32 per 8 bytes of program memory: size + 1 of the block that starts there
//   VALUES    values that redundant loads find, full only: values.ts
//   PAIRS     open addressing: (kind, first, second) -> bytes, operations; full only
//   NODES     calling context tree and what belongs to its nodes: ../frames/tree.ts
//   FRAMES    where contexts are told apart with one id per byte, instead of STORES, LOADS: ../frames/frames.ts
//   BLOCKS …  blocks of the heap and their sites' counts per offset, full only: see objects.ts
//   ORIGINS … which bytes are copies of which, full only: see copies.ts

@external("layout", "COVERED")
export declare const COVERED: u32;
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

export const RECORD_SIZE: u32 = 128;
// What records of all engines and sizes begin with comes first: see `../frames/frames.ts`.
export const S_STORES: usize = 0;
export const S_READ: usize = 8;
export const S_DEALLOCATED: usize = 16;
export const S_SILENT: usize = 24;
export const S_HOST_READ: usize = 32;
export const S_WRITTEN: usize = 40;
export const S_SILENT_BYTES: usize = 48;
export const S_SAME: usize = 56;
export const S_OVERWRITTEN: usize = 64;
export const S_OVER_ZERO: usize = 72;
export const S_APPROXIMATE: usize = 80;
export const S_TRANSITIVE: usize = 88;
export const S_NODE: usize = 96;
export const S_SITE: usize = 100;
export const S_LANES: usize = 104;
export const S_OVER_SEGMENT: usize = 112;
export const S_PAIR: usize = 120; // memo of a pair with what it overwrites: pairs.ts

export const L_LOADS: usize = 0;
export const L_FRESH: usize = 8;
export const L_BYTES: usize = 16;
export const L_SILENT: usize = 24;
export const L_REDUNDANT: usize = 32;
export const L_REDUNDANT_BYTES: usize = 40;
export const L_ZERO_BYTES: usize = 48;
export const L_APPROXIMATE: usize = 56;
export const L_NODE: usize = 96;
export const L_SITE: usize = 100;
export const L_PAIR: usize = 104; // memo of a redundant pair: pairs.ts

// Control block.
export const C_STORE_SITE: usize = 0; // sites of the bulk instruction or host call at hand
export const C_LOAD_SITE: usize = 4;
export const C_PAGES: usize = 8; // largest size of the program's memory seen, in pages
export const C_OUTSIDE: usize = 12; // events above COVERED
export const C_NODE_NEXT: usize = 20;
export const C_STORE_KEYS: usize = 24;
export const C_LOAD_KEYS: usize = 28;
export const C_PAIRS_USED: usize = 32;
export const C_PAIRS_LOST: usize = 36;
export const C_KEYS_LOST: usize = 40;
export const C_BLOCK_NEXT: usize = 44;
export const C_BLOCK_FREE: usize = 48;
export const C_ALLOCATION_SITE: usize = 52; // code offset of the call of the allocator at hand, 0: unknown
export const C_SITES_NEXT: usize = 56;
export const C_PLACES: usize = 60; // keys of places that allocate, free or return
export const C_SCRATCH: usize = 64; // 16 bytes: the operand's bytes before a store
export const C_ZEROED_SITE: usize = 80; // store site of the call of calloc at hand, 0: unknown
export const C_RETURN_SITE: usize = 84; // code offset of the place that moves the stack pointer
export const C_CLOCK: usize = 88; // u64: accesses so far, where objects are asked for
export const C_ALLOCATION_NODE: usize = 96; // context of the place at C_ALLOCATION_SITE
export const C_COPY_NEXT: usize = 100;
export const C_COPY_FREE: usize = 104;
export const C_COPIES_LOST: usize = 108;
export const C_REFUSED: usize = 116; // requests for more memory that failed
export const C_DIRTY_LINES: usize = 112; // lines in the list of dirty.ts
export const C_HOST_WORD: usize = 120; // as the heap profiler's: where the host is, where frames are told apart
export const C_ENTRY_WORD: usize = 124;
export const C_ROOT_SLOT: usize = 128; // 16 bytes: the slot of whoever calls from outside
export const C_FRAME_NEXT: usize = 144;
export const C_HOST_END: usize = 160; // how large the memory was when an opaque host was last in control, bytes
export const C_STREAMS: usize = 512; // 12 records of loops.ts
export const C_INIT_BYTES: usize = 1024; // bytes of a data segment that memory.init is about to put into memory
export const C_ENDS: usize = 4352; // 12 pairs of words: loops.ts
