// Loops that have ended: each of their accesses went from a first address by a stride, `trips` times. What they did to the
// shadow is done here, range by range where the order between ranges is known, else access by access.
import { areRead, bump, settleZeros } from "./chosen/bytes";
import { isPatterned, passGroup } from "./chosen/groups";
import { loadStream, NO_STORE, sparseIsRead, storeStream } from "./chosen/passes";
import { haveIds } from "./chosen-ids/ids";
import { LINE_SHIFT, markDirty, showsZeros } from "./dirty";
import { passEach } from "./each";
import {
  begin, forget, forgetLeft, isKnownRead, isNested, knowsSome, learnRead, learnSparse, WORTH_KEEPING,
} from "./known";
import { replay } from "./replay";
import { passShort } from "./short-loops";
import {
  CHOSEN, DONE, firstOf, idOf, isIn, isStore, magnitude, OPEN, put, SETTLED, sizeOf, stream, strideOf, T_END, T_FIRST, T_HIGH,
  T_LOW, T_STRIDE,
} from "./stream-table";
import { learnValid } from "./valid-range";

const LINE_BYTES: u32 = 1 << LINE_SHIFT;
/** Loops of so few trips are replayed at once: to find out what their streams have in common takes longer. */
const SHORT: u32 = 12;
/** Ranges of fewer bytes are quicker done stream by stream than compared with a pattern. */
const MANY_BYTES: u32 = 512;
/** Strides above this are looked at access by access. */
const DENSE: u32 = 32;
/** Of trips in which a stream follows another at another pace, one in so many is replayed at least. */
const PIECES: u32 = 16;

/** Of the number of streams: the loop is inside of another one, about which `enterNest` was told; it asks which bytes are valid. */
const INSIDE: u32 = 32;
const FILLS: u32 = 64;

/** A loop has ended after `trips` runs of its block; `count` descriptors say what it did. */
export function looped(trips: u32, streams: u32, runs: u32): void {
  const count = streams & (INSIDE - 1);
  bump(runs, trips);
  begin(streams != count, runs);
  if (trips <= SHORT) {
    if (knowsSome()) {
      setFirst(trips, count);
      forgetRanges(trips, count);
    }
    passShort(trips, count);
    return;
  }
  setFirst(trips, count);
  if (!haveIds(count)) {
    if (knowsSome()) forgetRanges(trips, count);
    replay(trips, count);
  } else if (isNested()) {
    if (!areAllKnown(trips, count)) {
      passLong(trips, count);
      if ((streams & FILLS) != 0) learnStored(trips, count);
    }
  } else if (count == 1 && !showsZeros()) {
    setRanges(trips, 1);
    passOne(stream(0), trips);
  } else passLong(trips, count);
}

/** Where the first trip was. */
function setFirst(trips: u32, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    store<u32>(at, load<u32>(at, T_END) - load<u32>(at, T_STRIDE) * trips, T_FIRST);
  }
}

/** Whether all streams are loads of what is known to be read. */
function areAllKnown(trips: u32, count: u32): bool {
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (isStore(at)) return false;
    const first = firstOf(at);
    const last = first + strideOf(at) * (trips - 1);
    if (!isKnownRead(min(first, last), max(first, last) + sizeOf(at))) return false;
  }
  return true;
}

/** The loop's stores leave no byte out and go up. */
function learnStored(trips: u32, count: u32): void {
  let low: u32 = -1;
  let bytes: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (!isStore(at)) continue;
    bytes = strideOf(at) * trips;
    low = min(low, load<u32>(at, T_END) - bytes);
  }
  learnValid(low, low + bytes);
}

/** What the next trips access is not known any more. */
function forgetRanges(trips: u32, count: u32): void {
  setRanges(trips, count);
  for (let i: u32 = 0; i < count; i++) forgetRange(stream(i));
}

function forgetRange(at: usize): void {
  if (isStore(at)) forget(load<u32>(at, T_LOW), load<u32>(at, T_HIGH));
  else forgetLeft(load<u32>(at, T_LOW), load<u32>(at, T_HIGH));
}

