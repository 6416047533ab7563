// Layout of the attribution's tables, which follow those of the working set and of the locality.

export const State = {
  /** Key for the touches of a bulk instruction or of the host. */
  key: 0,
  /** Slot of the call that allocates, 0: unknown. */
  request: 4,
  blockNext: 8,
  blockFree: 12,
  freed: 16,
  lists: 20,
  used: 24,
  nodeNext: 28,
  frameNext: 32,
  /** Two words of `contexts/layout.ts`: host word. */
  hostWord: 40,
  /** `Slot` of frames for calls from outside. */
  rootSlot: 48,
  blocksLost: 64,
  freedLost: 68,
  listsLost: 72,
  keysLost: 76,
  /** Entries of OWNED, after the first ones of the lines, that were ever in use. */
  ownedNext: 80,
  ownedFree: 84,
  /** Pieces of lines without room in OWNED. */
  ownedLost: 88,
  /** u32 per bucket: bytes of the current interval. */
  byteCounts: 128,
  /** Per kind: key, tag and address of the entry that was last used. */
  last: 256,
  /** Owners of the bytes of the current line: key and mask, up to one per byte. */
  parts: 512,
  /** Weights by key for the current line: key and weight, up to two per byte. */
  weights: 1536,
} as const;
export const STATE_BYTES = 4096;
export const LAST_BYTES = 16;

/**
 * Keys without a place in code. All others are addresses in a frame. For an instruction that accesses memory: the end
 * of the header plus its distance from the function's first instruction. For a call that allocates: its slot.
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

export const Kind = { touch: 1, share: 2, fill: 3 } as const;

/** Entry of the open interval's sums, and of a snapshot's list. A tag is kind << 8 | bucket, 0 for an empty entry. */
export const Entry = {
  key: 0,
  tag: 4,
  weight: 8,
} as const;
export const ENTRY_BYTES = 16;

export const Block = {
  address: 0,
  size: 4,
  key: 8,
  next: 12,
} as const;
export const BLOCK_BYTES = 16;

/**
 * Owner of a line's bytes at their last touch. Entries of one line have different bytes, except bytes that were last
 * touched in no block: these keep their former owner's entry too.
 */
export const Owned = {
  key: 0,
  /** Entry of the same line, 0 for none. */
  next: 4,
  /** u64; 0: no bytes. */
  mask: 8,
  /** u32: number of the interval that touched the bytes, plus one. */
  stamp: 16,
} as const;
export const OWNED_BYTES = 24;

/** Touched bytes of a block that was freed in the open interval. */
export const Freed = {
  key: 0,
  next: 4,
  /** u64: bytes of the line. Different entries have different bytes. */
  mask: 8,
  line: 16,
} as const;
export const FREED_BYTES = 24;
