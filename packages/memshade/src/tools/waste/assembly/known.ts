// What is known of the shadow while the loops inside of another loop run one after the other: ranges whose bytes were all read,
// and ranges that look as a loop has left them that would leave them so again. Nothing but these loops changes the shadow of a
// known range without saying so: the code around them asks whether it meets one (`watched`).
import { areRead } from "./chosen/bytes";
import { C_KNOWN, CONTROL } from "./layout";
import { copyPattern, FOUND, pattern, PATTERN_BYTES } from "./patterns";
import { firstOf, SIZE_BITS, STORE_BIT, stream } from "./stream-table";
import { forgetValid } from "./valid-range";

/** The hull of all ranges, and that of those which are not read: where accesses of up to 16 bytes that meet them begin, and how many bytes. */
const ALL_FIRST: usize = 0;
const ALL_LENGTH: usize = 4;
const LEFT_FIRST: usize = 8;
const LEFT_LENGTH: usize = 12;
const COUNT: usize = 16;
const ENTRIES: u32 = 32;
const LONGEST_ACCESS: u32 = 16;

/** A range; then for one that a loop has left: bytes of a place, the loop, which of its streams, where in the place they are. */
const LOW: usize = 0;
const HIGH: usize = 4;
const STEP: usize = 8; // 0: its bytes were all read
const LOOP: usize = 12;
const STREAMS: usize = 16;
const PLACES: usize = 24;
const PATTERN: usize = 32;
const ENTRY_BYTES: u32 = 96;
const MOST_ENTRIES: u32 = 8;
/** Shorter ranges are looked at again sooner than they are found among those known. */
export const WORTH_KEEPING: u32 = 128;
/** A pattern behind the ranges. */
const KEPT: usize = 800;
/** Bits of a stream's distance from the beginning of the place. */
const PLACE_BITS: u32 = 5;

/** A trip of a loop whose places are far apart is as much work as so many bytes side by side. */
const BYTES_PER_TRIP: u32 = 32;

// The loop at hand: whether it is inside of another one, and the counter of its runs, by which it is known.
let isInside: bool = false;
let loop: u32 = 0;
/** How often ranges were learned that a loop has left, less how often that was of use. */
let idle: u32 = 0;
const MOST_IDLE: u32 = 8;
/** The range whose turn it was last to give its place to another. */
let turn: u32 = 0;
/** Work on ranges that turned out to be read, though not all between their places, and how much of it makes the rest worth a look. */
let sparseWork: u64 = 0;
let patience: u64 = 1;

@inline function entry(i: u32): usize { return CONTROL + C_KNOWN + ENTRIES + i * ENTRY_BYTES; }
@inline function countOf(): u32 { return load<u32>(CONTROL, C_KNOWN + COUNT); }
@inline function lowOf(at: usize): u32 { return load<u32>(at, LOW); }
@inline function highOf(at: usize): u32 { return load<u32>(at, HIGH); }
@inline function stepOf(at: usize): u32 { return load<u32>(at, STEP); }
@inline function lengthOf(at: usize): u32 { return highOf(at) - lowOf(at); }
@inline function touches(at: usize, low: u32, high: u32): bool { return low <= highOf(at) && lowOf(at) <= high; }
@inline function overlaps(at: usize, low: u32, high: u32): bool { return low < highOf(at) && lowOf(at) < high; }
@inline function contains(at: usize, low: u32, high: u32): bool { return lowOf(at) <= low && high <= highOf(at); }

/** A loop with loops inside begins. */
export function enterNest(): void {
  store<u32>(CONTROL, 0, C_KNOWN + COUNT);
  setHulls();
  forgetValid();
  sparseWork = 0;
  patience = 1;
  idle = 0;
}

/** A loop has ended whose counter of runs is at an address. */
@inline export function begin(inside: bool, runs: u32): void {
  isInside = inside;
  loop = runs;
}

/** Whether anything may be known of the places of the loop at hand. */
@inline export function isNested(): bool { return isInside; }
@inline export function knowsSome(): bool { return isInside && countOf() != 0; }

/** An access of the code around the loops, a store or a load by `STORE_BIT`, meets the hull of what is known. */
export function watched(address: u32, what: u32): void {
  const end = address + (what & SIZE_BITS);
  if ((what & STORE_BIT) != 0) forget(address, end);
  else forgetLeft(address, end);
}

/** What `isKnownRead` has left of a range. */
export let restLow: u32 = 0;
export let restHigh: u32 = 0;

