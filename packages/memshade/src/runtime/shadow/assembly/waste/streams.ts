// Loops that have ended: each of their accesses went from a first address by a stride, `trips` times. What they did to the
// shadow is done here, range by range where the order between ranges is known, else access by access.
import { bump, countFresh, idAt, ID_SHIFT, isInvalid, isReal, loadRecord, READ, readFreshOf, setId, setRange, storeRecord } from "./brief";
import { LINE_SHIFT, markDirty } from "./dirty";
import { C_STREAMS, CONTROL, L_FRESH, S_READ } from "./layout";

// Whether ids depend on the calling context.
@external("layout", "FRAMED")
declare const FRAMED: u32;

// A descriptor: what `instrument/waste/loop-streams.ts` writes, and what is computed from it.
const STREAM_BYTES: u32 = 32;
const T_END: usize = 0;
const T_STRIDE: usize = 4;
const T_WHAT: usize = 8;
const T_FIRST: usize = 12;
const T_LOW: usize = 16;
const T_HIGH: usize = 20;
const T_STATE: usize = 24;
const T_ID: usize = 28; // where ids are not known when the module is rewritten, otherwise in T_WHAT
const STORE_BIT: u32 = 32;
const WHAT_ID_SHIFT: u32 = 6;
/** A load of bytes that were all read; a stream that is still to be done; one that is done. */
const SETTLED: u32 = 0;
const OPEN: u32 = 1;
const DONE: u32 = 2;
/** Bytes whose ids fill a vector. */
@inline function wide(): u32 { return ID_SHIFT == 1 ? 8 : 4; }
const LINE_BYTES: u32 = 1 << LINE_SHIFT;
/** Strides above this are looked at access by access. */
const DENSE: u32 = 32;

@inline function stream(i: u32): usize { return CONTROL + C_STREAMS + i * STREAM_BYTES; }
@inline function sizeOf(what: u32): u32 { return what & 31; }
@inline function idOf(at: usize): u32 { return FRAMED != 0 ? load<u32>(at, T_ID) : load<u32>(at, T_WHAT) >>> WHAT_ID_SHIFT; }
@inline function isStore(what: u32): bool { return (what & STORE_BIT) != 0; }
@inline function magnitude(stride: i32): u32 { return <u32>(stride < 0 ? -stride : stride); }

/** A loop has ended after `trips` runs of its block; `count` descriptors say what it did. */
export function looped(trips: u32, count: u32, runs: u32): void {
  bump(runs, trips);
  let stores: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    const stride = load<u32>(at, T_STRIDE);
    const end = load<u32>(at, T_END);
    const size = sizeOf(load<u32>(at, T_WHAT));
    const first = end - stride * trips;
    const last = end - stride;
    store<u32>(at, first, T_FIRST);
    store<u32>(at, min(first, last), T_LOW);
    store<u32>(at, max(first, last) + size, T_HIGH);
    if (isStore(load<u32>(at, T_WHAT))) { stores++; store<u32>(at, OPEN, T_STATE); }
    else store<u32>(at, isRead(i, trips) ? SETTLED : OPEN, T_STATE);
  }
  if (stores != 0) reopen(count);
  let open: u32 = 0;
  for (let i: u32 = 0; i < count; i++) if (load<u32>(stream(i), T_STATE) == OPEN) open++;
  if (open > 1 && !isOrdered(count)) { replay(trips, count); return; }
  while (open-- != 0) {
    const at = stream(earliest(count));
    store<u32>(at, DONE, T_STATE);
    if (isStore(load<u32>(at, T_WHAT))) { storeStream(at, trips); continue; }
    // A store to where a load has just been: what the load leaves need not be written.
    const next = open == 0 ? at : stream(earliest(count));
    if (open != 0 && isSamePlace(at, next)) {
      store<u32>(next, DONE, T_STATE);
      open--;
      soil(next, trips);
      loadStream(at, trips, idOf(next));
    } else loadStream(at, trips, READ);
  }
}

