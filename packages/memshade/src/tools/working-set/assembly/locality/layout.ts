// Where the tables of `--locality` lie in the working-set tool's memory. The addresses depend on the profiled module,
// so they are imports here and become constants when this code is merged into it.
//
//   ENTRIES    {u32 stamp of its last reference, 0 for never, IN_FRONT for the newest few; u32; u64 position of it} per 2^LINES_SHIFT lines:
//              of these at most one is followed
//   MARKS      one bit per stamp: 1 if it is some line's last
//   TREE       counts of marks: a u8 per 64 stamps, a u16 per 1024, and a Fenwick tree of u32 over blocks of
//              2^BLOCK_SHIFT stamps
//   DISTANCES  histograms of {f64 weight, f64 weight × value; 0 in bins of one value} per bin: reuse distances,
//   TIMES      reuse times,
//   FIRSTS     positions of first references
//   SITES      open addressing: {u32 site + 1, f64 references, f64 misses, f64 cold} of SITE_SIZE bytes
//   HEAP       u64 per sampled line, hash << 32 | line, the largest on top; only where their number is bounded
//   BUFFER     sampling: references that were not looked at yet, {u32 line, u32 site, i32 clock} of ENTRY_SIZE bytes
//   STATE      offsets L_*

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
/** Words of 64 stamps, whole blocks of them. */
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
@external("host", "HEAP")
export declare const HEAP: u32;
@external("host", "BUFFER")
export declare const BUFFER: u32;
@external("host", "STATE")
export declare const STATE: u32;
/** 1: every reference is followed; 0: those of sampled lines. */
@external("host", "EXACT")
export declare const EXACT: u32;
/** Lines whose hash is at most this are sampled at the start. */
@external("host", "LIMIT")
export declare const LIMIT: u32;
@external("host", "MULTIPLIER")
export declare const MULTIPLIER: u32;
/** Most lines sampled at a time; 0 for no bound. */
@external("host", "MOST_LINES")
export declare const MOST_LINES: u32;
/** Lines of the cache whose misses are counted per site. */
@external("host", "CACHE_LINES")
export declare const CACHE_LINES: u32;
/** The working-set tool's countdown, where no function has it in a local. */
@external("host", "clock")
export declare function clockNow(): i32;
/** The working-set tool's control block. */
@external("host", "CONTROL")
export declare const CONTROL: u32;
/** Address of the u64 with the accesses that the working-set tool has counted up to its last poll. */
@external("host", "ACCESSES")
export declare const ACCESSES: u32;

/** Size of the buffer. */
@external("host", "BUFFER_BYTES")
export declare const BUFFER_BYTES: u32;

export const HASH_RANGE: f64 = 4294967296;
export const ENTRY_SIZE: u32 = 16;

// Mirrored by the host's reader, which is tested against this file.
export const L_REFERENCES: usize = 0; // u64: exact: references; sampling: references beside the clock's accesses
export const L_SAMPLED: usize = 8; // f64: weight of the references followed
export const L_COLD: usize = 16; // f64: weight of first references
export const L_WEIGHT: usize = 24; // f64: weight of a reference now, less one
export const L_LIMIT: usize = 32; // u32: the limit now, where it falls
export const L_LIVE: usize = 36; // u32: lines in the order
export const L_NOW: usize = 40; // u32: newest stamp
export const L_CAPACITY: usize = 44; // u32: stamps before they are renumbered
export const L_HIGH: usize = 48; // u32: entries up to the highest one used
export const L_SITES: usize = 52; // u32: sites in the table
export const L_RENUMBERED: usize = 56; // u32: how often stamps were
export const L_BUFFERED: usize = 60; // u32: bytes used of the buffer
export const L_FRONT: usize = 64; // u32 per place in the list of the newest entries: their addresses, the newest first; 0 for none

/** Lines in the list of the newest ones, and the stamp that they have instead of one. */
export const FRONT_LINES: u32 = 8;
export const IN_FRONT: u32 = 0xffffffff;

export const SITE_SIZE: u32 = 32;
export const BLOCK_SHIFT: u32 = 13;
