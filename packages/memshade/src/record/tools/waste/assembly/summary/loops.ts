// Updates the shadow memory after a loop has ended. Each of the loop's accesses is a stream: one access per trip, each
// a stride after the one before. A table that `tools/waste/pass/node-calls.ts` writes describes the streams; the loop
// stores where they ended. The update is as if the loop had been distributed (Allen and Kennedy): streams are
// processed one after the other if each byte sees its accesses in the same order, else they take turns.
import { CONTROL, FRAMED, RECORD_SHIFT, STORES } from "../imports";
import { Control, LOOP_BYTES, LOOP_STREAM_BYTES, Load, Loop, STREAM_END_BYTES } from "../layout.generated";
import { markDirty, showsZeros } from "../memory";
import { fresh1, fresh2, fresh4, fresh8, fresh16, loadRecord } from "./accesses";
import {
  bump,
  differ,
  fewAreRead,
  idAt,
  READ,
  readUntil,
  resolveZeros,
  setAlike,
  setFew,
  setRange,
  unreadEnd,
  writeFew,
  markRangeRead,
  markRead,
} from "./bytes";
import { idOfKey, isAssigned, isNone, overflow, readsOf } from "./ids";

/** Words of a stream in the table: flags with its key, and its stride. */
const WHAT: usize = 0;
const STRIDE: usize = 4;
const SIZE_BITS: u32 = 31;
const STORE_BIT: u32 = 32;
/** The loop stores the stride together with the end of the stream. */
const VARIABLE: u32 = 64;
const KEY_SHIFT: u32 = 7;
const END_STRIDE: usize = 4;

const STREAM_BYTES: usize = 32;
const S_NEXT: usize = 0; // address in the next trip
const S_STRIDE: usize = 4;
const S_KEY: usize = 8;
const S_KIND: usize = 12; // size, STORE_BIT, and from BODY_SHIFT on the position in the loop's block
const S_LOW: usize = 16; // address range in the current trips
const S_HIGH: usize = 20;
// Order in which streams reach a byte: the first address, complemented for negative strides, −1 for stride 0.
const S_FRONT: usize = 24;
// Number after the last stream that must take turns with this stream; 0: a load of bytes that were all read before.
const S_UNTIL: usize = 28;
const BODY_SHIFT: u32 = 8;

/** Up to this many trips, going through the accesses is faster than comparing ranges. */
const SHORT: u32 = 12;
/** Trips after which the next stream is processed, so that the shadow memory stays in the processor's cache. */
const CHUNK: u32 = 512;
/** Largest stride of streams that are handled as one range. */
const DENSE: u32 = 32;

@inline
function stream(i: u32): usize {
  return CONTROL + Control.streams + i * STREAM_BYTES;
}
@inline
function isStore(at: usize): bool {
  return (load<u32>(at, S_KIND) & STORE_BIT) !== 0;
}
@inline
function isIdle(at: usize): bool {
  return load<u32>(at, S_UNTIL) === 0;
}
@inline
function sizeOf(at: usize): u32 {
  return load<u32>(at, S_KIND) & SIZE_BITS;
}
@inline
function bodyOf(at: usize): u32 {
  return load<u32>(at, S_KIND) >>> BODY_SHIFT;
}
@inline
function nextOf(at: usize): u32 {
  return load<u32>(at, S_NEXT);
}
@inline
function strideOf(at: usize): i32 {
  return load<i32>(at, S_STRIDE);
}
@inline
function keyOf(at: usize): u32 {
  return load<u32>(at, S_KEY);
}
@inline
function frontOf(at: usize): u32 {
  return load<u32>(at, S_FRONT);
}
@inline
function lowOf(at: usize): u32 {
  return load<u32>(at, S_LOW);
}
@inline
function highOf(at: usize): u32 {
  return load<u32>(at, S_HIGH);
}
@inline
function advance(at: usize, trips: u32): void {
  store<u32>(at, nextOf(at) + strideOf(at) * trips, S_NEXT);
}
@inline
function magnitude(stride: i32): u32 {
  return <u32>(stride < 0 ? -stride : stride);
}
@inline
function overlap(first: usize, second: usize): bool {
  return lowOf(first) < highOf(second) && lowOf(second) < highOf(first);
}

/**
 * Called when a loop of the table has ended after `trips` runs of its block. Addresses of counters and records are
 * relative to `base`.
 */
