// The order in which lines were last referenced. The newest few stand in a list. Each other entry has the stamp of its last reference, and each stamp that is
// some line's last has a mark; the marks behind a stamp are the lines referenced since. They are counted with a bit per
// stamp, with two levels of counts up to a block of 8,192 stamps, and with a Fenwick tree over blocks: O(log m) for m
// lines. The counts of siblings are in one vector, so that nothing up to a block asks which of them a stamp is in.
import { ENTRIES, MARKS, STATE, TREE, TREE_WORDS } from "./imports";
import { BLOCK_SHIFT, FRONT_LINES, IN_FRONT, State } from "./layout.generated";

const SPARE_STAMPS: u32 = 8192;

/** Of words of 64 stamps, in bytes, 16 siblings; of 1,024 stamps, in 16 bits, 8 siblings; of blocks. */
@inline
function wordCounts(): usize {
  return TREE;
}

@inline
function partCounts(): usize {
  return TREE + TREE_WORDS;
}

@inline
function blockCount(block: u32): usize {
  return TREE + TREE_WORDS + TREE_WORDS / 8 + (block << 2);
}

/** Number of marks behind `stamp`. */
@inline
function marksBehind(stamp: u32): u32 {
  const inWord = popcnt((load<u64>(MARKS + ((stamp >>> 6) << 3)) >> (stamp & 63)) >> 1);
  const words = v128.load(wordCounts() + ((stamp >>> 10) << 4));
  const parts = v128.load(partCounts() + ((stamp >>> 13) << 4));
  const wordsBehind = i8x16.gt_u(
    i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    i8x16.splat(<i8>((stamp >>> 6) & 15)),
  );
  const partsBehind = i16x8.gt_u(i16x8(0, 1, 2, 3, 4, 5, 6, 7), i16x8.splat(<i16>((stamp >>> 10) & 7)));
  const counts = i32x4.extadd_pairwise_i16x8_u(
    i16x8.add(i16x8.extadd_pairwise_i8x16_u(v128.and(words, wordsBehind)), v128.and(parts, partsBehind)),
  );
  const halves = i64x2.extract_lane(counts, 0) + i64x2.extract_lane(counts, 1);
  let count = <u32>inWord + <u32>halves + <u32>(halves >>> 32);
  const end = load<u32>(STATE, State.capacity) >>> BLOCK_SHIFT;
  for (let block = (stamp >>> BLOCK_SHIFT) + 1; block <= end; block += block & -block)
    count += load<u32>(blockCount(block));
  return count;
}

/** Sets the mark of a stamp that has none, or clears the one that it has. */
@inline
function changeMark(stamp: u32, change: i32): void {
  const word: usize = MARKS + ((stamp >>> 6) << 3);
  store<u64>(word, load<u64>(word) ^ ((<u64>1) << (stamp & 63)));
  const inPart: usize = wordCounts() + (stamp >>> 6);
  store<u8>(inPart, load<u8>(inPart) + change);
  const inBlock: usize = partCounts() + ((stamp >>> 10) << 1);
  store<u16>(inBlock, load<u16>(inBlock) + change);
  for (let block = stamp >>> BLOCK_SHIFT; block !== 0; block &= block - 1)
    store<u32>(blockCount(block), load<u32>(blockCount(block)) + change);
}

/** Of four entries of the list, those up to place `last` move one on, behind `first`. */
@inline
function pushed(entries: v128, first: u32, last: u32): v128 {
  const moved = i32x4.replace_lane(v128.shuffle<u32>(entries, entries, 0, 0, 1, 2), 0, first);
  return v128.bitselect(moved, entries, i32x4.le_u(i32x4(0, 1, 2, 3), i32x4.splat(last)));
}

/** Makes the line of an entry the newest one. Returns the number of other lines since its last reference, −1 if there was none. */
export function moveToFront(at: usize): i32 {
  const wanted = i32x4.splat(<u32>at);
  const newest = v128.load(STATE, State.front);
  const here = i32x4.bitmask(i32x4.eq(newest, wanted));
  if (here !== 0) {
    const place = ctz(here);
    v128.store(STATE, pushed(newest, <u32>at, place), State.front);
    return place;
  }
  const older = v128.load(STATE, State.front + 16);
  const there = i32x4.bitmask(i32x4.eq(older, wanted));
  const place = there !== 0 ? ctz(there) : 3;
  v128.store(STATE, pushed(newest, <u32>at, 3), State.front);
  v128.store(STATE, pushed(older, i32x4.extract_lane(newest, 3), place), State.front + 16);
  if (there !== 0) return 4 + place;
  return fromStamp(at, newest, older);
}

/** The same for an entry that was not in the list: what the list was before. */
@inline
function fromStamp(at: usize, newest: v128, older: v128): i32 {
  const stamp = load<u32>(at);
  store<u32>(at, IN_FRONT);
  let distance: i32 = -1;
  if (stamp !== 0) {
    const none = i32x4.splat(0);
    const free = i32x4.bitmask(i32x4.eq(newest, none)) | (i32x4.bitmask(i32x4.eq(older, none)) << 4);
    distance = FRONT_LINES - popcnt(free) + marksBehind(stamp);
    changeMark(stamp, -1);
  } else {
    store<u32>(STATE, load<u32>(STATE, State.live) + 1, State.live);
    const number = (<u32>at - ENTRIES) >>> 4;
    if (number >= load<u32>(STATE, State.high)) store<u32>(STATE, number + 1, State.high);
  }
  const last = i32x4.extract_lane(older, 3);
  if (last !== 0) giveStamp(last);
  return distance;
}

/** The line of an entry is not among the newest any more, but newer than all others with stamps. */
function giveStamp(at: usize): void {
  let next = load<u32>(STATE, State.now) + 1;
  if (next >= load<u32>(STATE, State.capacity)) next = renumber() + 1;
  store<u32>(STATE, next, State.now);
  changeMark(next, 1);
  store<u32>(at, next);
}

/** Gives the lines with stamps the stamps 1, 2, … in their order, while one besides the newest has none. Returns the last. */
function renumber(): u32 {
  const high = load<u32>(STATE, State.high);
  const marked = load<u32>(STATE, State.live) - FRONT_LINES - 1;
  for (let at: usize = ENTRIES; at < ENTRIES + (high << 4); at += 16) {
    const stamp = load<u32>(at);
    if (stamp !== 0 && stamp !== IN_FRONT) store<u32>(at, marked - marksBehind(stamp));
  }
  const last = load<u32>(STATE, State.capacity);
  memory.fill(MARKS, 0, ((last >>> 6) + 1) << 3);
  memory.fill(wordCounts(), 0, (last >>> 6) + 1);
  memory.fill(partCounts(), 0, ((last >>> 10) + 1) << 1);
  memory.fill(blockCount(0), 0, ((last >>> BLOCK_SHIFT) + 1) << 2);
  store<u32>(STATE, 2 * high + SPARE_STAMPS, State.capacity);
  store<u32>(STATE, load<u32>(STATE, State.renumbered) + 1, State.renumbered);
  for (let stamp: u32 = 1; stamp <= marked; stamp++) changeMark(stamp, 1);
  return marked;
}
