import { STACK_FRAME_BYTES, StackFrame } from "../../../contexts/assembly/layout.generated";
import { askOutOfTurn, isHostSite, siteOf } from "./host-callers";
import { childEntry, childPlace, knownContext, nextPlace } from "./known-context";
import {
  CHILD_CAPACITY,
  CHILDREN,
  CONTROL,
  HOST_STACKS,
  MIB_CAPACITY,
  MIBS,
  NODE_CAPACITY,
  NODES,
  SHARED,
  STACK,
  flush,
} from "./imports";
import {
  CHILD_BYTES,
  CONTEXT_BYTES,
  Child,
  Context,
  Control,
  DRAG_BYTES,
  FIRST_CHILDREN,
  GROWTH_BYTES,
  NODE_BYTES,
  Node,
  Past,
} from "./layout.generated";
import { dragOf } from "./drag";
import { growthOf } from "./growth";
import { clearChanges } from "./intervals";
import { liveOf, noticePeak, pastOf } from "./live";
import { foldAll } from "./shapes";
import { forgetMemos, noteDepth } from "./threads";

@inline
function nodeAt(index: u32): usize {
  return NODES + index * NODE_BYTES;
}
@inline
function mibAt(index: u32): usize {
  return MIBS + index * CONTEXT_BYTES;
}

/** Entries of the children's table, used or not. */
@inline
function childCount(): u32 {
  return (<u32>-1 >>> load<u32>(CONTROL, Control.childShift)) + 1;
}

/** Makes the table one of `count` entries; its memory is zero. */
function useChildren(count: u32): void {
  store<u32>(CONTROL, CHILDREN + count * CHILD_BYTES, Control.childTable);
  store<u32>(CONTROL, clz(count) + 1, Control.childShift);
}

function freePlace(parent: u32, site: u32): usize {
  const table = load<u32>(CONTROL, Control.childTable);
  let place = childPlace(parent, site);
  while (load<u32>(table + place, Child.node) !== 0) place = nextPlace(place);
  return table + place;
}

function insertChild(parent: u32, site: u32, node: u32): void {
  const entry = freePlace(parent, site);
  store<u32>(entry, parent, Child.parent);
  store<u32>(entry, site, Child.site);
  store<u32>(entry, node, Child.node);
}

/** Moves the children to a table of twice the size. */
function growChildren(): void {
  const old = load<u32>(CONTROL, Control.childTable);
  const count = childCount();
  useChildren(count << 1);
  for (let from = old; from !== old + count * CHILD_BYTES; from += CHILD_BYTES)
    if (load<u32>(from, Child.node) !== 0)
      memory.copy(freePlace(load<u32>(from, Child.parent), load<u32>(from, Child.site)), from, CHILD_BYTES);
}

/** The entry of a child, 0 when there is none. */
function findChild(parent: u32, site: u32): usize {
  return childEntry(parent, site);
}

/** A site that is on the path already stands for itself: recursion through any kind of call stays finite. */
function findOnPath(node: u32, site: u32): u32 {
  while (node !== NODES) {
    if (load<u32>(node, Node.site) === site) return node;
    node = load<u32>(node, Node.parent);
  }
  return 0;
}

/**
 * The node that stands for a new child already, 0 if none does. An entry of the host is one of its own, for those whose callers
 * nobody asked for look alike; what the module calls between two of them keeps paths finite.
 */
function standsFor(parent: u32, site: u32): u32 {
  if (HOST_STACKS === 0 || !isHostSite(site)) return findOnPath(parent, site);
  return load<u32>(parent, Node.site) === site ? parent : 0;
}

/** 0 when the table is full. */
function newNode(parent: u32, site: u32): u32 {
  let node = load<u32>(CONTROL, Control.nodeFree);
  if (node !== 0) {
    store<u32>(CONTROL, load<u32>(node, Node.parent), Control.nodeFree);
  } else {
    const index = load<u32>(CONTROL, Control.nodeNext) + 1;
    if (index >= NODE_CAPACITY) return 0;
    store<u32>(CONTROL, index, Control.nodeNext);
    node = nodeAt(index);
  }
  store<u32>(node, parent, Node.parent);
  store<u32>(node, site, Node.site);
  store<u32>(node, 0, Node.mib);
  return node;
}

/** The tree node of `site` called from `parent`; 0 when the table is full. */
export function childOf(parent: u32, site: u32): u32 {
  const entry = findChild(parent, site);
  if (entry !== 0) return load<u32>(entry, Child.node);
  let node = standsFor(parent, site);
  if (node === 0) node = newNode(parent, site);
  // Aliases of recursive sites take table space too: a full table is a full table.
  if (node === 0 || !hasChildRoom()) return 0;
  insertChild(parent, site, node);
  return node;
}

