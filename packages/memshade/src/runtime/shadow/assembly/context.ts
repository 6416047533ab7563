import {
  C_EVICTIONS, C_FLUSH_PAUSE, C_MIB_FREE, C_MIB_NEXT, C_NODE_FREE, C_NODE_NEXT, C_OVERFLOW_CONTEXTS, C_CHILDREN_USED, CHILD_MASK, CHILD_SIZE, CHILDREN,
  CONTROL, H_NODE, H_PARENT, H_SITE, M_ALLOC_COUNT, M_ALLOC_CPU, M_HISTOGRAM, M_HISTOGRAM_LENGTH, M_LIVE_BLOCKS, M_MIN_ACCESSES, M_MIN_SIZE, M_NODE, M_REALLOCATIONS, MIB_CAPACITY, MIB_SIZE,
  MIBS, N_MARK, N_MIB, N_PARENT, N_SITE, NODE_CAPACITY, NODE_SIZE, NODES, STACK,
} from "./layout";

/** Hands all finished figures to the host. 0: nobody listens. */
@external("host", "flush")
declare function flush(): u32;

/** Call sites are code offsets, so `site` is 0 only where no frame is known. */
const OVERFLOW_MIB: u32 = 0;

@inline function nodeAt(index: u32): usize { return NODES + index * NODE_SIZE; }
@inline function mibAt(index: u32): usize { return MIBS + index * MIB_SIZE; }
@inline function hashOf(parent: u32, site: u32): u32 {
  const h = parent * 0x9e3779b1 + site * 0x85ebca6b;
  return h ^ (h >>> 15);
}

function insertChild(parent: u32, site: u32, node: u32): void {
  let at = hashOf(parent, site) & CHILD_MASK;
  while (load<u32>(CHILDREN + at * CHILD_SIZE, H_NODE) != 0) at = (at + 1) & CHILD_MASK;
  const entry: usize = CHILDREN + at * CHILD_SIZE;
  store<u32>(entry, parent, H_PARENT);
  store<u32>(entry, site, H_SITE);
  store<u32>(entry, node, H_NODE);
}

/** A site that is on the path already stands for itself: recursion through any kind of call stays finite. */
function findOnPath(node: u32, site: u32): u32 {
  while (node != 0) {
    const at = nodeAt(node);
    if (load<u32>(at, N_SITE) == site) return node;
    node = load<u32>(at, N_PARENT);
  }
  return 0;
}

/** 0 when the table is full. */
function newNode(parent: u32, site: u32): u32 {
  let node = load<u32>(CONTROL, C_NODE_FREE);
  if (node != 0) {
    store<u32>(CONTROL, load<u32>(nodeAt(node), N_PARENT), C_NODE_FREE);
  } else {
    node = load<u32>(CONTROL, C_NODE_NEXT) + 1;
    if (node >= NODE_CAPACITY) return 0;
    store<u32>(CONTROL, node, C_NODE_NEXT);
  }
  const at = nodeAt(node);
  store<u32>(at, parent, N_PARENT);
  store<u32>(at, site, N_SITE);
  store<u32>(at, 0, N_MIB);
  return node;
}

/** The tree node of `site` called from `parent`; 0 when the table is full. */
export function childOf(parent: u32, site: u32): u32 {
  let at = hashOf(parent, site) & CHILD_MASK;
  while (true) {
    const entry: usize = CHILDREN + at * CHILD_SIZE;
    const node = load<u32>(entry, H_NODE);
    if (node == 0) break;
    if (load<u32>(entry, H_PARENT) == parent && load<u32>(entry, H_SITE) == site) return node;
    at = (at + 1) & CHILD_MASK;
  }
  let node = findOnPath(parent, site);
  if (node == 0) node = newNode(parent, site);
  // Aliases of recursive sites take table space too: a full table is a full table.
  if (node == 0 || !hasChildRoom()) return 0;
  insertChild(parent, site, node);
  return node;
}

/** The hash table has twice as many entries as there are nodes; aliases may fill the second half. */
function hasChildRoom(): bool {
  const used = load<u32>(CONTROL, C_CHILDREN_USED) + 1;
  if (used > (CHILD_MASK >> 2) * 3) return false;
  store<u32>(CONTROL, used, C_CHILDREN_USED);
  return true;
}

/** No block has ended: minima are as large as can be, and no time or CPU is equal to the last one's. */
export function emptyMib(mib: usize): void {
  // The histogram buffer stays with the entry, emptied by its length.
  memory.fill(mib + M_REALLOCATIONS, 0, M_HISTOGRAM - M_REALLOCATIONS);
  store<u32>(mib, 0, M_HISTOGRAM_LENGTH);
  v128.store(mib, i32x4.splat(-1), M_MIN_SIZE);
  store<u64>(mib, -1, M_MIN_ACCESSES);
  store<u64>(mib, -1, M_ALLOC_CPU);
}

/** The block table entry of a tree node, made at first sight; 0 when the table is full. */
function mibOf(node: u32): u32 {
  const at = nodeAt(node);
  let mib = load<u32>(at, N_MIB);
  if (mib != 0) return mib;
  mib = load<u32>(CONTROL, C_MIB_FREE);
  if (mib != 0) {
    const entry = mibAt(mib);
    store<u32>(CONTROL, load<u32>(entry, M_NODE), C_MIB_FREE);
    memory.fill(entry, 0, M_REALLOCATIONS);
  } else {
    mib = load<u32>(CONTROL, C_MIB_NEXT) + 1;
    if (mib >= MIB_CAPACITY) return 0;
    store<u32>(CONTROL, mib, C_MIB_NEXT);
  }
  emptyMib(mibAt(mib));
  store<u32>(mibAt(mib), node, M_NODE);
  store<u32>(at, mib, N_MIB);
  return mib;
}

