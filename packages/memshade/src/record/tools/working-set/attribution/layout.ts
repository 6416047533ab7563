// Where things are in the tables of the attribution, which lie behind those of the working set and of the locality.

/** What is there once. */
export const State = {
  /** What a bulk instruction or the host's accesses are charged to. */
  key: 0,
  /** Slot of the call that allocates, 0: not known. */
  request: 4,
  /** Blocks numbered so far. */
  blockNext: 8,
  /** List of numbers to use again. */
  blockFree: 12,
  /** Entries of FREED in use. */
  freed: 16,
  /** Bytes of LISTS in use. */
  lists: 20,
  /** Entries of TABLE in use. */
  used: 24,
  /** Last node of the calling context tree. */
  nodeNext: 28,
  /** Where the next frame begins. */
  frameNext: 32,
  /** Two words of `contexts/layout.ts`: where the host is. */
  hostWord: 40,
  /** A `Slot` of frames: that of whoever calls from outside. */
  rootSlot: 48,
  /** Blocks that found no room. */
  blocksLost: 64,
  /** Pieces of freed blocks that found no room. */
  freedLost: 68,
  /** Snapshots that found no room for their entries. */
  listsLost: 72,
  /** Touches without room for their own entry. */
  keysLost: 76,
  /** Entries of OWNED behind the first ones that were ever in use. */
  ownedNext: 80,
  /** List of those to use again. */
  ownedFree: 84,
  /** Pieces of lines that found no room there. */
  ownedLost: 88,
  /** u32 per bucket: bytes of the interval at hand. */
  byteCounts: 128,
  /** Per kind: key, tag and address of the entry that was added to last. */
  last: 256,
  /** Whose the bytes of the line at hand are: key and mask, as many as there are bytes. */
  parts: 512,
  /** What the line at hand adds to keys: key and weight, two for each byte. */
  weights: 1536,
} as const;
export const STATE_BYTES = 4096;
export const LAST_BYTES = 16;

/**
 * Keys without a place. Others are addresses in a frame: for an instruction that touches memory, as far behind the header as the
 * instruction is from the function's first; for a call that allocates, that of its slot.
 */
export const Key = {
  none: 0,
  stack: 1,
  statics: 2,
  heap: 3,
  host: 4,
  others: 5,
  bytes: 6,
  unknownSite: 7,
} as const;

/** What entries tell. */
export const Kind = { touch: 1, share: 2, fill: 3 } as const;

/** What the open interval's lines add up to; and entries of a snapshot's list. */
export const Entry = {
  key: 0,
  /** Kind << 8 | bucket; 0 for an empty entry. */
  tag: 4,
  /** f64. */
  weight: 8,
} as const;
export const ENTRY_BYTES = 16;

/** A block of the heap, by its number. */
export const Block = {
  address: 0,
  size: 4,
  key: 8,
  /** In the list of free numbers. */
  next: 12,
} as const;
export const BLOCK_BYTES = 16;

/**
 * Whose bytes of a line were when they were touched last. Entries of one line have different bytes, but for what was touched in no
 * block since: that is told apart.
 */
export const Owned = {
  key: 0,
  /** Entry of the same line, 0 for none. */
  next: 4,
  /** u64; 0: nothing. */
  mask: 8,
  /** u32: number of the interval that touched the bytes, plus one. */
  stamp: 16,
} as const;
export const OWNED_BYTES = 24;

/** Touched bytes of a block that was freed in the open interval. */
export const Freed = {
  key: 0,
  /** Entry of the same line, 0 for none. */
  next: 4,
  /** u64: its bytes of the line; of different entries, different ones. */
  mask: 8,
  line: 16,
} as const;
export const FREED_BYTES = 24;
