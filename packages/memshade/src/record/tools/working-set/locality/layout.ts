// Layout of the tables of `--locality`, which follow those of the working set.

/** Fields that exist once. */
export const State = {
  /** u64: references beside the accesses that the clock counts. */
  references: 0,
  /** f64: references followed. */
  sampled: 8,
  /** f64: first references. */
  cold: 16,
  /** u32: lines in the order. */
  live: 24,
  /** u32: newest stamp. */
  now: 28,
  /** u32: stamps before they are renumbered. */
  capacity: 32,
  /** u32: entries up to the highest one used. */
  high: 36,
  /** u32: sites in the table. */
  sites: 40,
  /** u32: number of renumberings of the stamps. */
  renumbered: 44,
  /** u32: bytes used of the buffer. */
  buffered: 48,
  /** u32 each: addresses of the entries in the list of the newest ones, newest first; 0 for none. */
  front: 64,
} as const;
export const STATE_BYTES = 4096;

/** Number of lines in the list of the newest ones, and the value that these lines have instead of a stamp. */
export const FRONT_LINES = 8;
export const IN_FRONT = 0xffffffff;

/** Entry of a few lines, at most one of them followed: its stamp, and the position of its last reference, a u64. */
export const Entry = { stamp: 0, position: 8 } as const;
export const ENTRY_BYTES = 16;
/** A buffered reference. `clock`: the countdown at that moment. */
export const Waiting = { line: 0, site: 4, clock: 8 } as const;
export const WAITING_BYTES = 16;
/** Counts of an instruction, f64; `key` is its number plus one, 0 for a free entry. */
export const Site = { key: 0, references: 8, misses: 16, cold: 24 } as const;
export const SITE_BYTES = 32;
/**
 * A bin of a histogram: weight and sum of values, f64. Each value below 2^`SINGLE_BITS` has a bin of its own. Larger values
 * have 2^`FINE_BITS` bins per factor of two.
 */
export const BIN_BYTES = 16;
export const SINGLE_BITS = 12;
export const FINE_BITS = 5;
/** Site of all bulk instructions. */
export const NO_SITE = 0xfffffffe;
/** Stamps of a block of the tree, as a power of two. */
export const BLOCK_SHIFT = 13;
