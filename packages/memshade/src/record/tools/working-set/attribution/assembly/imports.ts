// Imports of the runtime, resolved when it is merged into a module: functions of the host, and addresses and sizes of
// tables. The latter depend on the profiled module and become constants.

declare module "layout";
export declare const FIRST_TOUCH: u32;
export declare const FILL: u32;
export declare const OWNERS: u32;
/** Bytes of the program's memory that the tables with entries per byte cover. */
export declare const COVERED: u32;
export declare const TOUCHERS: u32;
export declare const BYTES: u32;
export declare const BYTE_STAMPS: u32;
export declare const STARTS: u32;
export declare const FIRSTS: u32;
export declare const HEADS: u32;
export declare const BLOCKS: u32;
export declare const BLOCK_CAPACITY: u32;
export declare const FREED: u32;
export declare const FREED_CAPACITY: u32;
export declare const OWNED: u32;
/** Entries of OWNED, including the first one of each line. */
export declare const OWNED_CAPACITY: u32;
export declare const TABLE: u32;
export declare const TABLE_MASK: u32;
export declare const USED: u32;
export declare const LISTS: u32;
/** End of the lists of entries. The space after it is for the lists of OTHERS of snapshots without room. */
export declare const LISTS_LIMIT: u32;
export declare const LISTS_END: u32;
export declare const STATE: u32;
/** Global in which callers leave the address of the slot, if it is known. */
export declare function slot(): u32;