export function looped(trips: u32, loop: u32, base: u32): void {
  const count = load<u32>(loop, Loop.streams);
  bump(base + load<u32>(loop, Loop.runs), trips);
  store<u32>(loop, load<u32>(loop, Loop.open) - 1, Loop.open);
  if (trips === 0) return;
  fetch(loop, count, trips, base);
  if (trips <= SHORT) takeTurns(0, count, trips);
  else
    for (let remainingTrips = trips; remainingTrips !== 0; )
      remainingTrips -= run(count, min(remainingTrips, CHUNK));
}

function fetch(loop: usize, count: u32, trips: u32, base: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const from = loop + LOOP_BYTES + i * LOOP_STREAM_BYTES;
    const end = CONTROL + Control.ends + i * STREAM_END_BYTES;
    const at = stream(i);
    const flags = load<u32>(from, WHAT);
    const stride = (flags & VARIABLE) === 0 ? load<i32>(from, STRIDE) : load<i32>(end, END_STRIDE);
    const key = flags >>> KEY_SHIFT;
    store<u32>(at, load<u32>(end) - stride * trips, S_NEXT);
    store<i32>(at, stride, S_STRIDE);
    store<u32>(
      at,
      FRAMED === 0 ? key : (flags & STORE_BIT) !== 0 ? (base + key - STORES) >>> RECORD_SHIFT : base + key,
      S_KEY,
    );
    store<u32>(at, (flags & (SIZE_BITS | STORE_BIT)) | (i << BODY_SHIFT), S_KIND);
  }
}

/** Processes up to `trips` of the next trips. Returns how many. */
function run(count: u32, trips: u32): u32 {
  place(count, trips);
  sort(0, count, false);
  const apart = trips <= SHORT ? 0 : distribute(count, trips);
  if (apart !== 0)
    for (let i: u32 = 0; i < count; ) {
      let end = i + 1;
      for (let j = i; j < end; j++) end = max(end, load<u32>(stream(j), S_UNTIL));
      if (end === i + 1) {
        if (end < count && isUpdate(stream(i), stream(end))) end++;
        pass(stream(i), stream(end - 1), apart);
      } else {
        sort(i, end, true);
        takeTurns(i, end, apart);
      }
      i = end;
    }
  if (apart === trips) return trips;
  const turns = apart === 0 ? min(trips, SHORT) : 1;
  sort(0, count, true);
  takeTurns(0, count, turns);
  return apart + turns;
}

let storesLow: u32 = 0;
let storesHigh: u32 = 0;
// Address range that is known to be read.
let readLow: u32 = 0;
let readHigh: u32 = 0;

function place(count: u32, trips: u32): void {
  storesLow = -1;
  storesHigh = 0;
  readLow = 0;
  readHigh = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    const last = nextOf(at) + strideOf(at) * (trips - 1);
    const low = min(nextOf(at), last);
    const high = max(nextOf(at), last) + sizeOf(at);
    store<u32>(at, low, S_LOW);
    store<u32>(at, high, S_HIGH);
    // A stream that stands still reaches its bytes first.
    store<u32>(
      at,
      strideOf(at) === 0 ? -1 : strideOf(at) < 0 ? ~(nextOf(at) + sizeOf(at)) : nextOf(at),
      S_FRONT,
    );
    if (!isStore(at)) continue;
    storesLow = min(storesLow, low);
    storesHigh = max(storesHigh, high);
  }
}

/** Sorts streams by their position in the loop, or by which of them reaches a shared byte first. */
function sort(from: u32, to: u32, inBody: bool): void {
  for (let i = from + 1; i < to; i++)
    for (let j = i; j > from && isBefore(stream(j), stream(j - 1), inBody); j--)
      swap(stream(j), stream(j - 1));
}

@inline
function isBefore(first: usize, second: usize, inBody: bool): bool {
  if (inBody || frontOf(first) === frontOf(second)) return bodyOf(first) < bodyOf(second);
  return frontOf(first) > frontOf(second);
}

@inline
function swap(first: usize, second: usize): void {
  for (let i: usize = 0; i < STREAM_BYTES; i += 16) {
    const words = v128.load(first + i);
    v128.store(first + i, v128.load(second + i));
    v128.store(second + i, words);
  }
}

/**
 * Finds the sorted streams that must take turns. Returns the number of trips in which no store reaches bytes of a
 * stream with another stride.
 */
