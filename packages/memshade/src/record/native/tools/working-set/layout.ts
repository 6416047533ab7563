// Where the marks of a native program's lines lie, in its address space and in the file that it shares.

const KIB = 2 ** 10;
export const LINE_SHIFT = 6;
/** Marks of a line: a byte that says it was read, and one that says it was written. */
export const MARK_BYTES = 2;
export const READ_MARK = 0;
export const WRITTEN_MARK = 1;
/** Bits of an address of a program. */
const ADDRESS_BITS = 47;

/** Words of both sides come first; then the marks, with those of address 0 at `MARKS`. */
export const SHARED = 0x7fff_0000;
export const MARKS = 0x7fff_8000;
export const CONTROL_BYTES = 32 * KIB;
/** Words and marks, in units of `CONTROL_BYTES`. */
export const SHARED_UNITS = 1 + (MARK_BYTES * 2 ** (ADDRESS_BITS - LINE_SHIFT)) / CONTROL_BYTES;

/**
 * Words in front, where intervals are measured in accesses. Not 0: somebody ends intervals. i64: accesses that are left of the open one.
 * Futexes of u32: somebody has to end it; how often that was done.
 */
export const Clock = { isWatched: 0, left: 8, asked: 16, answered: 20 } as const;
/** So long a program waits for the end of an interval before it goes on without, seconds. */
export const PATIENCE = 10;

/**
 * Whose memory is, where owners are asked for: a u32 per 16 bytes, at `2 ** OWNERS_BIT` in the program and behind the marks in the file, and
 * behind these a u32 per page of 4 KiB, at `2 ** OWNED_PAGES_BIT`. A word is the number of a context, plus one, 0 for nobody; with `FREED`,
 * the block has ended since. That of a page is for all of it; with `MIXED`, for those of its 16 bytes whose own words are 0.
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
/** Words of a line. */
export const OWNERS_PER_LINE = 2 ** (LINE_SHIFT - OWNER_SHIFT);

/** Bytes of marks that are handed out at once: a page. */
export const PIECE_BYTES = 4096;
/** In the place of a piece's distance from the beginning of the file: the snapshot is at its end, and a `Taken` follows. */
export const NO_PIECE = 0;
/**
 * u64 each: nanoseconds of the monotonic clock and of the process's CPU time, pieces that found no room to be looked at, accesses so far
 * where they are counted, and whether the program has waited for the end of an interval in vain, and counts no more.
 */
export const Taken = { now: 0, cpu: 8, refused: 16, accesses: 24, isAlone: 32 } as const;
export const TAKEN_BYTES = 40;
