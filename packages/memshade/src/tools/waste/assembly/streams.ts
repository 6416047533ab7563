// Loops that have ended: each of their accesses went from a first address by a stride, `trips` times. What they did to the
// shadow is done here, range by range where the order between ranges is known, else access by access.
import { areRead, bump, settleZeros } from "./chosen/bytes";
import { isPatterned, passGroup } from "./chosen/groups";
import { loadStream, NO_STORE, sparseIsRead, storeStream } from "./chosen/passes";
import { haveIds } from "./chosen-ids/ids";
import { LINE_SHIFT, markDirty, showsZeros } from "./dirty";
import { passEach } from "./each";
import {
  begin, forget, forgetLeft, isKnownRead, isNested, knowsSome, learnRead, learnSparse, restHigh, restLow, WORTH_KEEPING,
} from "./known";
import { replay } from "./replay";
import { passShort } from "./short-loops";
import {
  countIn, endOf, fetch, fills, firstOf, firstStream, idOf, isInside, isStore, magnitude, runsOf, sizeOf, stream, strideOf, unitNumber,
} from "./stream-table";
import {
  advance, DONE, endIn, firstIn, firstUnit, gather, highOf, isIn, isSingle, lowOf, nextUnit, OPEN, overlap, part, put, setRanges, SETTLED,
  sizeIn, storesIn, streamsIn, strideIn, unitsEnd,
} from "./units";
import { learnValid } from "./valid-range";

const LINE_BYTES: u32 = 1 << LINE_SHIFT;
/** Loops of so few trips are replayed at once: to find out what their streams have in common takes longer. */
const SHORT: u32 = 12;
/** Ranges of fewer bytes are quicker done stream by stream than compared with a pattern. */
const MANY_BYTES: u32 = 512;
/** Strides above this are looked at access by access; of loads, so that each is a unit. */
const DENSE: u32 = 32;
/** Of trips in which a stream follows another at another pace, one in so many is replayed at least. */
const PIECES: u32 = 16;

/** A loop of the table has ended after `trips` runs of its block. Counters and records are counted from `base`. */
export function looped(trips: u32, loop: u32, base: u32): void {
  const count = countIn(loop);
  const runs = runsOf(loop, base);
  bump(runs, trips);
  begin(isInside(loop), runs);
  const isShort = trips <= SHORT;
  if (!isShort || knowsSome()) {
    fetch(loop, trips, base);
    gather(count);
  }
  if (isShort) {
    if (knowsSome()) forgetRanges(trips);
    passShort(trips, loop, base);
    return;
  }
  if (!haveIds(count)) {
    if (knowsSome()) forgetRanges(trips);
    replay(trips, count);
  } else if (isNested()) {
    if (!areAllKnown(trips)) {
      passLong(trips, count);
      if (fills(loop)) learnStored(trips);
    }
  } else if (count == 1 && !showsZeros()) passOne(stream(0), trips);
  else passLong(trips, count);
}

/** Whether all streams are loads of what is known to be read. */
function areAllKnown(trips: u32): bool {
  const end = unitsEnd();
  for (let at = firstUnit(); at != end; at = nextUnit(at)) {
    if (storesIn(at)) return false;
    const first = firstIn(at);
    const last = first + strideIn(at) * (trips - 1);
    if (!isKnownRead(min(first, last), max(first, last) + sizeIn(at))) return false;
  }
  return true;
}

/** The loop's stores leave no byte out and go up. */
function learnStored(trips: u32): void {
  let i: u32 = 0;
  while (!isStore(stream(i))) i++;
  const high = endOf(unitNumber(stream(i)));
  learnValid(high - strideOf(stream(i)) * trips, high);
}

/** What the next trips access is not known any more. */
function forgetRanges(trips: u32): void {
  setRanges(trips);
  const end = unitsEnd();
  for (let at = firstUnit(); at != end; at = nextUnit(at)) forgetRange(at);
}

@inline function forgetRange(at: usize): void {
  if (storesIn(at)) forget(lowOf(at), highOf(at));
  else forgetLeft(lowOf(at), highOf(at));
}

