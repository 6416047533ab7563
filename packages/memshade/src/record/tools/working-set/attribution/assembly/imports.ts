// Imports of the runtime, resolved when it is merged into a module: functions of the host, and addresses and sizes of
// tables. The latter depend on the profiled module and become constants.

@external("layout", "FIRST_TOUCH")
export declare const FIRST_TOUCH: u32;
@external("layout", "FILL")
export declare const FILL: u32;
@external("layout", "OWNERS")
export declare const OWNERS: u32;
/** Bytes of the program's memory that the tables with entries per byte cover. */
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
@external("layout", "FREED")
export declare const FREED: u32;
@external("layout", "FREED_CAPACITY")
export declare const FREED_CAPACITY: u32;
@external("layout", "OWNED")
export declare const OWNED: u32;
/** Entries of OWNED, including the first one of each line. */
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
/** End of the lists of entries. The space after it is for the lists of OTHERS of snapshots without room. */
@external("layout", "LISTS_LIMIT")
export declare const LISTS_LIMIT: u32;
@external("layout", "LISTS_END")
export declare const LISTS_END: u32;
@external("layout", "STATE")
export declare const STATE: u32;
/** Global in which callers leave the address of the slot, if it is known. */
@external("layout", "slot")
export declare function slot(): u32;