@inline function isSamePlace(one: usize, store: usize): bool {
  const what = load<u32>(store, T_WHAT);
  return isStore(what) && sizeOf(what) == sizeOf(load<u32>(one, T_WHAT)) &&
    load<u32>(one, T_FIRST) == load<u32>(store, T_FIRST) && load<u32>(one, T_STRIDE) == load<u32>(store, T_STRIDE);
}

/** Loads of what the loop also stores may find it unread, whatever it was before. */
function reopen(count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const one = stream(i);
    if (load<u32>(one, T_STATE) != SETTLED) continue;
    for (let j: u32 = 0; j < count; j++)
      if (isStore(load<u32>(stream(j), T_WHAT)) && overlap(one, stream(j))) { store<u32>(one, OPEN, T_STATE); break; }
  }
}

@inline function overlap(one: usize, other: usize): bool {
  return load<u32>(one, T_LOW) < load<u32>(other, T_HIGH) && load<u32>(other, T_LOW) < load<u32>(one, T_HIGH);
}

/** Whether all bytes between the first and the last of a stream were read before the loop. */
function isRead(i: u32, trips: u32): bool {
  const at = stream(i);
  let low = load<u32>(at, T_LOW);
  let high = load<u32>(at, T_HIGH);
  const stride = load<i32>(at, T_STRIDE);
  const size = sizeOf(load<u32>(at, T_WHAT));
  if (magnitude(stride) > DENSE) {
    let address = load<u32>(at, T_FIRST);
    // Walks along columns are of numbers as a rule.
    if (size == 4) return sparseIsRead<u32>(address, stride, trips);
    if (size == 8) return sparseIsRead<u64>(address, stride, trips);
    for (; trips != 0; trips--) {
      if (!bytesAreRead(address, size)) return false;
      address += stride;
    }
    return true;
  }
  // Neighbours in a row are often streams of one loop: what one of them has seen need not be seen again.
  for (let j: u32 = 0; j < i; j++) {
    const other = stream(j);
    if (load<u32>(other, T_STATE) != SETTLED || magnitude(load<i32>(other, T_STRIDE)) > DENSE) continue;
    const otherLow = load<u32>(other, T_LOW);
    const otherHigh = load<u32>(other, T_HIGH);
    if (low >= otherLow && low < otherHigh) low = otherHigh;
    if (high > otherLow && high <= otherHigh) high = otherLow;
    if (low >= high) return true;
  }
  return bytesAreRead(low, high - low);
}

function bytesAreRead(address: u32, size: u32): bool {
  let at: usize = address << ID_SHIFT;
  const end: usize = (address + size) << ID_SHIFT;
  for (; at + 128 <= end; at += 128) {
    const low = v128.and(v128.and(v128.load(at), v128.load(at, 16)), v128.and(v128.load(at, 32), v128.load(at, 48)));
    const high = v128.and(v128.and(v128.load(at, 64), v128.load(at, 80)), v128.and(v128.load(at, 96), v128.load(at, 112)));
    if (v128.any_true(v128.not(v128.and(low, high)))) return false;
  }
  for (; at + 8 <= end; at += 8) if (load<u64>(at) != -1) return false;
  for (; at < end; at += 2) if (load<u16>(at) != 0xffff) return false;
  return true;
}

/**
 * Whether the open streams can be done one behind the other. Those of different memory can. Those that go through the
 * same places at the same pace can be, if who is ahead comes first: it was at each place before the other.
 */
function isOrdered(count: u32): bool {
  for (let i: u32 = 1; i < count; i++) {
    const one = stream(i);
    if (load<u32>(one, T_STATE) != OPEN) continue;
    for (let j: u32 = 0; j < i; j++) {
      const other = stream(j);
      if (load<u32>(other, T_STATE) != OPEN) continue;
      // The order below is one for all open streams.
      if ((load<i32>(one, T_STRIDE) < 0) != (load<i32>(other, T_STRIDE) < 0)) return false;
      if (overlap(one, other) && !keepPace(one, other) && !shareReadBytes(one, other)) return false;
    }
  }
  return true;
}