/** Does as many trips at a time as have an order, and replays those between. */
function passLong(trips: u32, count: u32): void {
  while (trips != 0) {
    let some: u32 = 0;
    if (trips > SHORT) {
      isTorn = false;
      some = tripsInOrder(trips);
      if (some != 0) {
        setRanges(some);
        setStates(some);
        some = tripsOfLoads(some);
      }
      if (isTorn) {
        part(count);
        continue;
      }
    }
    if (some == 0) {
      some = trips > SHORT ? max(1, min(together, trips)) : trips;
      if (knowsSome()) forgetRanges(some);
      replay(some, count);
      advance(some, 0);
    } else {
      passAll(some);
      if (some != trips) advance(some, count);
    }
    trips -= some;
  }
}

/** Trips to replay where none can be done in order. */
let together: u32 = 0;
/** Whether units meet so that there is only an order between their streams. */
let isTorn: bool = false;

/**
 * How many of the next trips can be done stream by stream, as far as loads meet what the loop stores: 0, or more than SHORT.
 * Stores go at one pace, in one place.
 */
function tripsInOrder(trips: u32): u32 {
  const stop = unitsEnd();
  let low: u32 = -1;
  let high: u32 = 0;
  let stride: i32 = 0;
  for (let at = firstUnit(); at != stop; at = nextUnit(at)) {
    if (!storesIn(at)) continue;
    low = min(low, firstIn(at));
    high = max(high, endIn(at));
    stride = strideIn(at);
  }
  together = 0;
  let apart = trips;
  if (high == 0) return apart;
  for (let at = firstUnit(); at != stop; at = nextUnit(at)) {
    if (storesIn(at)) continue;
    const some = tripsApart(firstIn(at), endIn(at), strideIn(at), low, high, stride, apart);
    if (some == apart || keepsPaceWithStores(at)) continue;
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

/** How many trips are replayed until loads and what is stored have passed each other. */
function tripsTogether(at: usize, low: u32, high: u32, stride: i32, trips: u32): u32 {
  const own = strideIn(at);
  const faster = <i64>stride - own;
  if (faster == 0) return trips;
  // At the end of these they are beside each other.
  const way: i64 = faster > 0 ? <i64>endIn(at) - low : <i64>high - firstIn(at);
  const speed = faster > 0 ? faster : -faster;
  const some = way <= 0 ? 1 : <u32>min<i64>((way + speed - 1) / speed, trips);
  // One behind the other, they stay in each other's range.
  return (own < 0) == (stride < 0) && own != 0 ? max(some, max(SHORT, trips / PIECES)) : some;
}

function keepsPaceWithStores(at: usize): bool {
  const stop = unitsEnd();
  for (let other = firstUnit(); other != stop; other = nextUnit(other)) {
    if (!storesIn(other) || keepPace(at, other)) continue;
    tear(at, other);
    return false;
  }
  return true;
}

/** Of two units that go at one pace, and not through the same places, the streams may. */
function tear(one: usize, other: usize): void {
  if (strideIn(one) == strideIn(other) && !(isSingle(one) && isSingle(other))) isTorn = true;
}

/** The same for loads of which some byte was not read before: what they have in common is fresh to one of them only. */
function tripsOfLoads(trips: u32): u32 {
  const stop = unitsEnd();
  let apart = trips;
  for (let one = firstUnit(); one != stop; one = nextUnit(one)) {
    if (!isIn(one, OPEN) || storesIn(one)) continue;
    for (let other = firstUnit(); other != one; other = nextUnit(other)) {
      if (!isIn(other, OPEN) || storesIn(other) || !overlap(one, other)) continue;
      if (keepPace(one, other) || shareReadBytes(one, other)) continue;
      tear(one, other);
      const low = firstIn(other);
      const high = endIn(other);
      const stride = strideIn(other);
      const some = tripsApart(firstIn(one), endIn(one), strideIn(one), low, high, stride, apart);
      if (some <= SHORT) together = max(together, max(tripsTogether(one, low, high, stride, trips), trips / PIECES));
      else apart = min(apart, some);
    }
  }
  if (together != 0) return 0;
  if (apart != trips) setRanges(apart);
  return apart;
}

/** Loads of what the loop also stores may find it unread, whatever it was before. */
function setStates(trips: u32): void {
  const stop = unitsEnd();
  let stores = false;
  for (let at = firstUnit(); at != stop; at = nextUnit(at)) {
    if (storesIn(at)) { put(at, OPEN); stores = true; }
    else put(at, isRead(at, trips) ? SETTLED : OPEN);
  }
  if (stores) reopen();
}

function reopen(): void {
  const stop = unitsEnd();
  for (let one = firstUnit(); one != stop; one = nextUnit(one)) {
    if (!isIn(one, SETTLED)) continue;
    for (let other = firstUnit(); other != stop; other = nextUnit(other))
      if (storesIn(other) && overlap(one, other)) { put(one, OPEN); break; }
  }
}

/** Whether all bytes between the first and the last of a unit's loads were read before the loop. */
function isRead(at: usize, trips: u32): bool {
  const low = lowOf(at);
  const high = highOf(at);
  if (isKnownRead(low, high)) return true;
  if (!looksRead(at, trips)) return false;
  if (!isNested()) return true;
  if (magnitude(strideIn(at)) > DENSE) learnSparse(low, high, trips);
  else if (high - low >= WORTH_KEEPING) learnRead(low, high);
  return true;
}

/** Of what is not known to be read. */
function looksRead(at: usize, trips: u32): bool {
  let low = restLow;
  let high = restHigh;
  if (magnitude(strideIn(at)) > DENSE) return areSparseRead(at, trips);
  // Neighbours in a row are often of one loop: what one of them has seen need not be seen again.
  for (let other = firstUnit(); other != at; other = nextUnit(other)) {
    if (!isIn(other, SETTLED) || magnitude(strideIn(other)) > DENSE) continue;
    if (low >= lowOf(other) && low < highOf(other)) low = highOf(other);
    if (high > lowOf(other) && high <= highOf(other)) high = lowOf(other);
    if (low >= high) return true;
  }
  if (areRead(low, high - low)) return true;
  if (!showsZeros()) return false;
  settleZeros(low, high);
  return areRead(low, high - low);
}

/** Whether all bytes of a stream of places far apart were read before the loop. */
function areSparseRead(at: usize, trips: u32): bool {
  const stride = strideIn(at);
  const size = sizeIn(at);
  let address = firstIn(at);
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
  if (strideIn(one) == 0 && strideIn(other) == 0) return true;
  const low = max(lowOf(one), lowOf(other));
  const high = min(highOf(one), highOf(other));
  return isKnownRead(low, high) || areRead(restLow, restHigh - restLow);
}

/**
 * Whether two units go through the same places at the same pace, or through places between those of the other: then who is
 * ahead was at each place before the other.
 */
function keepPace(one: usize, other: usize): bool {
  const stride = magnitude(strideIn(one));
  if (stride == 0 || strideIn(one) != strideIn(other)) return false;
  if (sizeIn(one) > stride || sizeIn(other) > stride) return false;
  const low = firstIn(one);
  const otherLow = firstIn(other);
  const apart = (stride & (stride - 1)) == 0 ? (low - otherLow) & (stride - 1)
    : low >= otherLow ? (low - otherLow) % stride : (stride - (otherLow - low) % stride) % stride;
  return apart == 0 || (apart >= sizeIn(other) && apart + sizeIn(one) <= stride);
}

/** Does the open units, those ahead of others of their stride first. */
function passAll(trips: u32): void {
  const stop = unitsEnd();
  for (let at = firstUnit(); at != stop; at = nextUnit(at))
    while (isIn(at, OPEN)) passAhead(strideIn(at), trips);
}

/** Does those open units of a stride that share a place, as long as the stride, with the one ahead of all. */
function passAhead(stride: i32, trips: u32): void {
  const stop = unitsEnd();
  const step = magnitude(stride);
  let ahead: usize = 0;
  for (let at = firstUnit(); at != stop; at = nextUnit(at))
    if (isIn(at, OPEN) && strideIn(at) == stride && (ahead == 0 || isAhead(at, ahead, stride))) ahead = at;
  const first = firstIn(ahead);
  const end = endIn(ahead);
  let low = first;
  let streams: u32 = 0;
  if (sizeIn(ahead) > step) streams = take(ahead);
  else for (let at = firstUnit(); at != stop; at = nextUnit(at)) {
    if (!isIn(at, OPEN) || strideIn(at) != stride) continue;
    const isInside = stride < 0 ? endIn(at) - first <= step : end - firstIn(at) <= step;
    if (!isInside) continue;
    low = min(low, firstIn(at));
    streams |= take(at);
  }
  if (step == 0 || (streams & (streams - 1)) == 0) for (; streams != 0; streams &= streams - 1) passOne(firstStream(streams), trips);
  else passChosen(low, stride, trips, streams);
}

/** A unit is being done. Returns its streams. */
@inline function take(at: usize): u32 {
  put(at, DONE);
  return streamsIn(at);
}

/** Of units side by side in the direction in which they go, the one that reaches further. */
@inline function isAhead(one: usize, other: usize, stride: i32): bool {
  return stride < 0 ? firstIn(one) < firstIn(other) : endIn(one) > endIn(other);
}

function passOne(at: usize, trips: u32): void {
  if (knowsSome()) forgetStream(at, trips);
  if (!isStore(at)) {
    passLoad(at, trips);
    return;
  }
  soil(at, trips);
  storeStream(firstOf(at), strideOf(at), sizeOf(at), trips, idOf(at));
}

function passLoad(at: usize, trips: u32): void {
  const stride = strideOf(at);
  const size = sizeOf(at);
  let first = firstOf(at);
  // Where one load has read all, it finds all read from then on.
  if (stride == 0) {
    loadStream(first, 0, size, 1, idOf(at), NO_STORE);
    if (!areRead(first, size)) loadStream(first, 0, size, trips - 1, idOf(at), NO_STORE);
    return;
  }
  const low = lowest(at, trips);
  const high = low + extent(at, trips);
  if (isKnownRead(low, high)) return;
  if (stride > 0) {
    // Trips before the first byte that may be unread, and behind the last, find nothing.
    trips = min(trips, (restHigh - first - 1) / stride + 1);
    const known = restLow - first < size ? 0 : (restLow - first - size) / stride + 1;
    first += known * stride;
    trips -= known;
  }
  const isWhole = loadStream(first, stride, size, trips, idOf(at), NO_STORE);
  if (isWhole && isNested() && magnitude(stride) == size && high - low >= WORTH_KEEPING) learnRead(low, high);
}

@inline function lowest(at: usize, trips: u32): u32 { return firstOf(at) + min(strideOf(at), 0) * (trips - 1); }
@inline function extent(at: usize, trips: u32): u32 { return magnitude(strideOf(at)) * (trips - 1) + sizeOf(at); }

function forgetStream(at: usize, trips: u32): void {
  const low = lowest(at, trips);
  if (isStore(at)) forget(low, low + extent(at, trips));
  else forgetLeft(low, low + extent(at, trips));
}

/** Streams, a bit each, share a place that is at `first` in the first trip. */
function passChosen(first: u32, stride: i32, trips: u32, streams: u32): void {
  const step = magnitude(stride);
  const low = stride < 0 ? first - step * (trips - 1) : first;
  // A nest may come back to what a group of two has left.
  const isMany = popcnt(streams) > 2;
  if (isMany && step * trips >= MANY_BYTES && isPatterned(step)) passGroup(streams, first, low, step, trips);
  else {
    if (knowsSome()) for (let rest = streams; rest != 0; rest &= rest - 1) forgetStream(firstStream(rest), trips);
    passEach(streams, first, first, stride, trips);
  }
  for (; streams != 0; streams &= streams - 1) if (isStore(firstStream(streams))) soil(firstStream(streams), trips);
}

/** An opaque host may look at what a stream stored. */
function soil(at: usize, trips: u32): void {
  const stride = strideOf(at);
  if (magnitude(stride) <= LINE_BYTES) { markDirty(lowest(at, trips), extent(at, trips)); return; }
  const first = firstOf(at);
  for (let i: u32 = 0; i < trips; i++) markDirty(first + stride * i, sizeOf(at));
}
