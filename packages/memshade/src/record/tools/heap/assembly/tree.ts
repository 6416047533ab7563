// The calling context tree: nodes, their children by call site, and the entries in the block table of those that allocate.

import { isHostSite } from "./host-callers";
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
} from "./imports";
import {
  CHILD_BYTES,
  Child,
  CONTEXT_BYTES,
  Context,
  Control,
  NODE_BYTES,
  Node,
  Past,
} from "./layout.generated";
import { pastOf } from "./live";

@inline
export function nodeAt(index: u32): usize {
  return NODES + index * NODE_BYTES;
}
@inline
export function mibAt(index: u32): usize {
  return MIBS + index * CONTEXT_BYTES;
}

/** Entries of the children's table, used or not. */
@inline
export function childCount(): u32 {
  return (<u32>-1 >>> load<u32>(CONTROL, Control.childShift)) + 1;
}

/** Makes the table one of `count` entries; its memory is zero. */
export function useChildren(count: u32): void {
  store<u32>(CONTROL, CHILDREN + count * CHILD_BYTES, Control.childTable);
  store<u32>(CONTROL, clz(count) + 1, Control.childShift);
}

function freePlace(parent: u32, site: u32): usize {
  const table = load<u32>(CONTROL, Control.childTable);
  let place = childPlace(parent, site);
  while (load<u32>(table + place, Child.node) !== 0) place = nextPlace(place);
  return table + place;
}

export function insertChild(parent: u32, site: u32, node: u32): void {
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
export function findChild(parent: u32, site: u32): usize {
  return childEntry(parent, site);
}

/** A site that is on the path already stands for itself: recursion through any kind of call stays finite. */
export function findOnPath(node: u32, site: u32): u32 {
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
export function standsFor(parent: u32, site: u32): u32 {
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
 * The largest table has more entries than there are nodes, up to twice as many; aliases may fill the others, and a quarter stays empty.
 * Smaller ones stay three quarters empty, so that a look at one place or two is enough.
 */
export function hasChildRoom(): bool {
  const used = load<u32>(CONTROL, Control.childrenUsed) + 1;
  const count = childCount();
  if (count === CHILD_CAPACITY) {
    if (used > (CHILD_CAPACITY >> 2) * 3) return false;
  } else if (used > count >> 2) growChildren();
  store<u32>(CONTROL, used, Control.childrenUsed);
  return true;
}

/** The block table entry of a tree node, made at first sight; 0 when the table is full. */
export function mibOf(node: u32): usize {
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
  memory.fill(mib + Context.collectedBytes, 0, Context.collectedEnd - Context.collectedBytes);
  store<u32>(mib, node, Context.node);
  store<u32>(node, mib, Node.mib);
  return mib;
}

/** Offset in the table of the entry where a child belongs; those behind it are next. */
@inline
function childPlace(parent: u32, site: u32): u32 {
  return (
    (((parent + site * 0x9e3779b1) * 0x85ebca6b) >>> load<u32>(CONTROL, Control.childShift)) * CHILD_BYTES
  );
}

/** Offset of the entry behind the one at `place`. */
@inline
function nextPlace(place: u32): u32 {
  return (place + CHILD_BYTES) & ((<u32>-1 >>> load<u32>(CONTROL, Control.childShift)) * CHILD_BYTES);
}

/** The entry of a child, 0 when there is none. */
@inline
export function childEntry(parent: u32, site: u32): usize {
  const table = load<u32>(CONTROL, Control.childTable);
  const key = <u64>parent | ((<u64>site) << 32);
  let place = childPlace(parent, site);
  while (load<u64>(table + place) !== key) {
    if (load<u32>(table + place, Child.node) === 0) return 0;
    place = nextPlace(place);
  }
  return table + place;
}