/** Two loads whose common bytes were all read before do not see each other. */
function shareReadBytes(one: usize, other: usize): bool {
  if (isStore(load<u32>(one, T_WHAT)) || isStore(load<u32>(other, T_WHAT))) return false;
  const low = max(load<u32>(one, T_LOW), load<u32>(other, T_LOW));
  return bytesAreRead(low, min(load<u32>(one, T_HIGH), load<u32>(other, T_HIGH)) - low);
}

function keepPace(one: usize, other: usize): bool {
  const stride = magnitude(load<i32>(one, T_STRIDE));
  if (stride == 0 || load<i32>(one, T_STRIDE) != load<i32>(other, T_STRIDE)) return false;
  const oneSize = sizeOf(load<u32>(one, T_WHAT));
  const otherSize = sizeOf(load<u32>(other, T_WHAT));
  if (oneSize > stride || otherSize > stride) return false;
  const low = load<u32>(one, T_LOW);
  const otherLow = load<u32>(other, T_LOW);
  const apart = low >= otherLow ? (low - otherLow) % stride : (stride - (otherLow - low) % stride) % stride;
  // At the same places, or at places between those of the other.
  return apart == 0 || (apart >= otherSize && apart + oneSize <= stride);
}

/** The open stream that is ahead of the others; of those side by side the one that comes first in the loop. */
function earliest(count: u32): u32 {
  let best: u32 = count;
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (load<u32>(at, T_STATE) != OPEN) continue;
    if (best == count) { best = i; continue; }
    const first = load<u32>(at, T_FIRST);
    const bestFirst = load<u32>(stream(best), T_FIRST);
    if (load<i32>(at, T_STRIDE) < 0 ? first < bestFirst : first > bestFirst) best = i;
  }
  return best;
}

/** An opaque host may look at what a stream stored. */
function soil(at: usize, trips: u32): void {
  const stride = load<i32>(at, T_STRIDE);
  const low = load<u32>(at, T_LOW);
  if (magnitude(stride) <= LINE_BYTES) { markDirty(low, load<u32>(at, T_HIGH) - low); return; }
  const first = load<u32>(at, T_FIRST);
  for (let i: u32 = 0; i < trips; i++) markDirty(first + stride * i, sizeOf(load<u32>(at, T_WHAT)));
}

function storeStream(at: usize, trips: u32): void {
  const stride = load<i32>(at, T_STRIDE);
  const what = load<u32>(at, T_WHAT);
  const size = sizeOf(what);
  const id = idOf(at);
  const low = load<u32>(at, T_LOW);
  const first = load<u32>(at, T_FIRST);
  soil(at, trips);
  if (magnitude(stride) == size) setRange(low, load<u32>(at, T_HIGH) - low, id);
  else if (size == 1) storeSparse<u8>(first, stride, trips, id);
  else if (size == 2) storeSparse<u16>(first, stride, trips, id);
  else if (size == 4) storeSparse<u32>(first, stride, trips, id);
  else if (size == 8) storeSparse<u64>(first, stride, trips, id);
  else storeSparse<v128>(first, stride, trips, id);
}

/** `left`: the id that its bytes have then, that of read bytes or of a store right behind. */
function loadStream(at: usize, trips: u32, left: u32): void {
  const stride = load<i32>(at, T_STRIDE);
  const what = load<u32>(at, T_WHAT);
  const size = sizeOf(what);
  const number = idOf(at);
  const first = load<u32>(at, T_FIRST);
  if (size < wide() && magnitude(stride) == size) loadDense(load<u32>(at, T_LOW), load<u32>(at, T_HIGH), size, number, left);
  else if (size == 1) loadSparse<u8>(first, stride, trips, number, left);
  else if (size == 2) loadSparse<u16>(first, stride, trips, number, left);
  else if (size == 4) loadSparse<u32>(first, stride, trips, number, left);
  else if (size == 8) loadSparse<u64>(first, stride, trips, number, left);
  else loadSparse<v128>(first, stride, trips, number, left);
}

