// Calling contexts of the full engine: a tree of (parent, call site), and keys for (context, access site).
import { C_KEYS_LOST, C_LOAD_KEYS, C_NODE, C_NODE_NEXT, C_PLACES, C_STORE_KEYS, CONTROL, L_NODE, L_SITE, LOADS, RECORD_SIZE, S_NODE, S_SITE, STORES } from "./layout";

// 0: accesses are told apart by instruction alone.
@external("layout", "BY_CONTEXT")
declare const BY_CONTEXT: u32;
@external("layout", "NODES")
declare const NODES: u32;
@external("layout", "NODE_CAPACITY")
declare const NODE_CAPACITY: u32;
// Open addressing: {first, second, kind, value}, in turn for children, store keys, load keys and places.
@external("layout", "INDEX")
declare const INDEX: u32;
@external("layout", "INDEX_MASK")
declare const INDEX_MASK: u32;
// Keys up to here are sites without a context: they take what finds no room.
@external("layout", "STORE_SITES")
declare const STORE_SITES: u32;
@external("layout", "LOAD_SITES")
declare const LOAD_SITES: u32;
@external("layout", "STORE_CAPACITY")
declare const STORE_CAPACITY: u32;
@external("layout", "LOAD_CAPACITY")
declare const LOAD_CAPACITY: u32;

const ENTRY_SIZE: u32 = 16;
const NODE_SIZE: u32 = 8;
const CHILD: u32 = 1;
const STORE_KEY: u32 = 2;
const LOAD_KEY: u32 = 3;
const PLACE_KEY: u32 = 4;

/** Entry of (first, second, kind), or the empty one where it belongs. 0: the table is full. */
function find(first: u32, second: u32, kind: u32): usize {
  let h: u32 = first * 0x9e3779b1 + second * 0x85ebca6b + kind * 0xc2b2ae35;
  h ^= h >>> 15;
  for (let tries: u32 = 0; tries < 4096; tries++) {
    const at: usize = INDEX + ((h + tries) & INDEX_MASK) * ENTRY_SIZE;
    const found = load<u32>(at, 8);
    if (found == 0) return at;
    if (found == kind && load<u32>(at) == first && load<u32>(at, 4) == second) return at;
  }
  return 0;
}

function insert(at: usize, first: u32, second: u32, kind: u32, value: u32): void {
  store<u32>(at, first);
  store<u32>(at, second, 4);
  store<u32>(at, kind, 8);
  store<u32>(at, value, 12);
}

/** A call at code offset `site`: what follows runs in its context. A site on the path already stands for itself. */
export function enter(site: u32): void {
  const parent = load<u32>(CONTROL, C_NODE);
  const at = find(parent, site, CHILD);
  let node = parent;
  if (at != 0 && load<u32>(at, 8) != 0) node = load<u32>(at, 12);
  else {
    let above = parent;
    while (above != 0 && load<u32>(NODES + above * NODE_SIZE, 4) != site) above = load<u32>(NODES + above * NODE_SIZE);
    if (above != 0) node = above;
    else {
      const next = load<u32>(CONTROL, C_NODE_NEXT) + 1;
      if (next < NODE_CAPACITY && at != 0) {
        store<u32>(CONTROL, next, C_NODE_NEXT);
        store<u32>(NODES + next * NODE_SIZE, parent);
        store<u32>(NODES + next * NODE_SIZE, site, 4);
        node = next;
      } else store<u32>(CONTROL, load<u32>(CONTROL, C_KEYS_LOST) + 1, C_KEYS_LOST);
    }
    if (at != 0) insert(at, parent, site, CHILD, node);
  }
  store<u32>(CONTROL, node, C_NODE);
}

export function current(): u32 {
  return load<u32>(CONTROL, C_NODE);
}

export function leave(node: u32): void {
  store<u32>(CONTROL, node, C_NODE);
}

function keyOf(site: u32, kind: u32, last: usize, sites: u32, capacity: u32, table: u32, nodeAt: usize, siteAt: usize): u32 {
  const node = load<u32>(CONTROL, C_NODE);
  const at = find(node, site, kind);
  if (at != 0 && load<u32>(at, 8) != 0) return load<u32>(at, 12);
  const count = load<u32>(CONTROL + last) + 1;
  const key = sites + count;
  if (at == 0 || key >= capacity) {
    store<u32>(CONTROL, load<u32>(CONTROL, C_KEYS_LOST) + 1, C_KEYS_LOST);
    return site;
  }
  store<u32>(CONTROL + last, count);
  insert(at, node, site, kind, key);
  store<u32>(table + key * RECORD_SIZE + nodeAt, node);
  store<u32>(table + key * RECORD_SIZE + siteAt, site);
  return key;
}

@inline export function storeKey(site: u32): u32 {
  return BY_CONTEXT == 0 ? site : keyOf(site, STORE_KEY, C_STORE_KEYS, STORE_SITES, STORE_CAPACITY, STORES, S_NODE, S_SITE);
}

@inline export function loadKey(site: u32): u32 {
  return BY_CONTEXT == 0 ? site : keyOf(site, LOAD_KEY, C_LOAD_KEYS, LOAD_SITES, LOAD_CAPACITY, LOADS, L_NODE, L_SITE);
}

/** The key, from 1, of a code offset (0: unknown) in the context at hand: a place that allocates, frees or returns. */
export function placeKey(offset: u32): u32 {
  const node = BY_CONTEXT == 0 ? 0 : load<u32>(CONTROL, C_NODE);
  const at = find(node, offset, PLACE_KEY);
  if (at == 0) {
    store<u32>(CONTROL, load<u32>(CONTROL, C_KEYS_LOST) + 1, C_KEYS_LOST);
    return 0;
  }
  if (load<u32>(at, 8) != 0) return load<u32>(at, 12);
  const key = load<u32>(CONTROL, C_PLACES) + 1;
  store<u32>(CONTROL, key, C_PLACES);
  insert(at, node, offset, PLACE_KEY, key);
  return key;
}
