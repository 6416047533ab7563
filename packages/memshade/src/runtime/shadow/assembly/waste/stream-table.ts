// The accesses of a loop that has ended, one descriptor each: what `instrument/waste/loop-streams.ts` writes, and what is
// computed from it. Each is a stream: an access per trip, each a stride behind the one before. Several may be a unit: see `units.ts`.
import { C_STREAMS, CONTROL } from "./layout";

// Whether ids depend on the calling context.
@external("layout", "FRAMED")
declare const FRAMED: u32;

const STREAM_BYTES: u32 = 32;
export const T_END: usize = 0;
export const T_STRIDE: usize = 4;
export const T_WHAT: usize = 8;
export const T_FIRST: usize = 12; // address in the trip that comes next
const T_ID: usize = 28; // where ids are not known when the module is rewritten, otherwise in T_WHAT
export const STORE_BIT: u32 = 32;
export const SIZE_BITS: u32 = 31;
const WHAT_UNIT_SHIFT: u32 = 6;
const UNIT_BITS: u32 = 15;
const WHAT_ID_SHIFT: u32 = 10;

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
