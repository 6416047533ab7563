import { childEntry, childPlace, knownContext, nextPlace } from "./known-context";
import {
  C_CHILD_SHIFT, C_CHILD_TABLE, C_CHILDREN_USED, C_EVICTIONS, C_FLUSH_PAUSE, C_MIB_FREE, C_MIB_NEXT, C_NODE_FREE,
  C_NODE_NEXT, C_OVERFLOW_CONTEXTS, CHILD_CAPACITY, CHILD_SIZE, CHILDREN, CONTROL, F_NODE, F_SITE, FIRST_CHILDREN,
  FRAME_SIZE, H_MIB, H_NODE, H_PARENT, H_SITE, M_ALLOC_CPU, M_ALLOC_TIMESTAMP, M_FORGOTTEN_END, M_LIVE, M_NODE, M_PEAK,
  M_PROCESSORS_END, MIB_CAPACITY, MIB_SIZE, MIBS, N_LAST_SITE, N_MARK, N_MIB, N_OTHER_SITE, N_PARENT, N_SITE,
  NODE_CAPACITY, NODE_SIZE, NODES, SHARED, STACK,
} from "./layout";
import { noticePeak } from "./live";
import { foldAll } from "./shapes";
import { forgetMemos, noteDepth } from "./threads";

/** Hands all finished figures to the host. 0: nobody listens. */
@external("host", "flush")
declare function flush(): u32;

@inline function nodeAt(index: u32): usize { return NODES + index * NODE_SIZE; }
@inline function mibAt(index: u32): usize { return MIBS + index * MIB_SIZE; }

/** Entries of the children's table, used or not. */
@inline function childCount(): u32 { return (<u32>-1 >>> load<u32>(CONTROL, C_CHILD_SHIFT)) + 1; }

/** Makes the table one of `count` entries; its memory is zero. */
function useChildren(count: u32): void {
  store<u32>(CONTROL, CHILDREN + count * CHILD_SIZE, C_CHILD_TABLE);
  store<u32>(CONTROL, clz(count) + 1, C_CHILD_SHIFT);
}

function freePlace(parent: u32, site: u32): usize {
  const table = load<u32>(CONTROL, C_CHILD_TABLE);
  let place = childPlace(parent, site);
  while (load<u32>(table + place, H_NODE) != 0) place = nextPlace(place);
  return table + place;
}

function insertChild(parent: u32, site: u32, node: u32): void {
  const entry = freePlace(parent, site);
  store<u32>(entry, parent, H_PARENT);
  store<u32>(entry, site, H_SITE);
  store<u32>(entry, node, H_NODE);
}

/** Moves the children to a table of twice the size. */
function growChildren(): void {
  const old = load<u32>(CONTROL, C_CHILD_TABLE);
  const count = childCount();
  useChildren(count << 1);
  for (let from = old; from != old + count * CHILD_SIZE; from += CHILD_SIZE)
    if (load<u32>(from, H_NODE) != 0)
      memory.copy(freePlace(load<u32>(from, H_PARENT), load<u32>(from, H_SITE)), from, CHILD_SIZE);
}

/** The entry of a child, 0 when there is none. */
function findChild(parent: u32, site: u32): usize { return childEntry(parent, site); }

/** A site that is on the path already stands for itself: recursion through any kind of call stays finite. */
function findOnPath(node: u32, site: u32): u32 {
  while (node != NODES) {
    if (load<u32>(node, N_SITE) == site) return node;
    node = load<u32>(node, N_PARENT);
  }
  return 0;
}

/** 0 when the table is full. */
function newNode(parent: u32, site: u32): u32 {
  let node = load<u32>(CONTROL, C_NODE_FREE);
  if (node != 0) {
    store<u32>(CONTROL, load<u32>(node, N_PARENT), C_NODE_FREE);
  } else {
    const index = load<u32>(CONTROL, C_NODE_NEXT) + 1;
    if (index >= NODE_CAPACITY) return 0;
    store<u32>(CONTROL, index, C_NODE_NEXT);
    node = nodeAt(index);
  }
  store<u32>(node, parent, N_PARENT);
  store<u32>(node, site, N_SITE);
  store<u32>(node, 0, N_MIB);
  return node;
}

