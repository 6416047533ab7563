// Calling contexts of precise mode: the current context, and keys of (context, access site).
import { IndexKind, NOWHERE } from "../../../../contexts/assembly/layout.generated";
import { childOf, find, insert, isKnown, valueAt } from "../../../../contexts/assembly/tree";
import {
  BY_CONTEXT,
  CONTROL,
  LOAD_CAPACITY,
  LOAD_SITES,
  LOADS,
  NODE,
  SITE_CAPACITY,
  STORE_CAPACITY,
  STORE_SITES,
  STORES,
} from "../imports";
import { Control, Load, RECORD_BYTES, Store } from "../layout.generated";
import { pathAtHand } from "../paths";

function lose(): void {
  store<u32>(CONTROL, load<u32>(CONTROL, Control.keysLost) + 1, Control.keysLost);
}

/** Returns the node of a callee that is called at code offset `site`. */
export function enter(site: u32): u32 {
  const node = childOf(NODE, site);
  if (node !== NOWHERE) return node;
  lose();
  return NODE;
}

function keyOf(
  site: u32,
  kind: u32,
  last: usize,
  sites: u32,
  capacity: u32,
  table: u32,
  nodeAt: usize,
  siteAt: usize,
): u32 {
  const node = NODE;
  const at = find(node, site, kind);
  if (isKnown(at)) return valueAt(at);
  const count = load<u32>(CONTROL + last) + 1;
  const key = sites + count;
  if (at === 0 || key >= capacity) {
    lose();
    return site;
  }
  store<u32>(CONTROL + last, count);
  insert(at, node, site, kind, key);
  store<u32>(table + key * RECORD_BYTES + nodeAt, node);
  store<u32>(table + key * RECORD_BYTES + siteAt, site);
  return key;
}

@inline
export function storeKey(site: u32): u32 {
  return BY_CONTEXT === 0
    ? site
    : keyOf(
        site,
        IndexKind.store,
        Control.storeKeys,
        STORE_SITES,
        STORE_CAPACITY,
        STORES,
        Store.node,
        Store.site,
      );
}

@inline
export function loadKey(site: u32): u32 {
  return BY_CONTEXT === 0
    ? site
    : keyOf(site, IndexKind.load, Control.loadKeys, LOAD_SITES, LOAD_CAPACITY, LOADS, Load.node, Load.site);
}

export function returnKey(): u32 {
  return placeKey(load<u32>(CONTROL, Control.returnSite), NODE);
}

/**
 * Returns the key of the site that called the allocator. It may be further out than functions that only pass the
 * request on.
 */
export function allocationKey(): u32 {
  const offset = load<u32>(CONTROL, Control.allocationSite);
  return placeKey(offset, offset === 0 ? NODE : load<u32>(CONTROL, Control.allocationNode));
}

/**
 * Returns the key of a new block's allocation site, with its call path, since the program may have called a library.
 * Once half of the sites are taken, new ones are keyed by the site alone.
 */
export function askingKey(): u32 {
  const offset = load<u32>(CONTROL, Control.allocationSite);
  const path = BY_CONTEXT !== 0 || offset === 0 ? 0 : pathAtHand();
  if (path === 0) return allocationKey();
  const at = find(path, offset, IndexKind.path);
  if (isKnown(at)) return valueAt(at);
  const isCrowded = SITE_CAPACITY !== 0 && load<u32>(CONTROL, Control.sitesNext) >= SITE_CAPACITY >>> 1;
  if (at === 0 || isCrowded) return allocationKey();
  return newKey(at, path, offset, IndexKind.path);
}

/** Returns the key, from 1, of a code offset (0: unknown) in a context. The site there allocates, frees or returns. */
function placeKey(offset: u32, context: u32): u32 {
  const node = BY_CONTEXT === 0 ? 0 : context;
  const at = find(node, offset, IndexKind.place);
  if (at === 0) {
    lose();
    return 0;
  }
  return isKnown(at) ? valueAt(at) : newKey(at, node, offset, IndexKind.place);
}

function newKey(at: usize, first: u32, offset: u32, kind: u32): u32 {
  const key = load<u32>(CONTROL, Control.places) + 1;
  store<u32>(CONTROL, key, Control.places);
  insert(at, first, offset, kind, key);
  return key;
}
