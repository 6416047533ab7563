// Imports from the module into which this code is merged: addresses and sizes of tables, which depend on the profiled module
// and become constants, and functions of the host.

@external("host", "LINES")
export declare const LINES: u32;
@external("host", "ENTRIES")
export declare const ENTRIES: u32;
@external("host", "LINES_SHIFT")
export declare const LINES_SHIFT: u32;
@external("host", "MARKS")
export declare const MARKS: u32;
@external("host", "TREE")
export declare const TREE: u32;
/** Number of words of 64 stamps, in whole blocks. */
@external("host", "TREE_WORDS")
export declare const TREE_WORDS: u32;
@external("host", "DISTANCES")
export declare const DISTANCES: u32;
@external("host", "TIMES")
export declare const TIMES: u32;
@external("host", "FIRSTS")
export declare const FIRSTS: u32;
@external("host", "SITES")
export declare const SITES: u32;
/** A power of two less one. */
@external("host", "SITE_MASK")
export declare const SITE_MASK: u32;
@external("host", "BUFFER")
export declare const BUFFER: u32;
@external("host", "STATE")
export declare const STATE: u32;
/** Lines whose hash is at most this are sampled. */
@external("host", "LIMIT")
export declare const LIMIT: u32;
@external("host", "MULTIPLIER")
export declare const MULTIPLIER: u32;
/** Lines of the cache whose misses are counted per site. */
@external("host", "CACHE_LINES")
export declare const CACHE_LINES: u32;
/** Returns the working-set tool's countdown, if no function has it in a local. */
@external("host", "clock")
export declare function clockNow(): i32;
/** The working-set tool's control block. */
@external("host", "CONTROL")
export declare const CONTROL: u32;
/** Address of the u64 with the accesses that the working-set tool has counted up to its last poll. */
@external("host", "ACCESSES")
export declare const ACCESSES: u32;
