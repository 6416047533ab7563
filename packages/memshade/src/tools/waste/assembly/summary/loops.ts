// Loops that have ended. Each of their accesses is a stream: one access per trip, each a stride behind the one before. What is known
// of streams when a module is rewritten stands in a table, which `tools/waste/pass/loop-streams.ts` writes: two words per loop, then two
// per stream. The loop says where they ended. What they did to the shadow is done here, range by range; where ranges of which some
// byte's state depends on the order meet, access by access.
import { fresh1, fresh16, fresh2, fresh4, fresh8 } from "./accesses";
import { areRead, bump, fewAreRead, overwrite, settleZeros, writeFew } from "./bytes";
import { markDirty, showsZeros } from "../dirty";
import { CONTROL, FRAMED, RECORD_SHIFT, STORES } from "../imports";
import { Control, STREAM_END_BYTES } from "../layout.generated";

/** Of a loop in the table: how many streams; where the runs of its block are counted, from the base of counters; streams. */
const LOOP_STREAMS: usize = 0;
const LOOP_RUNS: usize = 4;
const LOOP_FIRST: usize = 8;
/** Of a stream there: what it is, and its stride. */
const WHAT: usize = 0;
const STRIDE: usize = 4;
const WORDS_BYTES: usize = 8;
const SIZE_BITS: u32 = 31;
const STORE_BIT: u32 = 32;
/** The stride is said with where the stream ended. */
const VARIABLE: u32 = 64;
const KEY_SHIFT: u32 = 7;
const END_STRIDE: usize = 4;

// The streams of the loop at hand.
const STREAM_BYTES: usize = 32;
const S_FIRST: usize = 0; // address in the first trip
const S_STRIDE: usize = 4;
const S_KEY: usize = 8;
const S_KIND: usize = 12; // size and STORE_BIT
const S_LOW: usize = 16; // range of all trips
const S_HIGH: usize = 20;
const S_SETTLED: usize = 24; // a load all bytes of which were read before the loop

/** In so few trips it takes longer to compare ranges than to go through the accesses. */
const SHORT: u32 = 12;
/** Strides up to this are looked at as one range. */
const DENSE: u32 = 32;

@inline function stream(i: u32): usize { return CONTROL + Control.streams + i * STREAM_BYTES; }
@inline function isStore(at: usize): bool { return (load<u32>(at, S_KIND) & STORE_BIT) != 0; }
@inline function isSettled(at: usize): bool { return load<u32>(at, S_SETTLED) != 0; }
@inline function sizeOf(at: usize): u32 { return load<u32>(at, S_KIND) & SIZE_BITS; }
@inline function firstOf(at: usize): u32 { return load<u32>(at, S_FIRST); }
@inline function strideOf(at: usize): i32 { return load<i32>(at, S_STRIDE); }
@inline function keyOf(at: usize): u32 { return load<u32>(at, S_KEY); }
@inline function lowOf(at: usize): u32 { return load<u32>(at, S_LOW); }
@inline function highOf(at: usize): u32 { return load<u32>(at, S_HIGH); }
@inline function magnitude(stride: i32): u32 { return <u32>(stride < 0 ? -stride : stride); }
@inline function overlap(one: usize, other: usize): bool { return lowOf(one) < highOf(other) && lowOf(other) < highOf(one); }

/** A loop of the table has ended after `trips` runs of its block. Counters and records are counted from `base`. */
export function looped(trips: u32, loop: u32, base: u32): void {
  const count = load<u32>(loop, LOOP_STREAMS);
  bump(base + load<u32>(loop, LOOP_RUNS), trips);
  if (trips == 0) return;
  fetch(loop, count, trips, base);
  if (trips <= SHORT || !settle(count, trips)) {
    for (let trip: u32 = 0; trip < trips; trip++)
      for (let i: u32 = 0; i < count; i++) access(stream(i), firstOf(stream(i)) + strideOf(stream(i)) * trip);
    return;
  }
  for (let i: u32 = 0; i < count; i++) if (!isSettled(stream(i))) pass(stream(i), trips);
}

