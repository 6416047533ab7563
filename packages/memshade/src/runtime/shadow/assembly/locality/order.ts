// The order in which lines were last referenced. Each entry has the stamp of its last reference, and each stamp that is
// some line's last has a mark; the marks behind a stamp are the lines referenced since. Marks are counted with a bit
// per stamp inside a block and with a Fenwick tree over blocks: O(log m) for m lines.
import {
  BLOCK,
  BLOCK_SHIFT,
  ENTRIES,
  L_CAPACITY,
  L_HIGH,
  L_LIVE,
  L_NOW,
  L_RENUMBERED,
  MARKS,
  STATE,
  TREE,
} from "./layout";

const SPARE_STAMPS: u32 = 8192;

/** Number of marks in the full blocks up to `block`, that one included. */
function marksUpTo(block: u32): u32 {
  let sum: i32 = 0;
  for (let at = block + 1; at != 0; at &= at - 1) sum += load<i32>(TREE + (at << 2));
  return sum;
}

function changeTree(block: u32, change: i32): void {
  const end = (load<u32>(STATE, L_CAPACITY) >>> BLOCK_SHIFT) + 2;
  for (let at = block + 1; at < end; at += at & -at) {
    const entry: usize = TREE + (at << 2);
    store<i32>(entry, load<i32>(entry) + change);
  }
}

/** Number of marks behind `stamp` inside its block; `now` is the newest stamp. */
@inline
function marksBehind(stamp: u32, now: u32): u32 {
  let word: usize = MARKS + ((stamp >>> 6) << 3);
  const end: usize = MARKS + min(((stamp >>> BLOCK_SHIFT) + 1) << (BLOCK_SHIFT - 3), ((now >>> 6) + 1) << 3);
  // Two shifts: one by 64 would be none.
  let count = popcnt((load<u64>(word) >> (stamp & 63)) >> 1);
  for (word += 8; word < end; word += 8) count += popcnt(load<u64>(word));
  return <u32>count;
}

/** Number of marks inside a block. */
function marksIn(block: u32): u32 {
  const from: usize = MARKS + (block << (BLOCK_SHIFT - 3));
  let count: u64 = 0;
  for (let at: usize = 0; at < BLOCK >>> 3; at += 8) count += popcnt(load<u64>(from + at));
  return <u32>count;
}

@inline
function setMark(stamp: u32): void {
  const word: usize = MARKS + ((stamp >>> 6) << 3);
  store<u64>(word, load<u64>(word) | (<u64>1 << (stamp & 63)));
}

function clearMark(stamp: u32): void {
  const word: usize = MARKS + ((stamp >>> 6) << 3);
  store<u64>(word, load<u64>(word) & ~(<u64>1 << (stamp & 63)));
  const block = stamp >>> BLOCK_SHIFT;
  if (block != load<u32>(STATE, L_NOW) >>> BLOCK_SHIFT) changeTree(block, -1);
}

/** Makes the line of an entry the newest one. Returns the number of other lines since its last reference, −1 if there was none. */
export function moveToFront(at: usize): i32 {
  const stamp = load<u32>(at);
  const now = load<u32>(STATE, L_NOW);
  let distance: i32 = -1;
  if (stamp != 0) {
    if (stamp == now) return 0;
    const block = stamp >>> BLOCK_SHIFT;
    distance = marksBehind(stamp, now);
    if (block != now >>> BLOCK_SHIFT) distance += load<u32>(STATE, L_LIVE) - marksUpTo(block);
    if (distance == 0) return 0;
    clearMark(stamp);
  } else {
    store<u32>(STATE, load<u32>(STATE, L_LIVE) + 1, L_LIVE);
    const entry = (<u32>at - ENTRIES) >>> 4;
    if (entry >= load<u32>(STATE, L_HIGH)) store<u32>(STATE, entry + 1, L_HIGH);
  }
  store<u32>(at, 0);
  if (load<u32>(STATE, L_NOW) + 1 >= load<u32>(STATE, L_CAPACITY)) renumber();
  store<u32>(at, nextStamp());
  return distance;
}

/** Takes the line of an entry out of the order. */
export function remove(at: usize): void {
  clearMark(load<u32>(at));
  store<u32>(at, 0);
  store<u32>(STATE, load<u32>(STATE, L_LIVE) - 1, L_LIVE);
}

/** A new stamp with a mark. A block that is full goes into the tree. */
function nextStamp(): u32 {
  const stamp = load<u32>(STATE, L_NOW) + 1;
  store<u32>(STATE, stamp, L_NOW);
  if ((stamp & (BLOCK - 1)) == 0) {
    const full = (stamp >>> BLOCK_SHIFT) - 1;
    changeTree(full, marksIn(full));
  }
  setMark(stamp);
  return stamp;
}

/** Gives the lines the stamps 1, 2, … in their order. */
function renumber(): void {
  const high = load<u32>(STATE, L_HIGH);
  const now = load<u32>(STATE, L_NOW);
  const open = now >>> BLOCK_SHIFT;
  let marked: u32 = 0;
  const closed = open == 0 ? 0 : marksUpTo(open - 1);
  for (let at: usize = ENTRIES; at < ENTRIES + (high << 4); at += 16) {
    const stamp = load<u32>(at);
    if (stamp == 0) continue;
    const block = stamp >>> BLOCK_SHIFT;
    // Marks up to the stamp, its own included.
    const upTo = block == open ? closed + marksIn(block) : marksUpTo(block);
    store<u32>(at, upTo - marksBehind(stamp, now));
    marked++;
  }
  memory.fill(MARKS, 0, ((now >>> BLOCK_SHIFT) + 1) << (BLOCK_SHIFT - 3));
  memory.fill(TREE, 0, ((load<u32>(STATE, L_CAPACITY) >>> BLOCK_SHIFT) + 2) << 2);
  store<u32>(STATE, 2 * high + SPARE_STAMPS, L_CAPACITY);
  store<u32>(STATE, load<u32>(STATE, L_RENUMBERED) + 1, L_RENUMBERED);
  store<u32>(STATE, 0, L_NOW);
  for (let i: u32 = 0; i < marked; i++) nextStamp();
}