/** Does as many trips at a time as have an order, and replays those between. */
function passLong(trips: u32, count: u32): void {
  while (trips != 0) {
    let some = trips > SHORT ? tripsInOrder(trips, count) : 0;
    if (some != 0) {
      setRanges(some, count);
      setStates(some, count);
      some = tripsOfLoads(some, count);
    }
    if (some == 0) {
      some = trips > SHORT ? max(1, min(together, trips)) : trips;
      if (knowsSome()) forgetRanges(some, count);
      replay(some, count);
    } else {
      passAll(some, count);
      if (some != trips) advance(some, count);
    }
    trips -= some;
  }
}

/** Trips to replay where none can be done in order. */
let together: u32 = 0;

function advance(trips: u32, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    store<u32>(at, firstOf(at) + strideOf(at) * trips, T_FIRST);
  }
}

/**
 * How many of the next trips can be done stream by stream, as far as loads meet what the loop stores: 0, or more than SHORT.
 * Stores go at one pace, in one place.
 */
function tripsInOrder(trips: u32, count: u32): u32 {
  let low: u32 = -1;
  let high: u32 = 0;
  let stride: i32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (!isStore(at)) continue;
    low = min(low, firstOf(at));
    high = max(high, firstOf(at) + sizeOf(at));
    stride = strideOf(at);
  }
  together = 0;
  let apart = trips;
  if (high == 0) return apart;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (isStore(at)) continue;
    const some = tripsApart(firstOf(at), firstOf(at) + sizeOf(at), strideOf(at), low, high, stride, apart);
    if (some == apart || keepsPaceWithStores(at, count)) continue;
    if (some <= SHORT) together = max(together, tripsTogether(at, low, high, stride, trips));
    else apart = some;
  }
  return together == 0 ? apart : 0;
}

/** In how many of the next trips two places stay out of each other's range. */
function tripsApart(low: u32, high: u32, stride: i32, otherLow: u32, otherHigh: u32, otherStride: i32, trips: u32): u32 {
  let gap: i64;
  let closing: i64;
  if (high <= otherLow) {
    gap = otherLow - high;
    closing = <i64>max(stride, 0) - min(otherStride, 0);
  } else if (otherHigh <= low) {
    gap = low - otherHigh;
    closing = <i64>max(otherStride, 0) - min(stride, 0);
  } else return 0;
  return gap >= closing * (trips - 1) ? trips : <u32>(gap / closing) + 1;
}

/** How many trips are replayed until a load and what is stored have passed each other. */
function tripsTogether(at: usize, low: u32, high: u32, stride: i32, trips: u32): u32 {
  const own = strideOf(at);
  const faster = <i64>stride - own;
  if (faster == 0) return trips;
  // At the end of these they are beside each other.
  const way: i64 = faster > 0 ? <i64>firstOf(at) + sizeOf(at) - low : <i64>high - firstOf(at);
  const speed = faster > 0 ? faster : -faster;
  const some = way <= 0 ? 1 : <u32>min<i64>((way + speed - 1) / speed, trips);
  // One behind the other, they stay in each other's range.
  return (own < 0) == (stride < 0) && own != 0 ? max(some, max(SHORT, trips / PIECES)) : some;
}

function keepsPaceWithStores(at: usize, count: u32): bool {
  for (let i: u32 = 0; i < count; i++)
    if (isStore(stream(i)) && !keepPace(at, stream(i))) return false;
  return true;
}

/** The same for loads of which some byte was not read before: what they have in common is fresh to one of them only. */
function tripsOfLoads(trips: u32, count: u32): u32 {
  let apart = trips;
  for (let i: u32 = 1; i < count; i++) {
    const one = stream(i);
    if (!isIn(one, OPEN) || isStore(one)) continue;
    for (let j: u32 = 0; j < i; j++) {
      const other = stream(j);
      if (!isIn(other, OPEN) || isStore(other) || !overlap(one, other)) continue;
      if (keepPace(one, other) || shareReadBytes(one, other)) continue;
      const low = firstOf(other);
      const high = low + sizeOf(other);
      const stride = strideOf(other);
      const some = tripsApart(firstOf(one), firstOf(one) + sizeOf(one), strideOf(one), low, high, stride, apart);
      if (some <= SHORT) together = max(together, max(tripsTogether(one, low, high, stride, trips), trips / PIECES));
      else apart = min(apart, some);
    }
  }
  if (together != 0) return 0;
  if (apart != trips) setRanges(apart, count);
  return apart;
}

