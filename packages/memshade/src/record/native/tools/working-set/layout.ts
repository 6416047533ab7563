// Addresses of the marks of a native program's lines, in its address space and in the file that it shares.

const KIB = 2 ** 10;
export const LINE_SHIFT = 6;
/** Size of a line's marks: one byte is set by reads, one by writes. */
export const MARK_BYTES = 2;
export const READ_MARK = 0;
export const WRITTEN_MARK = 1;
const ADDRESS_BITS = 47;

/** Start of the control words. `MARKS` is the address of the marks of address 0. */
export const SHARED = 0x7fff_0000;
export const MARKS = 0x7fff_8000;
export const CONTROL_BYTES = 32 * KIB;
/** Size of control words and marks, in units of `CONTROL_BYTES`. */
export const SHARED_UNITS = 1 + (MARK_BYTES * 2 ** (ADDRESS_BITS - LINE_SHIFT)) / CONTROL_BYTES;

/**
 * Control words for intervals measured in accesses. `isWatched`: not 0 while the reader ends intervals. `left`, i64:
 * accesses left in the open interval. `asked`, u32 futex: a thread requests the end of the interval. `answered`, u32
 * futex: number of ended intervals.
 */
export const Clock = { isWatched: 0, left: 8, asked: 16, answered: 20 } as const;
/** Seconds that a program waits for the end of an interval. After that it continues without intervals. */
export const PATIENCE = 10;

/**
 * Owner words, present if owners are requested: a u32 per 16 bytes at `2 ** OWNERS_BIT`, and a u32 per 4 KiB page at `2
 * ** OWNED_PAGES_BIT`. In the file, both follow the marks. A word is a context number plus one, or 0 for none. `FREED`:
 * the block has ended. A page's word applies to the whole page; with `MIXED`, only to 16-byte units whose own words are
 * 0.
 */
export const OWNERS_BIT = 44;
export const OWNER_SHIFT = 4;
export const OWNER_WORD_BYTES = 4;
export const OWNERS_BITS = ADDRESS_BITS - OWNER_SHIFT + 2;
export const OWNED_PAGES_BIT = 43;
export const OWNED_PAGE_SHIFT = 12;
export const OWNED_PAGES_BITS = ADDRESS_BITS - OWNED_PAGE_SHIFT + 2;
export const FREED = 0x8000_0000;
export const MIXED = 0x4000_0000;
export const OWNERS_PER_LINE = 2 ** (LINE_SHIFT - OWNER_SHIFT);

/** Bytes of marks per piece: a page. */
export const PIECE_BYTES = 4096;
/** Marks the end of a snapshot. It replaces a piece's file offset, and a `Taken` follows. */
export const NO_PIECE = 0;
/**
 * End of a snapshot, u64 each: monotonic clock and CPU time of the process, ns; pieces for which there was no room;
 * accesses so far, if counted; 1 if the program waited in vain for the end of an interval and counts no more.
 */
export const Taken = { now: 0, cpu: 8, refused: 16, accesses: 24, isAlone: 32 } as const;
export const TAKEN_BYTES = 40;