/**
 * The largest table has twice as many entries as there are nodes; aliases may fill the second half. Smaller ones stay
 * three quarters empty, so that a look at one place or two is enough.
 */
function hasChildRoom(): bool {
  const used = load<u32>(CONTROL, Control.childrenUsed) + 1;
  const count = childCount();
  if (count === CHILD_CAPACITY) {
    if (used > (CHILD_CAPACITY >> 2) * 3) return false;
  } else if (used > count >> 2) growChildren();
  store<u32>(CONTROL, used, Control.childrenUsed);
  return true;
}

/** No block has ended. */
function emptyMib(mib: usize): void {
  // The histogram buffer stays with the entry, emptied by its length.
  memory.fill(mib + Context.allocTimestamp, 0, Context.forgottenEnd - Context.allocTimestamp);
  memory.fill(growthOf(mib), 0, GROWTH_BYTES);
  memory.fill(dragOf(mib), 0, DRAG_BYTES);
  if (SHARED !== 0) memory.fill(mib + Context.allocCpu, 0, Context.processorsEnd - Context.allocCpu);
}

/** The block table entry of a tree node, made at first sight; 0 when the table is full. */
function mibOf(node: u32): usize {
  const known = load<u32>(node, Node.mib);
  if (known !== 0) return known;
  let index = load<u32>(CONTROL, Control.mibFree);
  if (index !== 0) store<u32>(CONTROL, load<u32>(mibAt(index), Context.node), Control.mibFree);
  else {
    index = load<u32>(CONTROL, Control.mibNext) + 1;
    if (index >= MIB_CAPACITY) return 0;
    store<u32>(CONTROL, index, Control.mibNext);
  }
  const mib = mibAt(index);
  memory.fill(mib, 0, Context.forgottenEnd);
  store<u64>(pastOf(mib), 0, Past.peak);
  if (SHARED !== 0) memory.fill(mib + Context.allocCpu, 0, Context.processorsEnd - Context.allocCpu);
  store<u32>(mib, node, Context.node);
  store<u32>(node, mib, Node.mib);
  return mib;
}

/** Below the stack lies the root's frame, and a zero where there would be a call site before any call. */
export function prepareContexts(): void {
  store<u32>(STACK - STACK_FRAME_BYTES, NODES, StackFrame.node);
  store<u32>(STACK - 2 * STACK_FRAME_BYTES, NODES, StackFrame.node);
  useChildren(min(FIRST_CHILDREN, CHILD_CAPACITY));
}

/**
 * Address of the block table entry for the calls on the shadow stack up to `frame`; 0 when the tables are full. Frames
 * that were decoded before carry their node as a memo, but for the newest. Where that stands for the host, which called the
 * allocation function itself, the function's own place is called from there.
 */
function decode(frame: u32, self: u32): usize {
  if (frame < STACK) return mibOfCall(NODES, self);
  let known = frame - STACK_FRAME_BYTES;
  while (load<u32>(known, StackFrame.node) === 0) known -= STACK_FRAME_BYTES;
  let node = load<u32>(known, StackFrame.node);
  for (let at = known + STACK_FRAME_BYTES; at < frame; at += STACK_FRAME_BYTES) {
    const site = siteOf(at, frame);
    if (HOST_STACKS === 1 && isNew(node, site) && askOutOfTurn(frame)) return decode(frame, self);
    node = childOf(node, site);
    if (node === 0) return 0;
    if (HOST_STACKS === 1 && isHostSite(site)) countEntry(node);
    store<u32>(at, node, StackFrame.node);
  }
  const site = siteOf(frame, frame);
  if (HOST_STACKS !== 0 && isHostSite(site)) {
    node = childOf(node, site);
    if (node === 0) return 0;
    if (HOST_STACKS === 1) countEntry(node);
    return mibOfCall(node, self);
  }
  if (HOST_STACKS === 1 && isNew(node, site) && askOutOfTurn(frame)) return decode(frame, self);
  return mibOfCall(node, site);
}

/** An entry has come to the node that it is of: its frame has a memo from now on, or is not looked at again. */
@inline
function countEntry(node: u32): void {
  store<u32>(node, load<u32>(node, Node.entries) + 1, Node.entries);
}

/** Whether nothing has been allocated by way of this child so far. */
function isNew(parent: u32, site: u32): boolean {
  return findChild(parent, site) === 0 && standsFor(parent, site) === 0;
}