/** Whether a range is known to be read. If not, from the first to the last byte of which that is not known is the rest. */
export function isKnownRead(low: u32, high: u32): bool {
  if (isInside && meetsHull(ALL_FIRST, low, high))
    for (let i: u32 = 0; i < countOf(); i++) {
      const at = entry(i);
      if (stepOf(at) != 0 || !overlaps(at, low, high)) continue;
      const isBefore = lowOf(at) <= low;
      if (highOf(at) >= high) {
        if (isBefore) return true;
        high = lowOf(at);
      } else if (isBefore) low = highOf(at);
    }
  restLow = low;
  restHigh = high;
  return false;
}

/** All bytes of a range were read. */
export function learnRead(low: u32, high: u32): void {
  let grown: usize = 0;
  for (let i: u32 = 0; i < countOf(); ) {
    const at = entry(i);
    if (stepOf(at) != 0 || !touches(at, low, high)) { i++; continue; }
    low = min(low, lowOf(at));
    high = max(high, highOf(at));
    if (grown == 0) { grown = at; i++; }
    else takeOut(i);
  }
  if (grown == 0) {
    grown = add(low, high);
    store<u32>(grown, 0, STEP);
  } else {
    store<u32>(grown, low, LOW);
    store<u32>(grown, high, HIGH);
  }
  growHull(ALL_FIRST, low, high);
}

/** The same of places far apart. What lies between them is looked at when that has taken less time than they did. */
export function learnSparse(low: u32, high: u32, trips: u32): void {
  sparseWork += trips * BYTES_PER_TRIP;
  if (sparseWork < (high - low) * patience) return;
  sparseWork = 0;
  if (areRead(low, high - low)) learnRead(low, high);
  else patience <<= 1;
}

/** Where some streams, a bit each, are in a place that begins at `first`. */
function placesOf(streams: u32, first: u32): u64 {
  let places: u64 = 0;
  for (; streams != 0; streams &= streams - 1) {
    const i = ctz(streams);
    places |= <u64>(firstOf(stream(i)) - first) << (i * PLACE_BITS);
  }
  return places;
}

@inline function isLeftBy(at: usize, low: u32, step: u32, streams: u32, places: u64): bool {
  return stepOf(at) == step && load<u32>(at, LOOP) == loop && load<u32>(at, STREAMS) == streams && load<u64>(at, PLACES) == places &&
    ((lowOf(at) - low) & (step - 1)) == 0;
}

/**
 * The pattern of a range in which some streams, a bit each, find what they leave, and all of it known; 0 if it is not. `first`: where
 * the place begins in the trip that comes first; `step`: bytes of a place, a power of two.
 */
export function findLeft(streams: u32, first: u32, low: u32, high: u32, step: u32): usize {
  if (!isInside || !meetsHull(LEFT_FIRST, low, high)) return 0;
  const places = placesOf(streams, first);
  for (let i: u32 = 0; i < countOf(); i++)
    if (contains(entry(i), low, high) && isLeftBy(entry(i), low, step, streams, places)) {
      if (idle != 0) idle--;
      return entry(i) + PATTERN;
    }
  return 0;
}

/** Whether it is worth it to find out what a loop leaves. */
@inline export function learnsLeft(): bool { return isInside && idle < MOST_IDLE; }

/** Some streams have found the pattern in all of a range, and left it. */
export function learnLeft(streams: u32, first: u32, low: u32, high: u32, step: u32): void {
  idle++;
  const places = placesOf(streams, first);
  for (let i: u32 = 0; i < countOf(); ) {
    const at = entry(i);
    if (!touches(at, low, high) || !isLeftBy(at, low, step, streams, places) || !looksAs(at + PATTERN)) { i++; continue; }
    low = min(low, lowOf(at));
    high = max(high, highOf(at));
    takeOut(i);
  }
  const at = add(low, high);
  store<u32>(at, step, STEP);
  store<u32>(at, loop, LOOP);
  store<u32>(at, streams, STREAMS);
  store<u64>(at, places, PLACES);
  copyPattern(at + PATTERN, pattern(FOUND));
  growHull(ALL_FIRST, low, high);
  growHull(LEFT_FIRST, low, high);
}

/** Keeps the pattern found at the beginning of a range, which must be the one of all its pieces. */
@inline export function keepFound(): void { copyPattern(CONTROL + C_KNOWN + KEPT, pattern(FOUND)); }
@inline export function isAsKept(): bool { return looksAs(CONTROL + C_KNOWN + KEPT); }

/** Whether a pattern is the one found. */
function looksAs(other: usize): bool {
  let differs = i64x2.splat(0);
  for (let i: usize = 0; i < PATTERN_BYTES; i += 16)
    differs = v128.or(differs, v128.xor(v128.load(other + i), v128.load(pattern(FOUND) + i)));
  return !v128.any_true(differs);
}

