// Where things are in what calling contexts are kept in, for the code that fills it and for the one that reads it. Memory is zero at
// the start. Where the tables begin depends on the tool: `assembly/imports.ts`.

/**
 * Two words that each tool which follows calls has, at the address of the host word. Both are counted in bytes from where the
 * first call of the host stands: from the empty shadow stack, or from the root's slot.
 *
 * - The host word: the newest place at a call that has left a function for the host, or may have, through a table or a
 *   reference.
 * - The entry word: where the host is when it has control, which is where what it calls goes on.
 *
 * While the module's own code runs, both are what they were when the host called it. So they are right whatever ends
 * that call, a trap included; calls out of the module set them for their duration.
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
 * Call site in the frame that stands for an entry of the host. In bit 31 those differ from the module's own. Below are the stage
 * of sampling that the entry fell into (4 bits), and the number of the host's stack that made it: 0 where nobody asked for it.
 */
export const HostSite = {
  /** Nothing has been allocated in the entry so far, so that nothing was decided. */
  unsettled: 0x80000000,
  stageShift: 27,
  stageMask: 15,
  numberMask: 0x7ffffff,
  /** A number: there is no host that could be asked. */
  unknown: 0x7ffffff,
  /** A number: the host had no room for one more stack. */
  beyond: 0x7fffffe,
} as const;

/** What a function has in memory for one context: this header, the records of its sites, then its slots. */
export const Frame = {
  /** The function, among the defined ones and counted from 1. */
  tag: 0,
  node: 4,
  /** Bytes of the header and the records. */
  bytes: 8,
} as const;
export const FRAME_HEADER_BYTES = 16;

/** Part of a frame: a place that calls, and what it called last. */
export const Slot = {
  /** Of the callee. */
  frame: 0,
  tag: 4,
  /** The caller's frame; 0 in the slot of whoever calls from outside. */
  caller: 8,
  /** Number of the place, counted from 1, and `KEEPS_CONTEXT`. */
  place: 12,
} as const;
export const SLOT_BYTES = 16;
/** A place inside of a recursive component: the callee runs in the caller's context. */
export const KEEPS_CONTEXT = 0x80000000;

/** Node of the calling context tree: a place called from another node. The root has the number 0. */
export const Node = {
  parent: 0,
  place: 4,
} as const;
export const NODE_BYTES = 8;
/** Node of what found no room. */
export const NOWHERE = 0xffffffff;

/**
 * A table of pairs, with open addressing. It begins small, so that few pages are touched while it is, and doubles: one of n entries
 * lies n entries behind its address. The entry at the address itself is its head.
 */
export const IndexEntry = {
  first: 0,
  second: 4,
  /** Of `IndexKind`; 0: nothing is here. */
  kind: 8,
  value: 12,
} as const;
export const IndexHead = {
  /** How many entries the table has; 0 stands for the fewest. */
  entries: 0,
  taken: 4,
} as const;
export const INDEX_ENTRY_BYTES = 16;
export const FEWEST_INDEX_ENTRIES = 1024;

/** What a pair is, and what it leads to. */
export const IndexKind = {
  /** Node and place → node. */
  child: 1,
  /** Node and store site → key. */
  store: 2,
  /** Node and load site → key. */
  load: 3,
  /** Node and code offset → key. */
  place: 4,
  /** Node and tag → frame. */
  frame: 5,
  /** Number of a path of calls and code offset → key. */
  path: 6,
} as const;
