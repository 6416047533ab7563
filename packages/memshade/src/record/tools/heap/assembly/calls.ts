// Maps the program's calls to a calling context, here by the frames of the shadow stack. Native programs,
// whose stacks are unwound, get another file in place of this one when they are built.
import { STACK_FRAME_BYTES, StackFrame } from "../../../contexts/assembly/layout.generated";
import { dragOf } from "./drag";
import { growthOf } from "./growth";
import { askOutOfTurn, isHostSite, siteOf } from "./host-callers";
import {
  CHILD_CAPACITY,
  CONTROL,
  flush,
  HOST_STACKS,
  MIB_CAPACITY,
  MIBS,
  NODE_CAPACITY,
  NODES,
  SHARED,
  STACK,
} from "./imports";
import { clearChanges } from "./intervals";
import {
  CHILD_BYTES,
  Child,
  Context,
  Control,
  DRAG_BYTES,
  FIRST_CHILDREN,
  GROWTH_BYTES,
  HostNode,
  Node,
  Past,
} from "./layout.generated";
import { liveOf, noticePeak, pastOf } from "./live";
import { foldAll } from "./shapes";
import { forgetMemos, noteDepth } from "./threads";
import {
  childCount,
  childEntry,
  childOf,
  findChild,
  insertChild,
  mibAt,
  mibOf,
  nodeAt,
  standsFor,
  useChildren,
} from "./tree";

/** Longest pause between flushes, in allocations, after many flushes that made no room. */
const LONGEST_PAUSE: u32 = 1 << 30;

/** Prepares the frames below the stack: the root's frame, and under it a zero where a call site would be. */
export function prepareContexts(): void {
  store<u32>(STACK - STACK_FRAME_BYTES, NODES, StackFrame.node);
  store<u32>(STACK - 2 * STACK_FRAME_BYTES, NODES, StackFrame.node);
  useChildren(min(FIRST_CHILDREN, CHILD_CAPACITY));
}

/**
 * Returns the block table entry for the calls on the shadow stack up to `frame`; 0 if the tables are full.
 * Decoded frames carry their node as a memo, except the newest one. If the newest frame stands for the host,
 * the host called the allocation function itself. Then `self`, the function's own site, becomes the innermost
 * call.
 */