// Shadow of `size` bytes, a constant, where all have one id: `ids` is that id as often as it has room.
@inline function repeated(id: u32): u64 {
  return ID_SHIFT == 1 ? <u64>id * 0x0001000100010001 : <u64>id | (<u64>id << 32);
}

// Of one type per size, so that sizes are constants: the optimiser merges what differs in a parameter.
@inline function hold<T>(at: usize, ids: u64): bool { return differing<T>(at, ids) == 0; }

@inline function differing<T>(at: usize, ids: u64): u64 {
  const bytes = <u32>sizeof<T>() << ID_SHIFT;
  if (bytes == 2) return <u64>(load<u16>(at) ^ <u16>ids);
  if (bytes == 4) return <u64>(load<u32>(at) ^ <u32>ids);
  if (bytes == 8) return load<u64>(at) ^ ids;
  // Words of 64 bits take fewer instructions than vectors: engines make a number of any_true before they branch.
  let other = (load<u64>(at) ^ ids) | (load<u64>(at, 8) ^ ids);
  if (bytes >= 32) other |= (load<u64>(at, 16) ^ ids) | (load<u64>(at, 24) ^ ids);
  if (bytes == 64) {
    other |= (load<u64>(at, 32) ^ ids) | (load<u64>(at, 40) ^ ids) | (load<u64>(at, 48) ^ ids) | (load<u64>(at, 56) ^ ids);
  }
  return other;
}

/** The same of four accesses. */
@inline function allHold<T>(address: u32, stride: i32, ids: u64): bool {
  const low = differing<T>(address << ID_SHIFT, ids) | differing<T>((address + stride) << ID_SHIFT, ids);
  const next = address + stride + stride;
  return (low | differing<T>(next << ID_SHIFT, ids) | differing<T>((next + stride) << ID_SHIFT, ids)) == 0;
}

function sparseIsRead<T>(address: u32, stride: i32, trips: u32): bool {
  for (; trips >= 4; trips -= 4) {
    if (!allHold<T>(address, stride, -1)) return false;
    address += stride << 2;
  }
  for (; trips != 0; trips--) {
    if (!hold<T>(address << ID_SHIFT, -1)) return false;
    address += stride;
  }
  return true;
}

@inline function put<T>(at: usize, ids: u64): void {
  const bytes = <u32>sizeof<T>() << ID_SHIFT;
  if (bytes == 2) store<u16>(at, <u16>ids);
  else if (bytes == 4) store<u32>(at, <u32>ids);
  else if (bytes == 8) store<u64>(at, ids);
  else {
    const all = i64x2.splat(ids);
    v128.store(at, all);
    if (bytes >= 32) v128.store(at, all, 16);
    if (bytes == 64) { v128.store(at, all, 32); v128.store(at, all, 48); }
  }
}

/** Bytes of the shadow that are looked at together. */
const LINE: u32 = 64;

/** From `address` on as far as whole lines of the shadow before `end` hold `ids`: they get `leave`. Returns where it ended. */
function passFilled(address: u32, end: u32, ids: u64, leave: u64): u32 {
  const all = i64x2.splat(ids);
  const next = i64x2.splat(leave);
  let at: usize = address << ID_SHIFT;
  const last: usize = end << ID_SHIFT;
  for (; at < last; at += LINE) {
    const low = v128.or(v128.xor(v128.load(at), all), v128.xor(v128.load(at, 16), all));
    const high = v128.or(v128.xor(v128.load(at, 32), all), v128.xor(v128.load(at, 48), all));
    if (v128.any_true(v128.or(low, high))) break;
    if (ids == leave) continue;
    v128.store(at, next);
    v128.store(at, next, 16);
    v128.store(at, next, 32);
    v128.store(at, next, 48);
  }
  return at >>> ID_SHIFT;
}

