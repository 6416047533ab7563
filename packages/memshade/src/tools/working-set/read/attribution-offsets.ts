/**
 * Fields and numbers of the attribution's tables, as `tools/working-set/assembly/attribution/layout.ts` defines them; a test
 * compares the two.
 */
export const AttributionState = {
  KEY: 0,
  REQUEST: 4,
  BLOCK_NEXT: 8,
  BLOCK_FREE: 12,
  SETTLED: 16,
  LISTS: 20,
  USED: 24,
  NODE_NEXT: 28,
  FRAME_NEXT: 32,
  HOST_WORD: 40,
  ENTRY_WORD: 44,
  ROOT_SLOT: 48,
  BLOCKS_LOST: 64,
  SETTLED_LOST: 68,
  LISTS_LOST: 72,
  KEYS_LOST: 76,
  OWNED_NEXT: 80,
  OWNED_FREE: 84,
  OWNED_LOST: 88,
  BYTE_COUNTS: 128,
  LAST: 256,
  PARTS: 512,
  WEIGHTS: 1536,
} as const;

/** Keys without a place in a frame. */
export const AttributionKey = {
  NO_KEY: 0,
  STACK_KEY: 1,
  STATIC_KEY: 2,
  HEAP_KEY: 3,
  HOST_KEY: 4,
  OTHERS: 5,
  BYTES_KEY: 6,
  UNKNOWN_SITE: 7,
} as const;

export const EntryKind = { TOUCH_KIND: 1, SHARE_KIND: 2, FILL_KIND: 3 } as const;
export const Entry = { KEY: 0, TAG: 4, WEIGHT: 8 } as const;
export const ENTRY_BYTES = 16;
export const Block = { ADDRESS: 0, SIZE: 4, KEY: 8, NEXT: 12 } as const;
export const BLOCK_BYTES = 16;
export const Owned = { KEY: 0, NEXT: 4, MASK: 8, STAMP: 16 } as const;
export const OWNED_BYTES = 24;
export const Settled = { KEY: 0, NEXT: 4, MASK: 8, LINE: 16 } as const;
export const SETTLED_BYTES = 24;
