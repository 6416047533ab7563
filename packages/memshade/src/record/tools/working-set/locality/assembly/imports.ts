// Imports from the module into which this code is merged: addresses and sizes of tables, which depend on the profiled module
// and become constants, and functions of the host.

declare module "host";
export declare const LINES: u32;
export declare const ENTRIES: u32;
export declare const LINES_SHIFT: u32;
export declare const MARKS: u32;
export declare const TREE: u32;
/** Number of words of 64 stamps, in whole blocks. */
export declare const TREE_WORDS: u32;
export declare const DISTANCES: u32;
export declare const TIMES: u32;
export declare const FIRSTS: u32;
export declare const SITES: u32;
/** A power of two less one. */
export declare const SITE_MASK: u32;
export declare const BUFFER: u32;
export declare const STATE: u32;
/** Lines whose hash is at most this are sampled. */
export declare const LIMIT: u32;
export declare const MULTIPLIER: u32;
/** Lines of the cache whose misses are counted per site. */
export declare const CACHE_LINES: u32;
/** Returns the working-set tool's countdown, if no function has it in a local. */
@external("clock")
export declare function clockNow(): i32;
/** The working-set tool's control block. */
export declare const CONTROL: u32;
/** Address of the u64 with the accesses that the working-set tool has counted up to its last poll. */
export declare const ACCESSES: u32;
