// Layout of the tables of calling contexts, shared by the code that fills and the code that reads them. Memory is zero
// at the start. The tool chooses the addresses: `assembly/imports.ts`.

/**
 * Two words of each tool that follows calls, at the address of the host word. Both are distances in bytes from the
 * position of the host's first call: the empty shadow stack, or the root's slot.
 *
 * - The host word: position of the newest call that has left a function for the host, or may have, through a table or a
 * reference.
 * - The entry word: position of the host while it has control. Its calls continue there.
 *
 * While the module's own code runs, both have the values from when the host called it. They are thus right however that
 * call ends, even by a trap. Calls out of the module set them for their duration.
 */
export const HOST_WORD = 0;
export const ENTRY_WORD = 4;

/** Frame of the shadow stack: the call site, and a memo of its node in the calling context tree. */
export const StackFrame = {
  site: 0,
  node: 4,
} as const;
export const STACK_FRAME_BYTES = 8;

/**
 * Call site in the frame of an entry from the host. Bit 31 distinguishes it from the module's own sites. The lower bits
 * hold the stage of sampling at the entry (4 bits) and the number of the host's stack; 0 if none was requested.
 */
export const HostSite = {
  /** No allocation has happened in the entry yet, so nothing is decided. */
  unsettled: 0x80000000,
  stageShift: 27,
  stageMask: 15,
  numberMask: 0x7ffffff,
  /** Number for a host that provides no stacks. */
  unknown: 0x7ffffff,
  /** Number for a stack for which the host had no room. */
  beyond: 0x7fffffe,
} as const;

/** Memory of a function for one context: this header, the records of its sites, then its slots. */
export const Frame = {
  /** Index among the defined functions, counted from 1. */
  tag: 0,
  node: 4,
  bytes: 8,
} as const;
export const FRAME_HEADER_BYTES = 16;

/** Slot of a frame: a call site, and the function that it called last. */
export const Slot = {
  /** Frame of the callee; `tag`: its function. */
  frame: 0,
  tag: 4,
  /** The caller's frame; 0 in the slot for calls from outside. */
  caller: 8,
  /** Number of the site, counted from 1, with `KEEPS_CONTEXT`. */
  place: 12,
} as const;
export const SLOT_BYTES = 16;
/** Bit of a site inside a recursive component: the callee runs in the caller's context. */
export const KEEPS_CONTEXT = 0x80000000;

/** Node of the calling context tree: a site called from another node. The root has the number 0. */
export const Node = {
  parent: 0,
  place: 4,
} as const;
export const NODE_BYTES = 8;
/** Node of contexts for which there was no room. */
export const NOWHERE = 0xffffffff;

/**
 * Pair table with open addressing. The table starts small, to touch few pages, and doubles. A table of n entries lies n
 * entries after its address. The entry at the address itself is its head.
 */
export const IndexEntry = {
  first: 0,
  second: 4,
  /** An `IndexKind`; 0: the entry is empty. */
  kind: 8,
  value: 12,
} as const;
export const IndexHead = {
  /** Number of entries; 0 means the smallest table. */
  entries: 0,
  taken: 4,
} as const;
export const INDEX_ENTRY_BYTES = 16;
export const FEWEST_INDEX_ENTRIES = 1024;

export const IndexKind = {
  /** Node and site → node. */
  child: 1,
  /** Node and store site → key. */
  store: 2,
  /** Node and load site → key. */
  load: 3,
  /** Node and code offset → key. */
  place: 4,
  /** Node and tag → frame. */
  frame: 5,
  /** Number of a call path and code offset → key. */
  path: 6,
} as const;