function distribute(count: u32, trips: u32): u32 {
  for (let i: u32 = 0; i < count; i++) store<u32>(stream(i), trim(stream(i)) ? 0 : i + 1, S_UNTIL);
  for (let i: u32 = 0; i < count; i++) {
    const one = stream(i);
    if (isIdle(one)) continue;
    for (let j = i + 1; j < count; j++) {
      const other = stream(j);
      if (isIdle(other) || !overlap(one, other) || (isStore(one) && isStore(other))) continue;
      if (strideOf(one) !== strideOf(other)) {
        const before = tripsUntil(other, one);
        if (isStore(one) || isStore(other)) trips = min(trips, before);
        else if (before === 0) store<u32>(one, j + 1, S_UNTIL);
      } else if (meetsBehind(one, other)) store<u32>(one, j + 1, S_UNTIL);
    }
  }
  return trips;
}

/** Returns the trips until a stream reaches one that stands still; 0 if that one moves. */
function tripsUntil(at: usize, standing: usize): u32 {
  if (strideOf(standing) !== 0) return 0;
  const distance =
    strideOf(at) < 0 ? nextOf(at) - highOf(standing) : lowOf(standing) - nextOf(at) - sizeOf(at);
  return <i32>distance < 0 ? 0 : distance / magnitude(strideOf(at)) + 1;
}

/** True if `other`, with the same stride and not ahead of `one`, reaches any byte first. */
function meetsBehind(one: usize, other: usize): bool {
  const ahead = frontOf(one) - frontOf(other);
  const stride = magnitude(strideOf(one));
  if (ahead < sizeOf(other) && bodyOf(other) < bodyOf(one)) return true;
  return stride !== 0 && ahead + stride < sizeOf(other);
}

/**
 * True if a load changes nothing: all of its bytes were read before, and no store overlaps. Otherwise narrows the
 * load's range to the bytes that may be unread, if no store overlaps.
 */
function trim(at: usize): bool {
  const from = lowOf(at);
  const to = highOf(at);
  if (isStore(at) || magnitude(strideOf(at)) > DENSE || (from < storesHigh && storesLow < to)) return false;
  let low = from;
  let high = to;
  if (low < readHigh && readLow <= low) low = min(high, readHigh);
  else if (readLow < high && high <= readHigh) high = max(low, readLow);
  low = readUntil(low, high);
  if (low !== high && showsZeros()) {
    resolveZeros(low, high);
    low = readUntil(low, high);
  }
  store<u32>(at, low, S_LOW);
  if (low !== high) {
    store<u32>(at, unreadEnd(low, high), S_HIGH);
    return false;
  }
  readLow = from;
  readHigh = to;
  return true;
}

/** True if a store follows a load of the same bytes in each trip. */
@inline
function isUpdate(first: usize, second: usize): bool {
  return (
    load<u64>(first) === load<u64>(second) &&
    load<u32>(second, S_UNTIL) === load<u32>(first, S_UNTIL) + 1 &&
    !isStore(first) &&
    isStore(second) &&
    sizeOf(first) === sizeOf(second) &&
    !isNone(idOfKey(keyOf(second)))
  );
}

function pass(first: usize, last: usize, trips: u32): void {
  const size = sizeOf(first);
  if (isIdle(first)) advance(first, trips);
  else if (size === 4) passOf<u32>(first, last, trips);
  else if (size === 1) passOf<u8>(first, last, trips);
  else if (size === 8) passOf<u64>(first, last, trips);
  else if (size === 2) passOf<u16>(first, last, trips);
  else passOf<v128>(first, last, trips);
}

// Instantiated per type, so that sizes are constants.
@inline
function passOf<T>(first: usize, last: usize, trips: u32): void {
  if (isStore(first)) writeTrips<T>(first, trips);
  else if (first === last) readTrips<T>(first, trips, READ);
  else {
    markTrips(last, trips);
    readTrips<T>(first, trips, idOfKey(keyOf(last)));
    advance(last, trips);
  }
  advance(first, trips);
}

function markTrips(at: usize, trips: u32): void {
  if (magnitude(strideOf(at)) <= DENSE) markDirty(lowOf(at), highOf(at) - lowOf(at));
  else
    for (let address = nextOf(at); trips !== 0; trips--, address += strideOf(at))
      markDirty(address, sizeOf(at));
}