function setRanges(trips: u32, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    const first = firstOf(at);
    const last = first + strideOf(at) * (trips - 1);
    store<u32>(at, min(first, last), T_LOW);
    store<u32>(at, max(first, last) + sizeOf(at), T_HIGH);
  }
}

/** Loads of what the loop also stores may find it unread, whatever it was before. */
function setStates(trips: u32, count: u32): void {
  let stores = false;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (isStore(at)) { put(at, OPEN); stores = true; }
    else put(at, isRead(i, trips) ? SETTLED : OPEN);
  }
  if (stores) reopen(count);
}

function reopen(count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const one = stream(i);
    if (!isIn(one, SETTLED)) continue;
    for (let j: u32 = 0; j < count; j++)
      if (isStore(stream(j)) && overlap(one, stream(j))) { put(one, OPEN); break; }
  }
}

@inline function overlap(one: usize, other: usize): bool {
  return load<u32>(one, T_LOW) < load<u32>(other, T_HIGH) && load<u32>(other, T_LOW) < load<u32>(one, T_HIGH);
}

/** Whether all bytes between the first and the last of a stream were read before the loop. */
function isRead(i: u32, trips: u32): bool {
  if (!isNested()) return looksRead(i, trips);
  const at = stream(i);
  const low = load<u32>(at, T_LOW);
  const high = load<u32>(at, T_HIGH);
  if (isKnownRead(low, high)) return true;
  if (!looksRead(i, trips)) return false;
  if (magnitude(strideOf(at)) > DENSE) learnSparse(low, high, trips);
  else if (high - low >= WORTH_KEEPING) learnRead(low, high);
  return true;
}

function looksRead(i: u32, trips: u32): bool {
  const at = stream(i);
  let low = load<u32>(at, T_LOW);
  let high = load<u32>(at, T_HIGH);
  if (magnitude(strideOf(at)) > DENSE) return areSparseRead(at, trips);
  // Neighbours in a row are often streams of one loop: what one of them has seen need not be seen again.
  for (let j: u32 = 0; j < i; j++) {
    const other = stream(j);
    if (!isIn(other, SETTLED) || magnitude(strideOf(other)) > DENSE) continue;
    const otherLow = load<u32>(other, T_LOW);
    const otherHigh = load<u32>(other, T_HIGH);
    if (low >= otherLow && low < otherHigh) low = otherHigh;
    if (high > otherLow && high <= otherHigh) high = otherLow;
    if (low >= high) return true;
  }
  if (areRead(low, high - low)) return true;
  if (!showsZeros()) return false;
  settleZeros(low, high);
  return areRead(low, high - low);
}

/** Whether all bytes of a stream of places far apart were read before the loop. */
function areSparseRead(at: usize, trips: u32): bool {
  const stride = strideOf(at);
  const size = sizeOf(at);
  let address = firstOf(at);
  if (showsZeros()) settleSparse(address, stride, size, trips);
  // Walks along columns are of numbers as a rule.
  if (size == 4) return sparseIsRead<u32>(address, stride, trips);
  if (size == 8) return sparseIsRead<u64>(address, stride, trips);
  for (; trips != 0; trips--) {
    if (!areRead(address, size)) return false;
    address += stride;
  }
  return true;
}

/** Zeros of accesses far apart that the host has seen are read. */
function settleSparse(address: u32, stride: i32, size: u32, trips: u32): void {
  for (; trips != 0; trips--) {
    settleZeros(address, address + size);
    address += stride;
  }
}

/** Two loads whose common bytes were all read before do not see each other; nor do those that stand, behind the first trip. */
function shareReadBytes(one: usize, other: usize): bool {
  if (strideOf(one) == 0 && strideOf(other) == 0) return true;
  const low = max(load<u32>(one, T_LOW), load<u32>(other, T_LOW));
  return areRead(low, min(load<u32>(one, T_HIGH), load<u32>(other, T_HIGH)) - low);
}