function decode(frame: u32, self: u32): usize {
  if (frame < STACK) return mibOfCall(NODES, self);
  let knownFrame = frame - STACK_FRAME_BYTES;
  while (load<u32>(knownFrame, StackFrame.node) === 0) knownFrame -= STACK_FRAME_BYTES;
  let node = load<u32>(knownFrame, StackFrame.node);
  for (let at = knownFrame + STACK_FRAME_BYTES; at < frame; at += STACK_FRAME_BYTES) {
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

/**
 * Counts an entry of the host in its node. Each entry is counted once: its frame gets a memo now, or is the
 * newest frame and is not decoded again.
 */
@inline
function countEntry(node: u32): void {
  store<u32>(node, load<u32>(node, HostNode.entries) + 1, HostNode.entries);
}

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
 * Frees all nodes and contexts that no live block needs. True if there is enough room again for contexts and
 * for the calls on their paths. The caller has handed the finished figures to the host before.
 */
function evict(frame: u32): bool {
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
    // A free entry stores the index of the next free entry in place of its node, and its node drops the
    // reference to it.
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
  return free >= MIB_CAPACITY >>> 3 && NODE_CAPACITY - 1 - used >= NODE_CAPACITY >>> 3;
}

/** True if so many contexts have no live block that freeing them is worth the cost. */
function areManyIdle(): bool {
  const mibEnd = load<u32>(CONTROL, Control.mibNext);
  let idle: u32 = MIB_CAPACITY - 1 - mibEnd;
  for (let i: u32 = 1; i <= mibEnd; i++) if (liveOf(mibAt(i)) === 0) idle++;
  return idle >= MIB_CAPACITY >>> 3;
}

/** Resets a context to the state before its first block ended. */
function emptyMib(mib: usize): void {
  // The histogram buffer stays with the entry; a length of zero empties it.
  memory.fill(mib + Context.allocTimestamp, 0, Context.forgottenEnd - Context.allocTimestamp);
  memory.fill(growthOf(mib), 0, GROWTH_BYTES);
  memory.fill(dragOf(mib), 0, DRAG_BYTES);
  if (SHARED !== 0) memory.fill(mib + Context.allocCpu, 0, Context.processorsEnd - Context.allocCpu);
  memory.fill(mib + Context.collectedBytes, 0, Context.collectedEnd - Context.collectedBytes);
}

function clearFinished(): void {
  const end = load<u32>(CONTROL, Control.mibNext);
  for (let i: u32 = 0; i <= end; i++) emptyMib(mibAt(i));
  clearChanges();
}

/**
 * Returns the block table entry for the call of the newest frame, 0 if that call has not allocated before.
 * Decoded frames and the root carry their node as a memo. The newest frame has none, because it was written
 * for this call.
 */
@inline
export function knownContext(frame: u32): usize {
  let node = load<u32>(frame - STACK_FRAME_BYTES, StackFrame.node);
  if (node === 0) {
    let knownFrame = frame - 2 * STACK_FRAME_BYTES;
    node = load<u32>(knownFrame, StackFrame.node);
    while (node === 0) {
      knownFrame -= STACK_FRAME_BYTES;
      node = load<u32>(knownFrame, StackFrame.node);
    }
    for (let at = knownFrame + STACK_FRAME_BYTES; at !== frame; at += STACK_FRAME_BYTES) {
      const entry = childEntry(node, load<u32>(at, StackFrame.site));
      if (entry === 0) return 0;
      node = load<u32>(entry, Child.node);
      store<u32>(at, node, StackFrame.node);
    }
  }
  const site = load<u32>(frame, StackFrame.site);
  if (load<u32>(node, Node.lastSite) === site) return load<u32>(node, Node.lastMib);
  if (load<u32>(node, Node.otherSite) === site) return load<u32>(node, Node.otherMib);
  const entry = childEntry(node, site);
  if (entry === 0) return 0;
  const mib: usize = load<u32>(entry, Child.mib);
  if (mib === 0) return 0;
  store<u64>(node, load<u64>(node, Node.lastSite), Node.otherSite);
  store<u32>(node, site, Node.lastSite);
  store<u32>(node, mib, Node.lastMib);
  return mib;
}

/**
 * Returns the block table entry for the call of the newest frame on the shadow stack.
 * `self`: code offset of the allocation function, which is the context if the host called the function
 * itself.
 */
export function contextOf(frame: u32, self: u32): usize {
  if (SHARED !== 0) noteDepth(frame);
  let mib = frame < STACK ? 0 : knownContext(frame);
  if (mib === 0) mib = decode(frame, self);
  if (mib !== 0) return mib;
  const pause = load<u32>(CONTROL, Control.flushPause);
  if (pause !== 0) store<u32>(CONTROL, pause - 1, Control.flushPause);
  else if (!areManyIdle()) store<u32>(CONTROL, MIB_CAPACITY >>> 1, Control.flushPause);
  else {
    noticePeak();
    foldAll();
    if (flush() === 0) store<u32>(CONTROL, MIB_CAPACITY, Control.flushPause);
    else {
      clearFinished();
      // If live blocks need nearly all nodes, the next eviction will not help either. The pause before the
      // next one is doubled each time.
      if (evict(frame)) store<u32>(CONTROL, 0, Control.fruitlessPause);
      else {
        const last = load<u32>(CONTROL, Control.fruitlessPause);
        const pause = last === 0 ? MIB_CAPACITY >>> 1 : min(last, LONGEST_PAUSE >>> 1) << 1;
        store<u32>(CONTROL, pause, Control.fruitlessPause);
        store<u32>(CONTROL, pause, Control.flushPause);
      }
      mib = decode(frame, self);
      if (mib !== 0) return mib;
    }
  }
  store<u32>(CONTROL, load<u32>(CONTROL, Control.overflowContexts) + 1, Control.overflowContexts);
  return MIBS;
}
