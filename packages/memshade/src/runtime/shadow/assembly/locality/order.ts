// The order in which lines were last referenced. The newest few stand in a list. Each other entry has the stamp of its last reference, and each stamp that is
// some line's last has a mark; the marks behind a stamp are the lines referenced since. They are counted with a bit per
// stamp, with four levels of counts up to a block of 16,384 stamps, and with a Fenwick tree over blocks: O(log m) for m
// lines. A level has the counts of four siblings in one u64, so that nothing up to a block asks which of them a stamp is in.
import {
  BLOCK_SHIFT,
  ENTRIES,
  FRONT_LINES,
  IN_FRONT,
  L_CAPACITY,
  L_FRONT,
  L_HIGH,
  L_LIVE,
  L_NOW,
  L_RENUMBERED,
  MARKS,
  STATE,
  TREE,
  TREE_WORDS,
} from "./layout";

const SPARE_STAMPS: u32 = 8192;

@inline
function levelAt(level: u32): usize {
  // A level has a quarter of the nodes of the one below; the lowest one has eight bytes per four words of marks.
  if (level == 1) return TREE;
  if (level == 2) return TREE + TREE_WORDS * 2;
  if (level == 3) return TREE + TREE_WORDS * 2 + TREE_WORDS / 2;
  if (level == 4) return TREE + TREE_WORDS * 2 + TREE_WORDS / 2 + TREE_WORDS / 8;
  return TREE + TREE_WORDS * 2 + TREE_WORDS / 2 + TREE_WORDS / 8 + TREE_WORDS / 32;
}

/** The four counts that the one of a stamp at a level is among. */
@inline
function countsOf(stamp: u32, level: u32): usize {
  return levelAt(level) + ((stamp >>> (6 + 2 * level)) << 3);
}

/** Which 16 bits of them. */
@inline
function shiftOf(stamp: u32, level: u32): u64 {
  return ((stamp >>> (4 + 2 * level)) & 3) << 4;
}

/** In 16-bit parts: how many marks the siblings behind the one of a stamp have. */
@inline
function behindAt(stamp: u32, level: u32): u64 {
  // Two shifts: one by 64 would be none.
  return (load<u64>(countsOf(stamp, level)) >> shiftOf(stamp, level)) >> 16;
}

@inline
function changeAt(stamp: u32, level: u32, change: i64): void {
  const counts = countsOf(stamp, level);
  store<u64>(counts, load<u64>(counts) + (change << shiftOf(stamp, level)));
}

@inline
function blockCount(block: u32): usize {
  return levelAt(5) + (block << 2);
}

/** Number of marks behind `stamp`. */
@inline
function marksBehind(stamp: u32): u32 {
  const inWord = popcnt((load<u64>(MARKS + ((stamp >>> 6) << 3)) >> (stamp & 63)) >> 1);
  const inBlock = behindAt(stamp, 1) + behindAt(stamp, 2) + behindAt(stamp, 3) + behindAt(stamp, 4);
  let count = <u32>inWord + <u32>((inBlock * 0x0001000100010001) >> 48);
  const end = load<u32>(STATE, L_CAPACITY) >>> BLOCK_SHIFT;
  for (let block = (stamp >>> BLOCK_SHIFT) + 1; block <= end; block += block & -block)
    count += load<u32>(blockCount(block));
  return count;
}

/** Sets the mark of a stamp that has none, or clears the one that it has. */
@inline
function changeMark(stamp: u32, change: i32): void {
  const word: usize = MARKS + ((stamp >>> 6) << 3);
  store<u64>(word, load<u64>(word) ^ (<u64>1 << (stamp & 63)));
  changeAt(stamp, 1, change);
  changeAt(stamp, 2, change);
  changeAt(stamp, 3, change);
  changeAt(stamp, 4, change);
  for (let block = stamp >>> BLOCK_SHIFT; block != 0; block &= block - 1)
    store<u32>(blockCount(block), load<u32>(blockCount(block)) + change);
}

