// A table of pairs, and the calling context tree in it: nodes are reached from their parent by a place that calls.

// Address of the u32 with the number of the last node.
@external("layout", "NODE_NEXT")
declare const NODE_NEXT: u32;
@external("layout", "NODES")
declare const NODES: u32;
@external("layout", "NODE_CAPACITY")
declare const NODE_CAPACITY: u32;
// How often one place may stand on a path.
@external("layout", "RECURSION")
declare const RECURSION: u32;
// Open addressing: {first, second, kind, value}; what the two are depends on the kind. The table begins small, so that few
// pages are touched while it is, and doubles: one of n entries lies n entries behind INDEX. The entry at INDEX itself says
// how many it has (0 stands for the fewest), and how many are taken.
@external("layout", "INDEX")
declare const INDEX: u32;
// Entries it has at most, a power of two.
@external("layout", "INDEX_ENTRIES")
declare const INDEX_ENTRIES: u32;

const ENTRY_SIZE: u32 = 16;
const FEWEST_ENTRIES: u32 = 1024;
const T_ENTRIES: usize = 0;
const T_TAKEN: usize = 4;
const NODE_SIZE: u32 = 8;
const CHILD: u32 = 1;
export const STORE_KEY: u32 = 2;
export const LOAD_KEY: u32 = 3;
export const PLACE_KEY: u32 = 4;
export const FRAME: u32 = 5;

/** No node: the tables are full. */
export const NOWHERE: u32 = 0xffffffff;

@inline function entries(): u32 {
  const count = load<u32>(INDEX, T_ENTRIES);
  return count == 0 ? FEWEST_ENTRIES : count;
}

/** Entry of (first, second, kind), or the empty one where it belongs. 0: the table is full. */
export function find(first: u32, second: u32, kind: u32): usize {
  let h: u32 = first * 0x9e3779b1 + second * 0x85ebca6b + kind * 0xc2b2ae35;
  h ^= h >>> 15;
  const count = entries();
  const table: usize = INDEX + count * ENTRY_SIZE;
  for (let tries: u32 = 0; tries < 4096; tries++) {
    const at: usize = table + ((h + tries) & (count - 1)) * ENTRY_SIZE;
    const found = load<u32>(at, 8);
    if (found == 0) return at;
    if (found == kind && load<u32>(at) == first && load<u32>(at, 4) == second) return at;
  }
  return 0;
}

/** Whether `find` has found something. */
@inline export function isKnown(at: usize): bool { return at != 0 && load<u32>(at, 8) != 0; }
@inline export function valueAt(at: usize): u32 { return load<u32>(at, 12); }

/** At what `find` has returned, which means nothing any more behind this. */
export function insert(at: usize, first: u32, second: u32, kind: u32, value: u32): void {
  put(at, first, second, kind, value);
  const taken = load<u32>(INDEX, T_TAKEN) + 1;
  store<u32>(INDEX, taken, T_TAKEN);
  const count = entries();
  if (taken << 1 > count && count < INDEX_ENTRIES) double(count);
}

@inline function put(at: usize, first: u32, second: u32, kind: u32, value: u32): void {
  store<u32>(at, first);
  store<u32>(at, second, 4);
  store<u32>(at, kind, 8);
  store<u32>(at, value, 12);
}

function double(count: u32): void {
  store<u32>(INDEX, count << 1, T_ENTRIES);
  let at: usize = INDEX + count * ENTRY_SIZE;
  for (let i: u32 = 0; i < count; i++, at += ENTRY_SIZE) {
    const kind = load<u32>(at, 8);
    if (kind == 0) continue;
    const first = load<u32>(at);
    const second = load<u32>(at, 4);
    const to = find(first, second, kind);
    if (to != 0) put(to, first, second, kind, load<u32>(at, 12));
  }
}

/**
 * The node of place `site` called from `parent`, 0 being the root. A place that is on the path as often as it may be stands
 * for itself.
 */
export function childOf(parent: u32, site: u32): u32 {
  const at = find(parent, site, CHILD);
  if (isKnown(at)) return valueAt(at);
  let node: u32 = 0;
  let times: u32 = 0;
  for (let one = parent; one != 0; one = load<u32>(NODES + one * NODE_SIZE)) {
    if (load<u32>(NODES + one * NODE_SIZE, 4) != site) continue;
    if (times++ == 0) node = one;
    if (times == RECURSION) break;
  }
  if (times < RECURSION) {
    node = load<u32>(NODE_NEXT) + 1;
    if (node >= NODE_CAPACITY || at == 0) return NOWHERE;
    store<u32>(NODE_NEXT, node);
    store<u32>(NODES + node * NODE_SIZE, parent);
    store<u32>(NODES + node * NODE_SIZE, site, 4);
  }
  if (at != 0) insert(at, parent, site, CHILD, node);
  return node;
}