function fetch(loop: usize, count: u32, trips: u32, base: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const from = loop + LOOP_FIRST + i * WORDS_BYTES;
    const end = CONTROL + Control.ends + i * STREAM_END_BYTES;
    const at = stream(i);
    const what = load<u32>(from, WHAT);
    const stride = (what & VARIABLE) == 0 ? load<i32>(from, STRIDE) : load<i32>(end, END_STRIDE);
    const first = load<u32>(end) - stride * trips;
    const last = first + stride * (trips - 1);
    const key = what >>> KEY_SHIFT;
    store<u32>(at, first, S_FIRST);
    store<i32>(at, stride, S_STRIDE);
    store<u32>(at, FRAMED == 0 ? key : (what & STORE_BIT) != 0 ? (base + key - STORES) >>> RECORD_SHIFT : base + key, S_KEY);
    store<u32>(at, what & (SIZE_BITS | STORE_BIT), S_KIND);
    store<u32>(at, min(first, last), S_LOW);
    store<u32>(at, max(first, last) + (what & SIZE_BITS), S_HIGH);
    store<u32>(at, 0, S_SETTLED);
  }
}

/**
 * Finds the loads that find nothing new. Whether the others, and the stores, can be done one stream behind the other: the stores of a
 * loop never meet, and what was read before is so whoever comes first.
 */
function settle(count: u32, trips: u32): bool {
  for (let i: u32 = 0; i < count; i++) if (!isStore(stream(i)) && wasRead(stream(i), trips)) store<u32>(stream(i), 1, S_SETTLED);
  for (let i: u32 = 0; i < count; i++) {
    const at = stream(i);
    if (isStore(at)) continue;
    for (let j: u32 = 0; j < count; j++) {
      const other = stream(j);
      if (i == j || !overlap(at, other)) continue;
      if (isStore(other) || !(isSettled(at) || isSettled(other))) return false;
    }
  }
  return true;
}

/** Whether all bytes of a load were read before the loop. */
function wasRead(at: usize, trips: u32): bool {
  const stride = strideOf(at);
  const size = sizeOf(at);
  if (magnitude(stride) <= DENSE) return wasRangeRead(lowOf(at), highOf(at));
  let address = firstOf(at);
  for (; trips != 0; trips--) {
    if (!wasRangeRead(address, address + size)) return false;
    address += stride;
  }
  return true;
}

function wasRangeRead(low: u32, high: u32): bool {
  if (areRead(low, high - low)) return true;
  if (!showsZeros()) return false;
  settleZeros(low, high);
  return areRead(low, high - low);
}

/** Does all trips of a stream. */
function pass(at: usize, trips: u32): void {
  const stride = strideOf(at);
  if (isStore(at) && magnitude(stride) == sizeOf(at)) {
    markDirty(lowOf(at), highOf(at) - lowOf(at));
    overwrite(lowOf(at), highOf(at) - lowOf(at), keyOf(at));
    return;
  }
  let address = firstOf(at);
  for (; trips != 0; trips--) {
    access(at, address);
    address += stride;
  }
}

function access(at: usize, address: u32): void {
  const size = sizeOf(at);
  const key = keyOf(at);
  if (!isStore(at)) loadOne(address, size, key);
  else {
    markDirty(address, size);
    storeOne(address, size, key);
  }
}

// Code for each size, so that sizes are constants.
@inline function storeOne(address: u32, size: u32, key: u32): void {
  if (size == 4) writeFew(address, 4, key);
  else if (size == 1) writeFew(address, 1, key);
  else if (size == 8) writeFew(address, 8, key);
  else if (size == 2) writeFew(address, 2, key);
  else writeFew(address, 16, key);
}

@inline function loadOne(address: u32, size: u32, key: u32): void {
  if (size == 4) { if (!fewAreRead(address, 4)) fresh4(address, key); }
  else if (size == 1) { if (!fewAreRead(address, 1)) fresh1(address, key); }
  else if (size == 8) { if (!fewAreRead(address, 8)) fresh8(address, key); }
  else if (size == 2) { if (!fewAreRead(address, 2)) fresh2(address, key); }
  else if (!fewAreRead(address, 16)) fresh16(address, key);
}
