// Reuse times and distances, inside the profiled module. Merged into it behind the working-set tool's own code and in
// the same memory, only where `--locality` asks for it.
import {
  ACCESSES,
  BUFFER,
  CACHE_LINES,
  CONTROL,
  clockNow,
  DISTANCES,
  ENTRIES,
  FIRSTS,
  LIMIT,
  LINES,
  LINES_SHIFT,
  MARKS,
  MULTIPLIER,
  SITE_MASK,
  SITES,
  STATE,
  TIMES,
  TREE,
  TREE_WORDS,
} from "./imports";
import {
  BLOCK_SHIFT,
  Entry,
  FINE_BITS,
  FRONT_LINES,
  IN_FRONT,
  NO_SITE,
  SINGLE_BITS,
  SITE_BYTES,
  Site,
  State,
  WAITING_BYTES,
  Waiting,
} from "./layout.generated";

// Offsets in the working-set tool's control block.
const C_LOADED: usize = 8;

const LINE_SHIFT: u32 = 6;
/** Scales a distance among sampled lines to one among all lines: divides it by the sampling rate, rounded. */
@inline
function scaled(distance: i32): u64 {
  const hashes = <u64>LIMIT + 1;
  return (((<u64>distance) << 32) + (hashes >>> 1)) / hashes;
}

/**
 * Returns the hash of a line, 32 bits. `MULTIPLIER` is far from all simple fractions of the range of hashes. So the sampled
 * lines are spread evenly over every array, whatever its stride, and a sample is more exact than a random one of its size.
 */
@inline
function hashLine(line: u32): u32 {
  return line * MULTIPLIER;
}

@inline
function entryOf(line: u32): usize {
  return ENTRIES + ((line >>> LINES_SHIFT) << 4);
}

/** Records a reference to a followed line, at a position of the stream, by the instruction `site`. */
function follow(line: u32, position: u64, site: u32): void {
  store<f64>(STATE, load<f64>(STATE, State.sampled) + 1, State.sampled);
  const at = entryOf(line);
  const last = load<u64>(at, Entry.position);
  store<u64>(at, position, Entry.position);
  const distance = moveToFront(at);
  if (distance < 0) {
    store<f64>(STATE, load<f64>(STATE, State.cold) + 1, State.cold);
    add(FIRSTS, position);
    charge(site, true, true);
    return;
  }
  let lines = scaled(distance);
  const follows = position > last;
  const time = select<u64>(position - last, lines + 1, follows);
  // Between two references lie no more lines than references.
  lines = min(lines, time - 1);
  add(TIMES, time);
  add(DISTANCES, lines);
  charge(site, lines >= CACHE_LINES, false);
}

/** Returns the entry of a site; 0 if the table is full. */
function entryOfSite(site: u32): usize {
  let at: usize = SITES + ((((site * 0x9e3779b1) >>> 8) & SITE_MASK) << 5);
  let found = load<u32>(at);
  while (found !== site + 1 && found !== 0) {
    at += SITE_BYTES;
    if (at > SITES + SITE_MASK * SITE_BYTES) at = SITES;
    found = load<u32>(at);
  }
  if (found !== 0) return at;
  const count = load<u32>(STATE, State.sites) + 1;
  // A free entry always remains, so that searches end. Further sites get no entry.
  if (count > SITE_MASK) return 0;
  store<u32>(STATE, count, State.sites);
  store<u32>(at, site + 1);
  return at;
}

@inline
function charge(site: u32, missing: bool, cold: bool): void {
  const at = entryOfSite(site);
  if (at === 0) return;
  store<f64>(at, load<f64>(at, Site.references) + 1, Site.references);
  // A branch would be slow here: misses are unpredictable.
  store<f64>(at, load<f64>(at, Site.misses) + <f64>(<u32>missing), Site.misses);
  if (cold) store<f64>(at, load<f64>(at, Site.cold) + 1, Site.cold);
}

@inline
function isSampled(line: u32): bool {
  return hashLine(line) <= LIMIT && line < LINES;
}

/** Returns the position in the stream while the countdown is at `clock`. */
function positionAt(clock: i32): u64 {
  return (
    load<u64>(ACCESSES) +
    <u64>(<i64>load<i32>(CONTROL, C_LOADED) - <i64>clock) +
    load<u64>(STATE, State.references)
  );
}

/** Follows the references that inserted code has buffered. */
export function drain(): void {
  const end = load<u32>(STATE, State.buffered);
  if (end === 0) return;
  store<u32>(STATE, 0, State.buffered);
  const origin = positionAt(0);
  let at: usize = BUFFER;
  while (at < BUFFER + end) {
    const line = load<u32>(at);
    if (!isSampled(line)) {
      at += WAITING_BYTES;
      continue;
    }
    follow(line, origin - load<i32>(at, Waiting.clock), load<u32>(at, Waiting.site));
    at += WAITING_BYTES;
    at = followAgain(line, at, BUFFER + end, origin);
  }
}

/**
 * Follows the buffered references from `from` on, as long as they are to the line that was referenced last. Returns their
 * end.
 */
