// Streams of a loop that move as one: those that go from a common base by one stride, within one place of each trip. Where a loop's
// accesses meet is asked of units, of which there are fewer than streams. What streams belong together is known when a module is rewritten.
import { C_UNITS, CONTROL } from "./layout";
import { firstOf, isStore, moveBy, sizeOf, stream, strideOf, unitNumber } from "./stream-table";

const UNIT_BYTES: u32 = 32;
const U_FIRST: usize = 0; // lowest address in the trip that comes next
const U_SIZE: usize = 4; // bytes from there to the highest
const U_STRIDE: usize = 8;
const U_STREAMS: usize = 12; // a bit each
const U_LOW: usize = 16; // range of the trips at hand
const U_HIGH: usize = 20;
const U_STATE: usize = 24;
const U_STORES: usize = 28;

/** Loads of bytes that were all read; streams still to be done; those that are done. */
export const SETTLED: u32 = 0;
export const OPEN: u32 = 1;
export const DONE: u32 = 2;

let count: u32 = 0;

@inline export function unitsEnd(): usize { return CONTROL + C_UNITS + count * UNIT_BYTES; }
@inline export function firstUnit(): usize { return CONTROL + C_UNITS; }
@inline export function nextUnit(at: usize): usize { return at + UNIT_BYTES; }
@inline export function firstIn(at: usize): u32 { return load<u32>(at, U_FIRST); }
@inline export function endIn(at: usize): u32 { return load<u32>(at, U_FIRST) + load<u32>(at, U_SIZE); }
@inline export function sizeIn(at: usize): u32 { return load<u32>(at, U_SIZE); }
@inline export function strideIn(at: usize): i32 { return load<i32>(at, U_STRIDE); }
@inline export function streamsIn(at: usize): u32 { return load<u32>(at, U_STREAMS); }
@inline export function storesIn(at: usize): bool { return load<u32>(at, U_STORES) != 0; }
@inline export function lowOf(at: usize): u32 { return load<u32>(at, U_LOW); }
@inline export function highOf(at: usize): u32 { return load<u32>(at, U_HIGH); }
@inline export function isIn(at: usize, state: u32): bool { return load<u32>(at, U_STATE) == state; }
@inline export function put(at: usize, state: u32): void { store<u32>(at, state, U_STATE); }
@inline export function isSingle(at: usize): bool { return (streamsIn(at) & (streamsIn(at) - 1)) == 0; }

/** The units of so many streams. */
export function gather(streams: u32): void {
  count = 0;
  for (let i: u32 = 0; i < streams; i++) add(stream(i), i, unitNumber(stream(i)));
}

/** Each stream is by itself from now on. */
export function part(streams: u32): void {
  count = 0;
  for (let i: u32 = 0; i < streams; i++) add(stream(i), i, i);
}

function add(at: usize, i: u32, number: u32): void {
  const unit = CONTROL + C_UNITS + number * UNIT_BYTES;
  const first = firstOf(at);
  if (number == count) {
    count++;
    store<u32>(unit, first, U_FIRST);
    store<u32>(unit, sizeOf(at), U_SIZE);
    store<i32>(unit, strideOf(at), U_STRIDE);
    store<u32>(unit, 1 << i, U_STREAMS);
    store<u32>(unit, <u32>isStore(at), U_STORES);
    return;
  }
  const low = min(firstIn(unit), first);
  store<u32>(unit, max(endIn(unit), first + sizeOf(at)) - low, U_SIZE);
  store<u32>(unit, low, U_FIRST);
  store<u32>(unit, streamsIn(unit) | 1 << i, U_STREAMS);
  store<u32>(unit, load<u32>(unit, U_STORES) | <u32>isStore(at), U_STORES);
}

export function setRanges(trips: u32): void {
  const end = unitsEnd();
  for (let at = firstUnit(); at != end; at = nextUnit(at)) {
    const first = firstIn(at);
    const last = first + strideIn(at) * (trips - 1);
    store<u32>(at, min(first, last), U_LOW);
    store<u32>(at, max(first, last) + sizeIn(at), U_HIGH);
  }
}

@inline export function overlap(one: usize, other: usize): bool { return lowOf(one) < highOf(other) && lowOf(other) < highOf(one); }

/** Units are where the trip behind `trips` begins; their streams too, unless they are already. */
export function advance(trips: u32, streams: u32): void {
  const end = unitsEnd();
  for (let at = firstUnit(); at != end; at = nextUnit(at)) store<u32>(at, firstIn(at) + strideIn(at) * trips, U_FIRST);
  for (let i: u32 = 0; i < streams; i++) moveBy(stream(i), trips);
}
