// The accesses of a loop that has ended, one descriptor each: what `instrument/waste/loop-streams.ts` writes, and what is
// computed from it. Each is a stream: an access per trip, each a stride behind the one before.
import { C_STREAMS, CONTROL } from "./layout";

// Whether ids depend on the calling context.
@external("layout", "FRAMED")
declare const FRAMED: u32;

const STREAM_BYTES: u32 = 32;
export const T_END: usize = 0;
export const T_STRIDE: usize = 4;
export const T_WHAT: usize = 8;
export const T_FIRST: usize = 12; // address in the trip that comes next
export const T_LOW: usize = 16; // range of the trips at hand
export const T_HIGH: usize = 20;
export const T_STATE: usize = 24;
const T_ID: usize = 28; // where ids are not known when the module is rewritten, otherwise in T_WHAT
export const STORE_BIT: u32 = 32;
export const SIZE_BITS: u32 = 31;
const WHAT_ID_SHIFT: u32 = 6;

/** A load of bytes that were all read; a stream still to be done; one of the group at hand; one that is done. */
export const SETTLED: u32 = 0;
export const OPEN: u32 = 1;
export const CHOSEN: u32 = 2;
export const DONE: u32 = 3;

@inline export function stream(i: u32): usize { return CONTROL + C_STREAMS + i * STREAM_BYTES; }
@inline export function nextStream(at: usize): usize { return at + STREAM_BYTES; }
@inline export function firstOf(at: usize): u32 { return load<u32>(at, T_FIRST); }
@inline export function strideOf(at: usize): i32 { return load<i32>(at, T_STRIDE); }
@inline export function sizeOf(at: usize): u32 { return load<u32>(at, T_WHAT) & SIZE_BITS; }
@inline export function isStore(at: usize): bool { return (load<u32>(at, T_WHAT) & STORE_BIT) != 0; }
@inline export function isIn(at: usize, state: u32): bool { return load<u32>(at, T_STATE) == state; }
@inline export function put(at: usize, state: u32): void { store<u32>(at, state, T_STATE); }
/** Id of a store, number of a load. */
@inline export function idOf(at: usize): u32 { return FRAMED != 0 ? load<u32>(at, T_ID) : load<u32>(at, T_WHAT) >>> WHAT_ID_SHIFT; }
@inline export function magnitude(stride: i32): u32 { return <u32>(stride < 0 ? -stride : stride); }
