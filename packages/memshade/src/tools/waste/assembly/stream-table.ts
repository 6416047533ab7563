// The accesses of a loop that has ended: each is a stream, an access per trip, each a stride behind the one before. What is known of
// them when a module is rewritten stands in a table, which `tools/waste/pass/loop-streams.ts` writes: two words per loop, then three
// per stream. The loop says where they ended. Several streams may be a unit: see `units.ts`.
import { C_ENDS, C_STREAMS, CONTROL, STORES } from "./layout";

// Whether ids depend on the calling context.
@external("layout", "FRAMED")
declare const FRAMED: u32;
@external("layout", "RECORD_SHIFT")
declare const RECORD_SHIFT: u32;

/** Of a loop in the table: how many streams, with bits; where the runs of its block are counted, from the base of counters; streams. */
const LOOP_STREAMS: usize = 0;
const LOOP_RUNS: usize = 4;
const LOOP_FIRST: usize = 8;
const COUNT_BITS: u32 = 31;
/** The loop is inside of another one, about which `enterNest` was told; it asks which bytes are valid. */
const INSIDE: u32 = 32;
const FILLS: u32 = 64;

/** Of a stream there: what it is, its stride, where it is in the place of its unit. */
const WHAT: usize = 0;
const STRIDE: usize = 4;
const PLACE: usize = 8;
const WORDS_BYTES: usize = 12;
/** The stride is said with where the unit ended. */
const VARIABLE: u32 = 0x80000000;
/** Where a unit ended, and its stride if that is not in the table. */
const END_SHIFT: u32 = 3;
const END_STRIDE: usize = 4;

const STREAM_BYTES: u32 = 16;
const T_FIRST: usize = 0; // address in the trip that comes next
const T_STRIDE: usize = 4;
export const T_WHAT: usize = 8;
const T_ID: usize = 12; // where that depends on the context, otherwise in T_WHAT
export const STORE_BIT: u32 = 32;
export const SIZE_BITS: u32 = 31;
const WHAT_UNIT_SHIFT: u32 = 6;
const UNIT_BITS: u32 = 15;
const WHAT_ID_SHIFT: u32 = 10;

@inline export function countIn(loop: usize): u32 { return load<u32>(loop, LOOP_STREAMS) & COUNT_BITS; }
@inline export function isInside(loop: usize): bool { return (load<u32>(loop, LOOP_STREAMS) & INSIDE) != 0; }
@inline export function fills(loop: usize): bool { return (load<u32>(loop, LOOP_STREAMS) & FILLS) != 0; }
@inline export function runsOf(loop: usize, base: u32): u32 { return base + load<u32>(loop, LOOP_RUNS); }

@inline export function stream(i: u32): usize { return CONTROL + C_STREAMS + i * STREAM_BYTES; }
@inline export function nextStream(at: usize): usize { return at + STREAM_BYTES; }
@inline export function firstOf(at: usize): u32 { return load<u32>(at, T_FIRST); }
@inline export function strideOf(at: usize): i32 { return load<i32>(at, T_STRIDE); }
@inline export function sizeOf(at: usize): u32 { return load<u32>(at, T_WHAT) & SIZE_BITS; }
@inline export function isStore(at: usize): bool { return (load<u32>(at, T_WHAT) & STORE_BIT) != 0; }
/** Number of its unit: of those before it, or the next. */
@inline export function unitNumber(at: usize): u32 { return (load<u32>(at, T_WHAT) >>> WHAT_UNIT_SHIFT) & UNIT_BITS; }
/** The first one of some streams, a bit each. */
@inline export function firstStream(streams: u32): usize { return stream(ctz(streams)); }
/** Id of a store, number of a load. */
@inline export function idOf(at: usize): u32 { return FRAMED != 0 ? load<u32>(at, T_ID) : load<u32>(at, T_WHAT) >>> WHAT_ID_SHIFT; }
@inline export function magnitude(stride: i32): u32 { return <u32>(stride < 0 ? -stride : stride); }
@inline export function moveBy(at: usize, trips: u32): void { store<u32>(at, firstOf(at) + strideOf(at) * trips, T_FIRST); }

@inline function endAt(unit: u32): usize { return CONTROL + C_ENDS + (unit << END_SHIFT); }
/** Where a unit's place would begin in the trip behind the last. */
@inline export function endOf(unit: u32): u32 { return load<u32>(endAt(unit)); }

// The same of a stream in the table, at `from`.
@inline export function firstFrom(loop: usize): usize { return loop + LOOP_FIRST; }
@inline export function endFrom(loop: usize): usize { return loop + LOOP_FIRST + countIn(loop) * WORDS_BYTES; }
@inline export function nextFrom(from: usize): usize { return from + WORDS_BYTES; }
@inline export function whatFrom(from: usize): u32 { return load<u32>(from, WHAT); }
@inline function unitFrom(from: usize): usize { return endAt((whatFrom(from) >>> WHAT_UNIT_SHIFT) & UNIT_BITS); }
@inline export function strideFrom(from: usize): u32 {
  return load<i32>(from, PLACE) >= 0 ? load<u32>(from, STRIDE) : load<u32>(unitFrom(from), END_STRIDE);
}
@inline export function addressFrom(from: usize, stride: u32, trips: u32): u32 {
  return load<u32>(unitFrom(from)) + (load<u32>(from, PLACE) & ~VARIABLE) - stride * trips;
}
/** `base`: what the records of the loop's accesses are counted from, where that depends on the context. */
@inline export function idFrom(from: usize, base: u32): u32 {
  const key = whatFrom(from) >>> WHAT_ID_SHIFT;
  if (FRAMED == 0) return key;
  return (whatFrom(from) & STORE_BIT) != 0 ? (base + key - STORES) >>> RECORD_SHIFT : base + key;
}

/** The streams of a loop that has ended, as they were before its `trips`. */
export function fetch(loop: usize, trips: u32, base: u32): void {
  let from = firstFrom(loop);
  const end = stream(countIn(loop));
  for (let at = stream(0); at != end; at = nextStream(at)) {
    const stride = strideFrom(from);
    store<u32>(at, addressFrom(from, stride, trips), T_FIRST);
    store<u32>(at, stride, T_STRIDE);
    store<u32>(at, whatFrom(from), T_WHAT);
    if (FRAMED != 0) store<u32>(at, idFrom(from, base), T_ID);
    from = nextFrom(from);
  }
}