/** A place in the list of the newest entries. */
@inline
function frontAt(place: u32): usize {
  return STATE + L_FRONT + (place << 2);
}

/** Makes the line of an entry the newest one. Returns the number of other lines since its last reference, −1 if there was none. */
export function moveToFront(at: usize): i32 {
  let entry = <u32>at;
  let newer = 0;
  for (let place: u32 = 0; place < FRONT_LINES; place++) {
    const next = load<u32>(frontAt(place));
    store<u32>(frontAt(place), entry);
    if (next == <u32>at) return newer;
    entry = next;
    newer += i32(next != 0);
  }
  const stamp = load<u32>(at);
  store<u32>(at, IN_FRONT);
  let distance: i32 = -1;
  if (stamp != 0) {
    distance = newer + marksBehind(stamp);
    changeMark(stamp, -1);
  } else {
    store<u32>(STATE, load<u32>(STATE, L_LIVE) + 1, L_LIVE);
    const number = (<u32>at - ENTRIES) >>> 4;
    if (number >= load<u32>(STATE, L_HIGH)) store<u32>(STATE, number + 1, L_HIGH);
  }
  if (entry != 0) giveStamp(entry);
  return distance;
}

/** The line of an entry is not among the newest any more, but newer than all others with stamps. */
function giveStamp(at: usize): void {
  let next = load<u32>(STATE, L_NOW) + 1;
  if (next >= load<u32>(STATE, L_CAPACITY)) next = renumber() + 1;
  store<u32>(STATE, next, L_NOW);
  changeMark(next, 1);
  store<u32>(at, next);
}

/** Takes the line of an entry out of the order. */
export function remove(at: usize): void {
  const stamp = load<u32>(at);
  if (stamp == IN_FRONT) removeFromFront(<u32>at);
  else changeMark(stamp, -1);
  store<u32>(at, 0);
  store<u32>(STATE, load<u32>(STATE, L_LIVE) - 1, L_LIVE);
}

function removeFromFront(at: u32): void {
  let place: u32 = 0;
  while (load<u32>(frontAt(place)) != at) place++;
  for (; place < FRONT_LINES - 1; place++) store<u32>(frontAt(place), load<u32>(frontAt(place + 1)));
  store<u32>(frontAt(FRONT_LINES - 1), 0);
}

/** Gives the lines with stamps the stamps 1, 2, … in their order, while one besides the newest has none. Returns the last. */
function renumber(): u32 {
  const high = load<u32>(STATE, L_HIGH);
  const marked = load<u32>(STATE, L_LIVE) - FRONT_LINES - 1;
  for (let at: usize = ENTRIES; at < ENTRIES + (high << 4); at += 16) {
    const stamp = load<u32>(at);
    if (stamp != 0 && stamp != IN_FRONT) store<u32>(at, marked - marksBehind(stamp));
  }
  const last = load<u32>(STATE, L_CAPACITY);
  memory.fill(MARKS, 0, ((last >>> 6) + 1) << 3);
  memory.fill(levelAt(1), 0, ((last >>> 8) + 1) << 3);
  memory.fill(levelAt(2), 0, ((last >>> 10) + 1) << 3);
  memory.fill(levelAt(3), 0, ((last >>> 12) + 1) << 3);
  memory.fill(levelAt(4), 0, ((last >>> 14) + 1) << 3);
  memory.fill(blockCount(0), 0, ((last >>> BLOCK_SHIFT) + 1) << 2);
  store<u32>(STATE, 2 * high + SPARE_STAMPS, L_CAPACITY);
  store<u32>(STATE, load<u32>(STATE, L_RENUMBERED) + 1, L_RENUMBERED);
  for (let stamp: u32 = 1; stamp <= marked; stamp++) changeMark(stamp, 1);
  return marked;
}