@inline
function followAgain(line: u32, from: usize, end: usize, origin: u64): usize {
  if (from === end || load<u32>(from) !== line) return from;
  const entry = entryOf(line);
  let last = load<u64>(entry, Entry.position);
  let at = from;
  let site = NO_SITE;
  let ofSite: usize = 0;
  do {
    const position = origin - load<i32>(at, Waiting.clock);
    addSmall(TIMES, position > last ? position - last : 1);
    const next = load<u32>(at, 4);
    if (next !== site) {
      site = next;
      ofSite = entryOfSite(site);
    }
    if (ofSite !== 0) store<f64>(ofSite, load<f64>(ofSite, Site.references) + 1, Site.references);
    last = position;
    at += WAITING_BYTES;
  } while (at < end && load<u32>(at) === line);
  store<u64>(entry, last, Entry.position);
  const all = <f64>(<i32>((at - from) / WAITING_BYTES));
  addOften(DISTANCES, 0, all);
  store<f64>(STATE, load<f64>(STATE, State.sampled) + all, State.sampled);
  return at;
}

/** Records a bulk instruction: one reference for each line. The clock counts a single access for the whole instruction. */
function bulk(address: u32, size: u32): void {
  if (size === 0) return;
  drain();
  const last = (address + size - 1) >>> LINE_SHIFT;
  const clock = clockNow();
  for (let line = address >>> LINE_SHIFT; ; line++) {
    if (isSampled(line)) follow(line, positionAt(clock), NO_SITE);
    if (line === last) return;
    store<u64>(STATE, load<u64>(STATE, State.references) + 1, State.references);
  }
}

/** Called before `memory.copy`. */
export function copied(destination: u32, source: u32, size: u32): void {
  bulk(source, size);
  bulk(destination, size);
}

/** Called before `memory.fill`. */
export function filled(destination: u32, _value: u32, size: u32): void {
  bulk(destination, size);
}

/** Called after `memory.init`. */
export function initialized(destination: u32, size: u32): void {
  bulk(destination, size);
}

/** Each value below has a bin of its own. */
const SINGLE: u64 = 1 << SINGLE_BITS;

/**
 * Adds a value to a histogram. The sums make means of bins exact, and all figures that are linear in the values. Bins of one
 * value need no sum. A branch would be slow here: the size of a value is unpredictable.
 */
@inline
function add(histogram: usize, value: u64): void {
  const high = 63 - clz(value | 1);
  const shared =
    SINGLE + ((high - SINGLE_BITS) << FINE_BITS) + ((value >> (high - FINE_BITS)) & ((1 << FINE_BITS) - 1));
  const bin = select<u64>(value, shared, value < SINGLE);
  const at: usize = histogram + ((<u32>bin) << 4);
  store<f64>(at, load<f64>(at) + 1);
  store<f64>(at, load<f64>(at, 8) + <f64>value, 8);
}

/** Adds a value that is rarely large. */
@inline
function addSmall(histogram: usize, value: u64): void {
  if (value < SINGLE) addOften(histogram, value, 1);
  else addAny(histogram, value);
}

function addAny(histogram: usize, value: u64): void {
  add(histogram, value);
}

/** Adds a value that has a bin of its own, `times` times. */
@inline
function addOften(histogram: usize, value: u64, times: f64): void {
  const at: usize = histogram + ((<u32>value) << 4);
  store<f64>(at, load<f64>(at) + times);
}

// The order in which lines were last referenced. The newest few lines are in a list. Each other entry has the stamp of its
// last reference, and each such stamp has a mark. The marks after a stamp are the lines referenced since then. They are
// counted with a bit per stamp, with two levels of counts up to a block of 8,192 stamps, and with a Fenwick tree over
// blocks: O(log m) for m lines. The counts of siblings are in one vector, so that code up to a block needs no branch on a
// stamp's position.

const SPARE_STAMPS: u32 = 8192;

/**
 * Counts of marks. `wordCounts`: bytes per word of 64 stamps, 16 siblings. `partCounts`: 16 bits per 1,024 stamps, 8
 * siblings. `blockCount`: the Fenwick tree of blocks.
 */
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

/** Returns the number of marks after `stamp`. */
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

/** Sets the mark of a stamp that has none, or clears its mark. */
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

/**
 * Puts `first` before four entries of the list. The entries up to index `last` move back by one; entry `last` is dropped.
 */
@inline
function pushed(entries: v128, first: u32, last: u32): v128 {
  const moved = i32x4.replace_lane(v128.shuffle<u32>(entries, entries, 0, 0, 1, 2), 0, first);
  return v128.bitselect(moved, entries, i32x4.le_u(i32x4(0, 1, 2, 3), i32x4.splat(last)));
}

/**
 * Makes the line of an entry the newest. Returns the number of other lines since its last reference; −1 if there was none.
 */
function moveToFront(at: usize): i32 {
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

/** Does the same for an entry that was not in the list. `newest` and `older`: the list before. */
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

/** Gives a stamp to the line that leaves the list. The line is newer than all others with stamps. */
function giveStamp(at: usize): void {
  let next = load<u32>(STATE, State.now) + 1;
  if (next >= load<u32>(STATE, State.capacity)) next = renumber() + 1;
  store<u32>(STATE, next, State.now);
  changeMark(next, 1);
  store<u32>(at, next);
}

/**
 * Renumbers the stamps of lines as 1, 2, … in their order, while one line besides the newest has none. Returns the last
 * stamp.
 */
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
