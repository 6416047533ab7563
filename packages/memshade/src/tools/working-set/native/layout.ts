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
/** All of it, in units of `CONTROL_BYTES`. */
export const SHARED_UNITS = 1 + (MARK_BYTES * 2 ** (ADDRESS_BITS - LINE_SHIFT)) / CONTROL_BYTES;

/**
 * Words in front, where intervals are measured in accesses. Not 0: somebody ends intervals. i64: accesses that are left of the open one.
 * Futexes of u32: somebody has to end it; how often that was done.
 */
export const Clock = { isWatched: 0, left: 8, asked: 16, answered: 20 } as const;
/** So long a program waits for the end of an interval before it goes on without, seconds. */
export const PATIENCE = 10;

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
