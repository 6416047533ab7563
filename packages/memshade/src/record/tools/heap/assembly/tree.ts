// The calling context tree: nodes, their children by call site, and the block table entries of the nodes that
// allocate.

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

@inline
export function childCount(): u32 {
  return (<u32>-1 >>> load<u32>(CONTROL, Control.childShift)) + 1;
}

/** Sets the table to `count` entries; its memory is zero. */
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

function growChildren(): void {
  const old = load<u32>(CONTROL, Control.childTable);
  const count = childCount();
  useChildren(count << 1);
  for (let from = old; from !== old + count * CHILD_BYTES; from += CHILD_BYTES)
    if (load<u32>(from, Child.node) !== 0)
      memory.copy(freePlace(load<u32>(from, Child.parent), load<u32>(from, Child.site)), from, CHILD_BYTES);
}

export function findChild(parent: u32, site: u32): usize {
  return childEntry(parent, site);
}

/**
 * Returns the node on the path that has the same site already, so that recursion stays finite; 0 if none
 * does.
 */
export function findOnPath(node: u32, site: u32): u32 {
  while (node !== NODES) {
    if (load<u32>(node, Node.site) === site) return node;
    node = load<u32>(node, Node.parent);
  }
  return 0;
}

/**
 * Returns an existing node for a new child, 0 if there is none.
 * An entry of the host stands for itself only, because entries without a known caller look alike. Paths stay
 * finite by the module's calls between two entries.
 */
export function standsFor(parent: u32, site: u32): u32 {
  if (HOST_STACKS === 0 || !isHostSite(site)) return findOnPath(parent, site);
  return load<u32>(parent, Node.site) === site ? parent : 0;
}

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

export function childOf(parent: u32, site: u32): u32 {
  const entry = findChild(parent, site);
  if (entry !== 0) return load<u32>(entry, Child.node);
  let node = standsFor(parent, site);
  if (node === 0) node = newNode(parent, site);
  // Aliases of recursive sites take table space as well.
  if (node === 0 || !hasChildRoom()) return 0;
  insertChild(parent, site, node);
  return node;
}

/**
 * Counts a new entry of the children's table, and grows the table if it must; false if there is no room.
 * The largest table has up to twice as many entries as there are nodes; aliases may use the rest, and a
 * quarter stays empty. Smaller tables stay three quarters empty, so that one or two probes are enough.
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

/** Returns the block table entry of a tree node, and creates it if needed; 0 if the table is full. */
export function mibOf(node: u32): usize {
  const existing = load<u32>(node, Node.mib);
  if (existing !== 0) return existing;
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

/**
 * Returns the offset of a child's home entry in the table. If that is taken, the child is in the next free
 * one.
 */
@inline
function childPlace(parent: u32, site: u32): u32 {
  return (
    (((parent + site * 0x9e3779b1) * 0x85ebca6b) >>> load<u32>(CONTROL, Control.childShift)) * CHILD_BYTES
  );
}

@inline
function nextPlace(place: u32): u32 {
  return (place + CHILD_BYTES) & ((<u32>-1 >>> load<u32>(CONTROL, Control.childShift)) * CHILD_BYTES);
}

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