/**
 * Whether two streams go through the same places at the same pace, or through places between those of the other: then who is
 * ahead was at each place before the other.
 */
function keepPace(one: usize, other: usize): bool {
  const stride = magnitude(strideOf(one));
  if (stride == 0 || strideOf(one) != strideOf(other)) return false;
  if (sizeOf(one) > stride || sizeOf(other) > stride) return false;
  const low = firstOf(one);
  const otherLow = firstOf(other);
  const apart = (stride & (stride - 1)) == 0 ? (low - otherLow) & (stride - 1)
    : low >= otherLow ? (low - otherLow) % stride : (stride - (otherLow - low) % stride) % stride;
  return apart == 0 || (apart >= sizeOf(other) && apart + sizeOf(one) <= stride);
}

/** Does the open streams, those ahead of others of their stride first. */
function passAll(trips: u32, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    while (isIn(at, OPEN)) passAhead(strideOf(at), trips, count);
  }
}

/** Does those open streams of a stride that share a place, as long as the stride, with the one ahead of all. */
function passAhead(stride: i32, trips: u32, count: u32): void {
  const step = magnitude(stride);
  let ahead: usize = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (isIn(at, OPEN) && strideOf(at) == stride && (ahead == 0 || isAhead(at, ahead, stride))) ahead = at;
  }
  const first = firstOf(ahead);
  const end = first + sizeOf(ahead);
  if (sizeOf(ahead) > step) { passOne(ahead, trips); return; }
  let low = first;
  let chosen: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (!isIn(at, OPEN) || strideOf(at) != stride) continue;
    const isInside = stride < 0 ? firstOf(at) + sizeOf(at) - first <= step : end - firstOf(at) <= step;
    if (!isInside) continue;
    low = min(low, firstOf(at));
    put(at, CHOSEN);
    chosen++;
  }
  if (chosen == 1) passOne(ahead, trips);
  else passChosen(low, stride, trips, count, chosen);
}

/** Of streams side by side in the direction in which they go, the one that reaches further. */
@inline function isAhead(one: usize, other: usize, stride: i32): bool {
  return stride < 0 ? firstOf(one) < firstOf(other) : firstOf(one) + sizeOf(one) > firstOf(other) + sizeOf(other);
}

function passOne(at: usize, trips: u32): void {
  put(at, DONE);
  if (knowsSome()) forgetRange(at);
  if (!isStore(at)) {
    // Where one load has read all, it finds all read from then on.
    if (strideOf(at) == 0) {
      loaded(at, 1, NO_STORE);
      if (areRead(firstOf(at), sizeOf(at))) return;
      trips--;
    }
    loaded(at, trips, NO_STORE);
    return;
  }
  soil(at, trips);
  storeStream(firstOf(at), strideOf(at), sizeOf(at), trips, idOf(at));
}

/** The chosen streams share a place that is at `first` in the first trip. */
function passChosen(first: u32, stride: i32, trips: u32, count: u32, chosen: u32): void {
  const step = magnitude(stride);
  const low = stride < 0 ? first - step * (trips - 1) : first;
  // A nest may come back to what a group of two has left.
  const isMany = chosen > 2;
  if (isMany && step * trips >= MANY_BYTES && isPatterned(step)) passGroup(count, first, low, step, trips);
  else {
    if (knowsSome()) for (let i: u32 = 0; i < count; i++) if (isIn(stream(i), CHOSEN)) forgetRange(stream(i));
    passEach(count, first, first, stride, trips);
  }
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (!isIn(at, CHOSEN)) continue;
    if (isStore(at)) soil(at, trips);
    put(at, DONE);
  }
}

@inline function loaded(at: usize, trips: u32, left: u32): void {
  loadStream(firstOf(at), strideOf(at), sizeOf(at), trips, idOf(at), left);
}

/** An opaque host may look at what a stream stored. */
function soil(at: usize, trips: u32): void {
  const stride = strideOf(at);
  const low = load<u32>(at, T_LOW);
  if (magnitude(stride) <= LINE_BYTES) { markDirty(low, load<u32>(at, T_HIGH) - low); return; }
  const first = firstOf(at);
  for (let i: u32 = 0; i < trips; i++) markDirty(first + stride * i, sizeOf(at));
}