/** Decodes the shadow stack below `sp`; frames that were decoded before carry their node as a memo. */
function decode(sp: u32, self: u32): u32 {
  if (sp <= STACK) {
    const root = childOf(0, self);
    return root == 0 ? 0 : mibOf(root);
  }
  let at = sp;
  let node: u32 = 0;
  while (at > STACK) {
    const memo = load<u32>(at - 8, 4);
    if (memo != 0) { node = memo; break; }
    at -= 8;
  }
  while (at < sp) {
    node = childOf(node, load<u32>(at));
    if (node == 0) return 0;
    store<u32>(at, node, 4);
    at += 8;
  }
  return mibOf(node);
}

/**
 * Gives back everything no live block needs; the number of free entries. The finished figures have been handed out
 * before.
 */
function evict(sp: u32): u32 {
  let free: u32 = MIB_CAPACITY - 1 - load<u32>(CONTROL, C_MIB_NEXT);
  const nodeEnd = load<u32>(CONTROL, C_NODE_NEXT);
  for (let i: u32 = 1; i <= nodeEnd; i++) store<u32>(nodeAt(i), 0, N_MARK);
  const mibEnd = load<u32>(CONTROL, C_MIB_NEXT);
  store<u32>(CONTROL, 0, C_MIB_FREE);
  for (let i: u32 = 1; i <= mibEnd; i++) {
    const mib = mibAt(i);
    const node = load<u32>(mib, M_NODE);
    if (load<u32>(mib, M_LIVE_BLOCKS) != 0) {
      for (let n = node; n != 0 && load<u32>(nodeAt(n), N_MARK) == 0; n = load<u32>(nodeAt(n), N_PARENT))
        store<u32>(nodeAt(n), 1, N_MARK);
      continue;
    }
    // A free entry keeps the next free one where its node was; its own node forgets it.
    if (load<u32>(nodeAt(node), N_MIB) == i) store<u32>(nodeAt(node), 0, N_MIB);
    store<u32>(mib, load<u32>(CONTROL, C_MIB_FREE), M_NODE);
    store<u32>(CONTROL, i, C_MIB_FREE);
    free++;
  }
  memory.fill(CHILDREN, 0, (CHILD_MASK + 1) * CHILD_SIZE);
  store<u32>(CONTROL, 0, C_NODE_FREE);
  let used: u32 = 0;
  for (let i: u32 = 1; i <= nodeEnd; i++) {
    const node = nodeAt(i);
    if (load<u32>(node, N_MARK) != 0) {
      insertChild(load<u32>(node, N_PARENT), load<u32>(node, N_SITE), i);
      used++;
    } else {
      store<u32>(node, load<u32>(CONTROL, C_NODE_FREE), N_PARENT);
      store<u32>(node, 0, N_SITE);
      store<u32>(node, 0, N_MIB);
      store<u32>(CONTROL, i, C_NODE_FREE);
    }
  }
  store<u32>(CONTROL, used, C_CHILDREN_USED);
  for (let at = STACK; at < sp; at += 8) store<u32>(at, 0, 4);
  store<u32>(CONTROL, load<u32>(CONTROL, C_EVICTIONS) + 1, C_EVICTIONS);
  return free;
}

/** Forgets the figures the host has taken; blocks that still live keep their entry. */
function clearFinished(): void {
  const end = load<u32>(CONTROL, C_MIB_NEXT);
  for (let i: u32 = 0; i <= end; i++) emptyMib(mibAt(i));
}

/**
 * Index of the block table entry for the calls on the shadow stack below `sp`. `self` is the code offset of the
 * allocation function, which stands for the context when the host itself called it.
 */
export function contextOf(sp: u32, self: u32): u32 {
  // Most allocations come from a frame that has allocated before, at a call that has been seen before.
  if (sp > STACK + 8) {
    const parent = load<u32>(sp - 16, 4);
    if (parent != 0) {
      const site = load<u32>(sp - 8);
      const entry: usize = CHILDREN + (hashOf(parent, site) & CHILD_MASK) * CHILD_SIZE;
      if (load<u32>(entry, H_PARENT) == parent && load<u32>(entry, H_SITE) == site) {
        const node = load<u32>(entry, H_NODE);
        if (node != 0) {
          const known = load<u32>(nodeAt(node), N_MIB);
          if (known != 0) return known;
        }
      }
    }
  }
  let mib = decode(sp, self);
  if (mib != 0) return mib;
  const pause = load<u32>(CONTROL, C_FLUSH_PAUSE);
  if (pause != 0) store<u32>(CONTROL, pause - 1, C_FLUSH_PAUSE);
  else if (flush() != 0) {
    clearFinished();
    // Where nearly all contexts have live blocks, the next try will not help either: not so soon again.
    if (evict(sp) < MIB_CAPACITY >>> 3) store<u32>(CONTROL, MIB_CAPACITY >>> 1, C_FLUSH_PAUSE);
    mib = decode(sp, self);
    if (mib != 0) return mib;
  }
  const refused = load<u32>(CONTROL, C_OVERFLOW_CONTEXTS);
  if (load<u64>(MIBS, M_MIN_ACCESSES) == 0 && load<u32>(MIBS, M_ALLOC_COUNT) == 0) emptyMib(MIBS);
  store<u32>(CONTROL, refused + 1, C_OVERFLOW_CONTEXTS);
  return OVERFLOW_MIB;
}