/** Stores went to a range. */
@inline export function forget(low: u32, high: u32): void { if (meetsHull(ALL_FIRST, low, high)) forgetWhere(low, high, true); }

/** Bytes of a range that were not read may be now. */
@inline export function forgetLeft(low: u32, high: u32): void { if (meetsHull(LEFT_FIRST, low, high)) forgetWhere(low, high, false); }

function forgetWhere(low: u32, high: u32, isStored: bool): void {
  for (let i: u32 = 0; i < countOf(); ) {
    const at = entry(i);
    if (!overlaps(at, low, high) || (stepOf(at) == 0 && !isStored)) i++;
    else cut(i, low, high);
  }
}

@inline function meetsHull(where: usize, low: u32, high: u32): bool {
  const hull: usize = CONTROL + C_KNOWN + where;
  const first = load<u32>(hull) + (LONGEST_ACCESS - 1);
  return high > first && low < first + load<u32>(hull, ALL_LENGTH) - (LONGEST_ACCESS - 1);
}

/** Leaves of a range what lies before `low` and behind `high`, whole places of it. It is another one, or none, then. */
function cut(i: u32, low: u32, high: u32): void {
  const at = entry(i);
  const step = max(stepOf(at), 1);
  const first = lowOf(at);
  const end = highOf(at);
  const before = low > first ? first + ((low - first) & ~(step - 1)) : first;
  const behind = high < end ? first + ((high - first + step - 1) & ~(step - 1)) : end;
  const isLong = before - first >= WORTH_KEEPING;
  if (behind >= end || end - behind < WORTH_KEEPING) {
    if (isLong) store<u32>(at, before, HIGH);
    else remove(i);
    return;
  }
  if (!isLong) { store<u32>(at, behind, LOW); return; }
  store<u32>(at, before, HIGH);
  if (countOf() == MOST_ENTRIES) return;
  const other = add(behind, end);
  copyEntry(other, at);
  store<u32>(other, behind, LOW);
  store<u32>(other, end, HIGH);
}

/** A range is not known any more. Hulls may be too large, but for that. */
function remove(i: u32): void {
  takeOut(i);
  setHulls();
}

/** The last range takes the place of one. */
function takeOut(i: u32): void {
  const last = countOf() - 1;
  if (i != last) copyEntry(entry(i), entry(last));
  store<u32>(CONTROL, last, C_KNOWN + COUNT);
}

function copyEntry(to: usize, from: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
  copyPattern(to + PATTERN, from + PATTERN);
}

/** A new range, if need be in the place of one that is shorter than others by half, or of another one each time. */
function add(low: u32, high: u32): usize {
  const count = countOf();
  let at = entry(count);
  if (count != MOST_ENTRIES) store<u32>(CONTROL, count + 1, C_KNOWN + COUNT);
  else {
    turn = (turn + 1) % MOST_ENTRIES;
    at = entry(turn);
    for (let i: u32 = 0; i < count; i++) if (clz(lengthOf(entry(i))) > clz(lengthOf(at))) at = entry(i);
  }
  store<u32>(at, low, LOW);
  store<u32>(at, high, HIGH);
  return at;
}

function setHulls(): void {
  let low: u32 = -1;
  let high: u32 = 0;
  let leftLow: u32 = -1;
  let leftHigh: u32 = 0;
  for (let i: u32 = 0; i < countOf(); i++) {
    const at = entry(i);
    low = min(low, lowOf(at));
    high = max(high, highOf(at));
    if (stepOf(at) == 0) continue;
    leftLow = min(leftLow, lowOf(at));
    leftHigh = max(leftHigh, highOf(at));
  }
  setHull(ALL_FIRST, low, high);
  setHull(LEFT_FIRST, leftLow, leftHigh);
}

function growHull(where: usize, low: u32, high: u32): void {
  const hull: usize = CONTROL + C_KNOWN + where;
  const length = load<u32>(hull, ALL_LENGTH);
  if (length == 0) { setHull(where, low, high); return; }
  const first = load<u32>(hull) + (LONGEST_ACCESS - 1);
  if (low < first || high > first + length - (LONGEST_ACCESS - 1))
    setHull(where, min(low, first), max(high, first + length - (LONGEST_ACCESS - 1)));
}

function setHull(where: usize, low: u32, high: u32): void {
  const isEmpty = high == 0;
  store<u32>(CONTROL + C_KNOWN + where, isEmpty ? 0 : low - (LONGEST_ACCESS - 1));
  store<u32>(CONTROL + C_KNOWN + where, isEmpty ? 0 : high - low + (LONGEST_ACCESS - 1), ALL_LENGTH);
}