/** The tree node of `site` called from `parent`; 0 when the table is full. */
export function childOf(parent: u32, site: u32): u32 {
  const entry = findChild(parent, site);
  if (entry != 0) return load<u32>(entry, H_NODE);
  let node = findOnPath(parent, site);
  if (node == 0) node = newNode(parent, site);
  // Aliases of recursive sites take table space too: a full table is a full table.
  if (node == 0 || !hasChildRoom()) return 0;
  insertChild(parent, site, node);
  return node;
}

/**
 * The largest table has twice as many entries as there are nodes; aliases may fill the second half. Smaller ones stay
 * three quarters empty, so that a look at one place or two is enough.
 */
function hasChildRoom(): bool {
  const used = load<u32>(CONTROL, C_CHILDREN_USED) + 1;
  const count = childCount();
  if (count == CHILD_CAPACITY) {
    if (used > (CHILD_CAPACITY >> 2) * 3) return false;
  } else if (used > count >> 2) growChildren();
  store<u32>(CONTROL, used, C_CHILDREN_USED);
  return true;
}

/** No block has ended. */
function emptyMib(mib: usize): void {
  // The histogram buffer stays with the entry, emptied by its length.
  memory.fill(mib + M_ALLOC_TIMESTAMP, 0, M_FORGOTTEN_END - M_ALLOC_TIMESTAMP);
  if (SHARED != 0) memory.fill(mib + M_ALLOC_CPU, 0, M_PROCESSORS_END - M_ALLOC_CPU);
}

/** The block table entry of a tree node, made at first sight; 0 when the table is full. */
function mibOf(node: u32): usize {
  const known = load<u32>(node, N_MIB);
  if (known != 0) return known;
  let index = load<u32>(CONTROL, C_MIB_FREE);
  if (index != 0) store<u32>(CONTROL, load<u32>(mibAt(index), M_NODE), C_MIB_FREE);
  else {
    index = load<u32>(CONTROL, C_MIB_NEXT) + 1;
    if (index >= MIB_CAPACITY) return 0;
    store<u32>(CONTROL, index, C_MIB_NEXT);
  }
  const mib = mibAt(index);
  memory.fill(mib, 0, M_FORGOTTEN_END);
  if (SHARED != 0) memory.fill(mib + M_ALLOC_CPU, 0, M_PROCESSORS_END - M_ALLOC_CPU);
  store<u32>(mib, node, M_NODE);
  store<u32>(node, mib, N_MIB);
  return mib;
}

/** Below the stack lies the root's frame, and a zero where there would be a call site before any call. */
export function prepareContexts(): void {
  store<u32>(STACK - FRAME_SIZE, NODES, F_NODE);
  store<u32>(STACK - 2 * FRAME_SIZE, NODES, F_NODE);
  useChildren(min(FIRST_CHILDREN, CHILD_CAPACITY));
}

/**
 * Address of the block table entry for the calls on the shadow stack up to `frame`; 0 when the tables are full. Frames
 * that were decoded before carry their node as a memo, but for the newest.
 */
function decode(frame: u32, self: u32): usize {
  if (frame < STACK) return mibOfCall(NODES, self);
  let known = frame - FRAME_SIZE;
  while (load<u32>(known, F_NODE) == 0) known -= FRAME_SIZE;
  let node = load<u32>(known, F_NODE);
  for (let at = known + FRAME_SIZE; at < frame; at += FRAME_SIZE) {
    node = childOf(node, load<u32>(at, F_SITE));
    if (node == 0) return 0;
    store<u32>(at, node, F_NODE);
  }
  return mibOfCall(node, load<u32>(frame, F_SITE));
}

function mibOfCall(parent: u32, site: u32): usize {
  const node = childOf(parent, site);
  if (node == 0) return 0;
  const mib = mibOf(node);
  if (mib != 0) store<u32>(findChild(parent, site), mib, H_MIB);
  return mib;
}

/**
 * Gives back everything no live block needs; the number of free entries. The finished figures have been handed out
 * before.
 */