function writeTrips<T>(at: usize, trips: u32): void {
  markTrips(at, trips);
  const id = idOfKey(keyOf(at));
  if (!isNone(id)) {
    fill<T>(nextOf(at), strideOf(at), trips, id);
    return;
  }
  for (let address = nextOf(at); trips !== 0; trips--, address += strideOf(at))
    overflow(address, sizeof<T>(), keyOf(at));
}

/** Credits consecutive bytes of one store together. `nextId` is the id that the bytes get. */
function readTrips<T>(at: usize, trips: u32, nextId: u32): void {
  const key = keyOf(at);
  const stride = strideOf(at);
  let address = nextOf(at);
  while (trips !== 0) {
    const id = idAt(address);
    const isBatch = id === READ || (isAssigned(id) && magnitude(stride) >= sizeof<T>());
    let count = isBatch ? countAlike<T>(address, stride, stride === 0 ? min(trips, 4) : trips, id) : 0;
    if (count !== 0 && stride === 0) count = trips;
    if (count !== 0) {
      if (id !== READ) {
        bump(readsOf(id), count * sizeof<T>());
        bump(loadRecord(key) + Load.fresh, count);
        markTripsRead<T>(address, stride, count);
      }
      if (id !== nextId) fill<T>(address, stride, count, nextId);
    } else {
      count = min(trips, 4);
      for (let i: u32 = 0, next = address; i < count; i++, next += stride) {
        loadOne(next, sizeof<T>(), key);
        if (nextId !== READ) setFew(next, sizeof<T>(), nextId);
      }
    }
    address += stride * count;
    trips -= count;
  }
}

function markTripsRead<T>(address: u32, stride: u32, trips: u32): void {
  if (stride === sizeof<T>()) markRangeRead(address, stride * trips);
  else for (; trips !== 0; trips--, address += stride) markRead(address, sizeof<T>());
}

/** Returns a number of trips in which all bytes have this id; more may follow. */
function countAlike<T>(address: u32, stride: u32, trips: u32, id: u32): u32 {
  const idVector = i16x8.splat(<i16>id);
  let count: u32 = 0;
  for (; count + 4 <= trips; count += 4, address += stride * 4) {
    const first = v128.or(
      differ(address, sizeof<T>(), idVector),
      differ(address + stride, sizeof<T>(), idVector),
    );
    const last = v128.or(
      differ(address + stride * 2, sizeof<T>(), idVector),
      differ(address + stride * 3, sizeof<T>(), idVector),
    );
    if (v128.any_true(v128.or(first, last))) break;
  }
  return count;
}

function fill<T>(address: u32, stride: u32, trips: u32, id: u32): void {
  if (stride === sizeof<T>()) {
    setRange(address, stride * trips, id);
    return;
  }
  const idVector = i16x8.splat(<i16>id);
  for (; trips !== 0; trips--, address += stride) setAlike(address, sizeof<T>(), idVector);
}

/** Processes trips of several streams, access by access in the loop's order. */
function takeTurns(from: u32, to: u32, trips: u32): void {
  for (; trips !== 0; trips--)
    for (let i = from; i < to; i++) {
      access(stream(i), nextOf(stream(i)));
      advance(stream(i), 1);
    }
}

function access(at: usize, address: u32): void {
  const size = sizeOf(at);
  const key = keyOf(at);
  if (isStore(at)) {
    markDirty(address, size);
    storeOne(address, size, key);
  } else loadOne(address, size, key);
}

@inline
function storeOne(address: u32, size: u32, key: u32): void {
  if (size === 4) writeFew(address, 4, key);
  else if (size === 1) writeFew(address, 1, key);
  else if (size === 8) writeFew(address, 8, key);
  else if (size === 2) writeFew(address, 2, key);
  else writeFew(address, 16, key);
}

@inline
function loadOne(address: u32, size: u32, key: u32): void {
  if (size === 4) {
    if (!fewAreRead(address, 4)) fresh4(address, key);
  } else if (size === 1) {
    if (!fewAreRead(address, 1)) fresh1(address, key);
  } else if (size === 8) {
    if (!fewAreRead(address, 8)) fresh8(address, key);
  } else if (size === 2) {
    if (!fewAreRead(address, 2)) fresh2(address, key);
  } else if (!fewAreRead(address, 16)) fresh16(address, key);
}
