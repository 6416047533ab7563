// Calling context tree. An edge from parent to child is a call site.

import { INDEX, INDEX_ENTRIES, NODE_CAPACITY, NODE_NEXT, NODES } from "./imports";
import {
  FEWEST_INDEX_ENTRIES,
  INDEX_ENTRY_BYTES,
  IndexEntry,
  IndexHead,
  IndexKind,
  NODE_BYTES,
  NOWHERE,
  Node,
} from "./layout.generated";

/**
 * Returns the node of site `place` called from `parent`, 0 being the root; `NOWHERE` if the tables are full. A site
 * that is already on the path returns its own node.
 */
export function childOf(parent: u32, place: u32): u32 {
  const at = find(parent, place, IndexKind.child);
  if (isKnown(at)) return valueAt(at);
  let node = findOnPath(parent, place);
  if (node === 0) {
    node = load<u32>(NODE_NEXT) + 1;
    if (node >= NODE_CAPACITY || at === 0) return NOWHERE;
    store<u32>(NODE_NEXT, node);
    store<u32>(NODES + node * NODE_BYTES, parent, Node.parent);
    store<u32>(NODES + node * NODE_BYTES, place, Node.place);
  }
  if (at !== 0) insert(at, parent, place, IndexKind.child, node);
  return node;
}

/** Returns the node of a site on the path to `node`; 0 if it is not on the path. */
function findOnPath(node: u32, place: u32): u32 {
  while (node !== 0 && load<u32>(NODES + node * NODE_BYTES, Node.place) !== place)
    node = load<u32>(NODES + node * NODE_BYTES, Node.parent);
  return node;
}

// Pair table: see `IndexEntry` in `layout.ts`.

const MOST_TRIES: u32 = 4096;

@inline
function entries(): u32 {
  const count = load<u32>(INDEX, IndexHead.entries);
  return count === 0 ? FEWEST_INDEX_ENTRIES : count;
}

/** Returns the entry of (first, second, kind), or the empty entry for it; 0 if the table is full. */
export function find(first: u32, second: u32, kind: u32): usize {
  let h: u32 = first * 0x9e3779b1 + second * 0x85ebca6b + kind * 0xc2b2ae35;
  h ^= h >>> 15;
  const count = entries();
  const table: usize = INDEX + count * INDEX_ENTRY_BYTES;
  for (let tries: u32 = 0; tries < MOST_TRIES; tries++) {
    const at: usize = table + ((h + tries) & (count - 1)) * INDEX_ENTRY_BYTES;
    const found = load<u32>(at, IndexEntry.kind);
    if (found === 0) return at;
    if (
      found === kind &&
      load<u32>(at, IndexEntry.first) === first &&
      load<u32>(at, IndexEntry.second) === second
    )
      return at;
  }
  return 0;
}

/** True if `find` returned an existing entry. */
@inline
export function isKnown(at: usize): bool {
  return at !== 0 && load<u32>(at, IndexEntry.kind) !== 0;
}
@inline
export function valueAt(at: usize): u32 {
  return load<u32>(at, IndexEntry.value);
}

/** Fills an entry returned by `find`. The entry may move, so `at` is invalid afterwards. */
export function insert(at: usize, first: u32, second: u32, kind: u32, value: u32): void {
  put(at, first, second, kind, value);
  const taken = load<u32>(INDEX, IndexHead.taken) + 1;
  store<u32>(INDEX, taken, IndexHead.taken);
  const count = entries();
  if (taken << 1 > count && count < INDEX_ENTRIES) double(count);
}

@inline
function put(at: usize, first: u32, second: u32, kind: u32, value: u32): void {
  store<u32>(at, first, IndexEntry.first);
  store<u32>(at, second, IndexEntry.second);
  store<u32>(at, kind, IndexEntry.kind);
  store<u32>(at, value, IndexEntry.value);
}

function double(count: u32): void {
  store<u32>(INDEX, count << 1, IndexHead.entries);
  let at: usize = INDEX + count * INDEX_ENTRY_BYTES;
  for (let i: u32 = 0; i < count; i++, at += INDEX_ENTRY_BYTES) {
    const kind = load<u32>(at, IndexEntry.kind);
    if (kind === 0) continue;
    const first = load<u32>(at, IndexEntry.first);
    const second = load<u32>(at, IndexEntry.second);
    const to = find(first, second, kind);
    if (to !== 0) put(to, first, second, kind, load<u32>(at, IndexEntry.value));
  }
}