function storeSparse<T>(address: u32, stride: i32, trips: u32, id: u32): void {
  const ids = repeated(id);
  for (; trips != 0; trips--) {
    put<T>(address << ID_SHIFT, ids);
    address += stride;
  }
}

function loadSparse<T>(address: u32, stride: i32, trips: u32, number: u32, left: u32): void {
  const leave = repeated(left);
  const size: u32 = sizeof<T>();
  let fresh: u32 = 0;
  while (trips != 0) {
    const id = idAt(address);
    const ids = repeated(id);
    if (isInvalid(id) || !hold<T>(address << ID_SHIFT, ids)) {
      fresh++;
      readFreshOf(address, size);
      if (left != READ) put<T>(address << ID_SHIFT, leave);
      address += stride;
      trips--;
      continue;
    }
    // As far as it goes on like this; what is there already need not be written.
    let run: u32 = 0;
    if (size >= wide() && stride == <i32>size) {
      const step = LINE >>> ID_SHIFT;
      const low = address;
      const end = address + trips / (step / size) * step;
      address = passFilled(address, end, ids, leave);
      run = (address - low) / size;
    }
    if (sizeof<T>() == 8 && ids == leave) while (run + 4 <= trips && allHold<T>(address, stride, ids)) {
      address += stride << 2;
      run += 4;
    }
    if (ids == leave) while (run != trips && hold<T>(address << ID_SHIFT, ids)) {
      address += stride;
      run++;
    } else while (run != trips && hold<T>(address << ID_SHIFT, ids)) {
      put<T>(address << ID_SHIFT, leave);
      address += stride;
      run++;
    }
    trips -= run;
    if (id == READ) continue;
    fresh += run;
    if (isReal(id)) bump(storeRecord(id) + S_READ, run * size);
  }
  bump(loadRecord(number) + L_FRESH, fresh);
}

/** Loads of `size` bytes side by side, several to a vector. */
function loadDense(low: u32, high: u32, size: u32, number: u32, left: u32): void {
  const step = wide();
  const leave = i64x2.splat(repeated(left));
  let address = low;
  while (address < high) {
    const id = idAt(address);
    const from = address;
    if (!isInvalid(id)) {
      // As far as one store wrote it, or as it was read.
      const ids = repeated(id);
      const all = i64x2.splat(ids);
      const lines = (high - address) & ~((LINE >>> ID_SHIFT) - 1);
      address = passFilled(address, address + lines, ids, repeated(left));
      while (high - address >= step && !v128.any_true(v128.xor(v128.load(address << ID_SHIFT), all))) {
        v128.store(address << ID_SHIFT, leave);
        address += step;
      }
    }
    if (address == from) {
      loadOne(address, size, number);
      if (left != READ) for (let i: u32 = 0; i < size; i++) setId(address + i, left);
      address += size;
    } else if (id != READ) {
      if (isReal(id)) bump(storeRecord(id) + S_READ, address - from);
      bump(loadRecord(number) + L_FRESH, (address - from) / size);
    }
  }
}

function storeOne(address: u32, size: u32, id: u32): void {
  markDirty(address, size);
  for (let i: u32 = 0; i < size; i++) setId(address + i, id);
}

function loadOne(address: u32, size: u32, number: u32): void {
  if (bytesAreRead(address, size)) return;
  countFresh(number);
  readFreshOf(address, size);
}

/** Access by access, in the order of the loop. */
function replay(trips: u32, count: u32): void {
  for (; trips != 0; trips--)
    for (let i: u32 = 0; i < count; i++) {
      const at = stream(i);
      const what = load<u32>(at, T_WHAT);
      const address = load<u32>(at, T_FIRST);
      if (isStore(what)) storeOne(address, sizeOf(what), idOf(at));
      else loadOne(address, sizeOf(what), idOf(at));
      store<u32>(at, address + load<u32>(at, T_STRIDE), T_FIRST);
    }
}
