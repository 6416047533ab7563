// Loops that have ended: each of their accesses went from a first address by a stride, `trips` times. What they did to the
// shadow is done here, range by range where the order between ranges is known, else access by access.
import { fresh1, fresh16, fresh2, fresh4, fresh8 } from "./brief";
import { areRead, bump, fewAreRead, settleZeros, writeFew } from "./chosen/bytes";
import { loadStream, NO_STORE, sparseIsRead, storeStream } from "./chosen/passes";
import { LINE_SHIFT, markDirty, showsZeros } from "./dirty";
import { C_STREAMS, CONTROL } from "./layout";

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
const LINE_BYTES: u32 = 1 << LINE_SHIFT;
/** Loops of so few trips are replayed at once: to find out what their streams have in common takes longer. */
const SHORT: u32 = 12;
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
  if (trips <= SHORT) {
    for (let i: u32 = 0; i < count; i++) {
      const at = stream(i);
      store<u32>(at, load<u32>(at, T_END) - load<u32>(at, T_STRIDE) * trips, T_FIRST);
    }
    replay(trips, count);
    return;
  }
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
    if (isStore(load<u32>(at, T_WHAT))) {
      soil(at, trips);
      storeStream(load<u32>(at, T_FIRST), load<i32>(at, T_STRIDE), sizeOf(load<u32>(at, T_WHAT)), trips, idOf(at));
      continue;
    }
    // A store to where a load has just been: what the load leaves need not be written.
    const next = open == 0 ? at : stream(earliest(count));
    if (open != 0 && isSamePlace(at, next)) {
      store<u32>(next, DONE, T_STATE);
      open--;
      soil(next, trips);
      loaded(at, trips, idOf(next));
    } else loaded(at, trips, NO_STORE);
  }
}

@inline function loaded(at: usize, trips: u32, left: u32): void {
  const size = sizeOf(load<u32>(at, T_WHAT));
  loadStream(load<u32>(at, T_FIRST), load<i32>(at, T_STRIDE), size, trips, idOf(at), left);
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
  if (areRead(low, high - low)) return true;
  if (!showsZeros()) return false;
  settleZeros(low, high);
  return areRead(low, high - low);
}

/** Zeros of accesses far apart that the host has seen are read. */
function settleSparse(address: u32, stride: i32, size: u32, trips: u32): void {
  for (; trips != 0; trips--) {
    settleZeros(address, address + size);
    address += stride;
  }
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
  return areRead(low, min(load<u32>(one, T_HIGH), load<u32>(other, T_HIGH)) - low);
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

// Code for each size, so that sizes are constants.
@inline function storeOf(address: u32, size: u32, id: u32): void {
  markDirty(address, size);
  writeFew(address, size, id);
}

@inline function storeOne(address: u32, size: u32, id: u32): void {
  if (size == 4) storeOf(address, 4, id);
  else if (size == 1) storeOf(address, 1, id);
  else if (size == 8) storeOf(address, 8, id);
  else if (size == 2) storeOf(address, 2, id);
  else storeOf(address, 16, id);
}

@inline function loadOne(address: u32, size: u32, number: u32): void {
  if (size == 4) { if (!fewAreRead(address, 4)) fresh4(address, number); }
  else if (size == 1) { if (!fewAreRead(address, 1)) fresh1(address, number); }
  else if (size == 8) { if (!fewAreRead(address, 8)) fresh8(address, number); }
  else if (size == 2) { if (!fewAreRead(address, 2)) fresh2(address, number); }
  else if (!fewAreRead(address, 16)) fresh16(address, number);
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
