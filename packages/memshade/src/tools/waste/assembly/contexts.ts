// Calling contexts of the full engine: the context at hand, and keys for (context, access site).
import {
  C_ALLOCATION_NODE, C_ALLOCATION_SITE, C_KEYS_LOST, C_LOAD_KEYS, C_PLACES, C_RETURN_SITE, C_STORE_KEYS, CONTROL, L_NODE, L_SITE, LOADS,
  RECORD_SIZE, S_NODE, S_SITE, STORES,
} from "./layout";
import { childOf, find, insert, isKnown, LOAD_KEY, NOWHERE, PLACE_KEY, STORE_KEY, valueOf } from "../../../contexts/assembly/frames/tree";

// The node at hand: the module keeps it in a global of its own.
@external("layout", "NODE")
declare const NODE: u32;
// 0: accesses are told apart by instruction alone.
@external("layout", "BY_CONTEXT")
declare const BY_CONTEXT: u32;
// Keys up to here are sites without a context: they take what finds no room.
@external("layout", "STORE_SITES")
declare const STORE_SITES: u32;
@external("layout", "LOAD_SITES")
declare const LOAD_SITES: u32;
@external("layout", "STORE_CAPACITY")
declare const STORE_CAPACITY: u32;
@external("layout", "LOAD_CAPACITY")
declare const LOAD_CAPACITY: u32;

function lose(): void {
  store<u32>(CONTROL, load<u32>(CONTROL, C_KEYS_LOST) + 1, C_KEYS_LOST);
}

/** A call at code offset `site`: the node that what follows runs in. */
export function enter(site: u32): u32 {
  const node = childOf(NODE, site);
  if (node != NOWHERE) return node;
  lose();
  return NODE;
}

function keyOf(site: u32, kind: u32, last: usize, sites: u32, capacity: u32, table: u32, nodeAt: usize, siteAt: usize): u32 {
  const node = NODE;
  const at = find(node, site, kind);
  if (isKnown(at)) return valueOf(at);
  const count = load<u32>(CONTROL + last) + 1;
  const key = sites + count;
  if (at == 0 || key >= capacity) {
    lose();
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

/** The key of the place that ends the frame at hand. */
export function returnKey(): u32 {
  return placeKey(load<u32>(CONTROL, C_RETURN_SITE), NODE);
}

/** The key of the place that called the allocator, which may be further out than what only passed its request on. */
export function allocationKey(): u32 {
  const offset = load<u32>(CONTROL, C_ALLOCATION_SITE);
  return placeKey(offset, offset == 0 ? NODE : load<u32>(CONTROL, C_ALLOCATION_NODE));
}

/** The key, from 1, of a code offset (0: unknown) in a context: a place that allocates, frees or returns. */
function placeKey(offset: u32, context: u32): u32 {
  const node = BY_CONTEXT == 0 ? 0 : context;
  const at = find(node, offset, PLACE_KEY);
  if (at == 0) {
    lose();
    return 0;
  }
  if (isKnown(at)) return valueOf(at);
  const key = load<u32>(CONTROL, C_PLACES) + 1;
  store<u32>(CONTROL, key, C_PLACES);
  insert(at, node, offset, PLACE_KEY, key);
  return key;
}
