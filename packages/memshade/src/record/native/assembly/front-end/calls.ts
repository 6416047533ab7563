// Replaces `tools/heap/assembly/calls.ts` for native programs: a context is a walked stack. `thread`: address
// of the `Thread` that has this stack.
import { CHILD_CAPACITY, CONTROL, MIBS, NODES } from "../../../tools/heap/assembly/imports";
import { setCounted } from "./imports";
import { Control, FIRST_CHILDREN, Node } from "../../../tools/heap/assembly/layout.generated";
import { childOf, mibOf, useChildren } from "../../../tools/heap/assembly/tree";
import { areVeryMany, foldedChildOf } from "../recursion";
import { Header, Site, STACK_FRAME_BYTES, StackFrame, Thread, WalkEnd } from "../layout.generated";

export function prepareContexts(): void {
  setCounted(load<u32>(Header.isCounting));
  useChildren(min(FIRST_CHILDREN, CHILD_CAPACITY));
}

/** Returns the stack's entry in the block table; 0 if it has not allocated before. */
@inline
export function knownContext(thread: u32): usize {
  const node = settledNode(thread);
  return node === 0 ? 0 : load<u32>(node, Node.mib);
}

/** Returns the innermost frame's node; 0 if the table is full. */
@inline
export function settledNode(thread: u32): u32 {
  const frames = load<u32>(thread, Thread.frames);
  if (load<u32>(thread, Thread.settled) !== frames) return settle(thread);
  return frames === 0 ? 0 : load<u32>(lastFrame(thread, frames), StackFrame.site);
}

@inline
function lastFrame(thread: u32, frames: u32): usize {
  return thread + Thread.stack + (frames - 1) * STACK_FRAME_BYTES;
}

/** Returns the parent of the outermost frame's node: the root, or a node that marks a cut or lost stack. */
function outermost(thread: u32): u32 {
  const end = load<u32>(thread, Thread.end);
  if (end === WalkEnd.whole) return NODES;
  return childOf(NODES, end === WalkEnd.cut ? Site.cut : Site.lost);
}

/**
 * Returns the node of a site called from another node. Each node caches its two latest children, because the
 * table of all children is slower.
 */
@inline
function calledFrom(node: u32, site: u32): u32 {
  if (load<u32>(node, Node.lastSite) === site) return load<u32>(node, Node.lastMib);
  const other = load<u64>(node, Node.otherSite);
  store<u64>(node, load<u64>(node, Node.lastSite), Node.otherSite);
  const child = <u32>other === site ? <u32>(other >>> 32) : otherChild(node, site);
  store<u32>(node, site, Node.lastSite);
  store<u32>(node, child, Node.lastMib);
  return child;
}

function otherChild(node: u32, site: u32): u32 {
  return areVeryMany() ? foldedChildOf(node, site) : childOf(node, site);
}

/** Gives nodes to the frames that have none. Returns the innermost one's; 0 if the table is full. */
function settle(thread: u32): u32 {
  const frames = load<u32>(thread, Thread.frames);
  let settled = load<u32>(thread, Thread.settled);
  let node = settled === 0 ? outermost(thread) : load<u32>(lastFrame(thread, settled), StackFrame.site);
  for (; node !== 0 && settled < frames; settled++) {
    const frame = lastFrame(thread, settled + 1);
    node = calledFrom(node, load<u32>(frame, StackFrame.site));
    if (node === 0) break;
    store<u32>(frame, node, StackFrame.site);
  }
  store<u32>(thread, settled, Thread.settled);
  return node;
}

/**
 * Returns the address of the stack's entry in the block table, or of the overflow entry if the tables are
 * full. `self`: the entry if it is already known, else 0.
 */
export function contextOf(thread: u32, self: u32): usize {
  if (self !== 0) return self;
  const node = settledNode(thread);
  const mib = node === 0 ? 0 : mibOf(node);
  if (mib !== 0) return mib;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.overflowContexts) + 1, Control.overflowContexts);
  return MIBS;
}