function mibOfCall(parent: u32, site: u32): usize {
  const node = childOf(parent, site);
  if (node === 0) return 0;
  const mib = mibOf(node);
  if (mib !== 0) store<u32>(findChild(parent, site), mib, Child.mib);
  return mib;
}

/**
 * Gives back everything no live block needs; the number of free entries. The finished figures have been handed out
 * before.
 */
function evict(frame: u32): u32 {
  let free: u32 = MIB_CAPACITY - 1 - load<u32>(CONTROL, Control.mibNext);
  const nodeEnd = load<u32>(CONTROL, Control.nodeNext);
  for (let i: u32 = 0; i <= nodeEnd; i++) {
    store<u32>(nodeAt(i), 0, Node.mark);
    store<u64>(nodeAt(i), 0, Node.lastSite);
    store<u64>(nodeAt(i), 0, Node.otherSite);
  }
  const mibEnd = load<u32>(CONTROL, Control.mibNext);
  store<u32>(CONTROL, 0, Control.mibFree);
  for (let i: u32 = 1; i <= mibEnd; i++) {
    const mib = mibAt(i);
    const node = load<u32>(mib, Context.node);
    if (liveOf(mib) !== 0) {
      for (let n = node; n !== NODES && load<u32>(n, Node.mark) === 0; n = load<u32>(n, Node.parent))
        store<u32>(n, 1, Node.mark);
      continue;
    }
    // A free entry keeps the next free one where its node was; its own node forgets it.
    if (node >= NODES && load<u32>(node, Node.mib) === mib) store<u32>(node, 0, Node.mib);
    store<u64>(pastOf(mib), 0, Past.peak);
    store<u32>(mib, load<u32>(CONTROL, Control.mibFree), Context.node);
    store<u32>(CONTROL, i, Control.mibFree);
    free++;
  }
  memory.fill(load<u32>(CONTROL, Control.childTable), 0, childCount() * CHILD_BYTES);
  store<u32>(CONTROL, 0, Control.nodeFree);
  let used: u32 = 0;
  for (let i: u32 = 1; i <= nodeEnd; i++) {
    const node = nodeAt(i);
    if (load<u32>(node, Node.mark) !== 0) {
      insertChild(load<u32>(node, Node.parent), load<u32>(node, Node.site), node);
      used++;
    } else {
      store<u32>(node, load<u32>(CONTROL, Control.nodeFree), Node.parent);
      store<u32>(node, 0, Node.site);
      store<u32>(node, 0, Node.mib);
      store<u32>(CONTROL, node, Control.nodeFree);
    }
  }
  store<u32>(CONTROL, used, Control.childrenUsed);
  if (SHARED !== 0) forgetMemos();
  else for (let at = STACK; at <= frame; at += STACK_FRAME_BYTES) store<u32>(at, 0, StackFrame.node);
  store<u32>(CONTROL, load<u32>(CONTROL, Control.evictions) + 1, Control.evictions);
  return free;
}

/** Forgets the figures the host has taken; blocks that still live keep their entry. */
function clearFinished(): void {
  const end = load<u32>(CONTROL, Control.mibNext);
  for (let i: u32 = 0; i <= end; i++) emptyMib(mibAt(i));
  clearChanges();
}

/**
 * Address of the block table entry for the call of the newest frame on the shadow stack. `self` is the code offset of
 * the allocation function, which stands for the context when the host itself called it.
 */
export function contextOf(frame: u32, self: u32): usize {
  if (SHARED !== 0) noteDepth(frame);
  let mib = frame < STACK ? 0 : knownContext(frame);
  if (mib === 0) mib = decode(frame, self);
  if (mib !== 0) return mib;
  const pause = load<u32>(CONTROL, Control.flushPause);
  if (pause !== 0) store<u32>(CONTROL, pause - 1, Control.flushPause);
  else {
    noticePeak();
    foldAll();
    if (flush() === 0) store<u32>(CONTROL, MIB_CAPACITY, Control.flushPause);
    else {
      clearFinished();
      // Where nearly all contexts have live blocks, the next try will not help either: not so soon again.
      if (evict(frame) < MIB_CAPACITY >>> 3) store<u32>(CONTROL, MIB_CAPACITY >>> 1, Control.flushPause);
      mib = decode(frame, self);
      if (mib !== 0) return mib;
    }
  }
  store<u32>(CONTROL, load<u32>(CONTROL, Control.overflowContexts) + 1, Control.overflowContexts);
  return MIBS;
}