function evict(frame: u32): u32 {
  let free: u32 = MIB_CAPACITY - 1 - load<u32>(CONTROL, C_MIB_NEXT);
  const nodeEnd = load<u32>(CONTROL, C_NODE_NEXT);
  for (let i: u32 = 0; i <= nodeEnd; i++) {
    store<u32>(nodeAt(i), 0, N_MARK);
    store<u64>(nodeAt(i), 0, N_LAST_SITE);
    store<u64>(nodeAt(i), 0, N_OTHER_SITE);
  }
  const mibEnd = load<u32>(CONTROL, C_MIB_NEXT);
  store<u32>(CONTROL, 0, C_MIB_FREE);
  for (let i: u32 = 1; i <= mibEnd; i++) {
    const mib = mibAt(i);
    const node = load<u32>(mib, M_NODE);
    if (load<u64>(mib, M_LIVE) != 0) {
      for (let n = node; n != NODES && load<u32>(n, N_MARK) == 0; n = load<u32>(n, N_PARENT)) store<u32>(n, 1, N_MARK);
      continue;
    }
    // A free entry keeps the next free one where its node was; its own node forgets it.
    if (node >= NODES && load<u32>(node, N_MIB) == mib) store<u32>(node, 0, N_MIB);
    store<u64>(mib, 0, M_PEAK);
    store<u32>(mib, load<u32>(CONTROL, C_MIB_FREE), M_NODE);
    store<u32>(CONTROL, i, C_MIB_FREE);
    free++;
  }
  memory.fill(load<u32>(CONTROL, C_CHILD_TABLE), 0, childCount() * CHILD_SIZE);
  store<u32>(CONTROL, 0, C_NODE_FREE);
  let used: u32 = 0;
  for (let i: u32 = 1; i <= nodeEnd; i++) {
    const node = nodeAt(i);
    if (load<u32>(node, N_MARK) != 0) {
      insertChild(load<u32>(node, N_PARENT), load<u32>(node, N_SITE), node);
      used++;
    } else {
      store<u32>(node, load<u32>(CONTROL, C_NODE_FREE), N_PARENT);
      store<u32>(node, 0, N_SITE);
      store<u32>(node, 0, N_MIB);
      store<u32>(CONTROL, node, C_NODE_FREE);
    }
  }
  store<u32>(CONTROL, used, C_CHILDREN_USED);
  if (SHARED != 0) forgetMemos();
  else for (let at = STACK; at <= frame; at += FRAME_SIZE) store<u32>(at, 0, F_NODE);
  store<u32>(CONTROL, load<u32>(CONTROL, C_EVICTIONS) + 1, C_EVICTIONS);
  return free;
}

/** Forgets the figures the host has taken; blocks that still live keep their entry. */
function clearFinished(): void {
  const end = load<u32>(CONTROL, C_MIB_NEXT);
  for (let i: u32 = 0; i <= end; i++) emptyMib(mibAt(i));
}

/**
 * Address of the block table entry for the call of the newest frame on the shadow stack. `self` is the code offset of
 * the allocation function, which stands for the context when the host itself called it.
 */
export function contextOf(frame: u32, self: u32): usize {
  if (SHARED != 0) noteDepth(frame);
  let mib = frame < STACK ? 0 : knownContext(frame);
  if (mib == 0) mib = decode(frame, self);
  if (mib != 0) return mib;
  const pause = load<u32>(CONTROL, C_FLUSH_PAUSE);
  if (pause != 0) store<u32>(CONTROL, pause - 1, C_FLUSH_PAUSE);
  else {
    noticePeak();
    foldAll();
    if (flush() == 0) store<u32>(CONTROL, MIB_CAPACITY, C_FLUSH_PAUSE);
    else {
      clearFinished();
      // Where nearly all contexts have live blocks, the next try will not help either: not so soon again.
      if (evict(frame) < MIB_CAPACITY >>> 3) store<u32>(CONTROL, MIB_CAPACITY >>> 1, C_FLUSH_PAUSE);
      mib = decode(frame, self);
      if (mib != 0) return mib;
    }
  }
  store<u32>(CONTROL, load<u32>(CONTROL, C_OVERFLOW_CONTEXTS) + 1, C_OVERFLOW_CONTEXTS);
  return MIBS;
}
