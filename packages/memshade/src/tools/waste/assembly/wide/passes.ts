// What whole loops do to bytes with ids of 32 bits: accesses of `size` bytes from `first` on, `stride` apart, `trips` of them.
import { loadRecord } from "../brief";
import { L_FRESH, ZERO_IS_VALID } from "../layout";
import { areRead, bump, overwrite, overwriteFew, putIds, readFew, SIGNS } from "./bytes";

/** For loads behind which no store comes at the same places. */
export const NO_STORE: u32 = 0;

/** Bytes of the program's memory that are charged and filled at a time, so that what is looked at is in the cache still. */
const CHUNK: u32 = 1024;

@inline function magnitude(stride: i32): u32 { return <u32>(stride < 0 ? -stride : stride); }
@inline function lowest(first: u32, stride: i32, size: u32, trips: u32): u32 { return stride < 0 ? first - size * (trips - 1) : first; }

export function storeStream(first: u32, stride: i32, size: u32, trips: u32, id: u32): void {
  if (magnitude(stride) == size) {
    let low = lowest(first, stride, size, trips);
    for (const high = low + size * trips; low < high; low += CHUNK) overwrite(low, min(high - low, CHUNK), id);
  } else if (size == 1) storeSparse<u8>(first, stride, trips, id);
  else if (size == 2) storeSparse<u16>(first, stride, trips, id);
  else if (size == 4) storeSparse<u32>(first, stride, trips, id);
  else if (size == 8) storeSparse<u64>(first, stride, trips, id);
  else storeSparse<v128>(first, stride, trips, id);
}

/** Ids of what a stream stored. */
function putStreamIds(first: u32, stride: i32, size: u32, trips: u32, id: u32): void {
  if (magnitude(stride) == size) { putIds(lowest(first, stride, size, trips), size * trips, id); return; }
  for (; trips != 0; trips--) {
    putIds(first, size, id);
    first += stride;
  }
}

/** `left`: the id of a store right behind, at the same places. Returns whether all bytes are read for sure, which is not found out. */
export function loadStream(first: u32, stride: i32, size: u32, trips: u32, number: u32, left: u32): bool {
  const leave: u64 = left == NO_STORE ? -1 : 0;
  if (left != NO_STORE) putStreamIds(first, stride, size, trips, left);
  let fresh: u64 = 0;
  if (magnitude(stride) == size && (ZERO_IS_VALID != 0 || leave != -1)) {
    // As many as fill whole lines, then the rest.
    const perLine = LINE / size;
    const inLines = trips / perLine * perLine;
    fresh = readLines(lowest(first, stride, size, inLines), inLines * size, size, leave);
    first += inLines * stride;
    trips -= inLines;
  }
  if (size == 1) fresh += loadSparse<u8>(first, stride, trips, leave);
  else if (size == 2) fresh += loadSparse<u16>(first, stride, trips, leave);
  else if (size == 4) fresh += loadSparse<u32>(first, stride, trips, leave);
  else if (size == 8) fresh += loadSparse<u64>(first, stride, trips, leave);
  else fresh += loadSparse<v128>(first, stride, trips, leave);
  bump(loadRecord(number) + L_FRESH, fresh);
  return false;
}

// States of one access. Of one type per size, so that sizes are constants: the optimiser merges what differs in a parameter.
@inline function hold<T>(at: usize, states: u64): bool { return differing<T>(at, states, -1) == 0; }

/** The bits in `mask` in which an access's states differ from `states`. */
@inline function differing<T>(at: usize, states: u64, mask: u64): u64 {
  const bytes = <u32>sizeof<T>();
  if (bytes == 1) return <u64>(load<u8>(at) ^ <u8>states) & (mask & 0xff);
  if (bytes == 2) return <u64>(load<u16>(at) ^ <u16>states) & (mask & 0xffff);
  if (bytes == 4) return <u64>(load<u32>(at) ^ <u32>states) & (mask & 0xffffffff);
  if (bytes == 8) return (load<u64>(at) ^ states) & mask;
  // Words of 64 bits take fewer instructions than vectors: engines make a number of any_true before they branch.
  return ((load<u64>(at) ^ states) | (load<u64>(at, 8) ^ states)) & mask;
}

/** The same of four accesses. */
@inline function allHold<T>(address: u32, stride: i32, states: u64, mask: u64): bool {
  const low = differing<T>(address, states, mask) | differing<T>(address + stride, states, mask);
  const next = address + stride + stride;
  return (low | differing<T>(next, states, mask) | differing<T>(next + stride, states, mask)) == 0;
}

export function sparseIsRead<T>(address: u32, stride: i32, trips: u32): bool {
  for (; trips >= 4; trips -= 4) {
    if (!allHold<T>(address, stride, -1, -1)) return false;
    address += stride << 2;
  }
  for (; trips != 0; trips--) {
    if (!hold<T>(address, -1)) return false;
    address += stride;
  }
  return true;
}

@inline function put<T>(at: usize, states: u64): void {
  const bytes = <u32>sizeof<T>();
  if (bytes == 1) store<u8>(at, <u8>states);
  else if (bytes == 2) store<u16>(at, <u16>states);
  else if (bytes == 4) store<u32>(at, <u32>states);
  else if (bytes == 8) store<u64>(at, states);
  else v128.store(at, i64x2.splat(states));
}

/** Bytes of states that are looked at together. */
const LINE: u32 = 64;

/** Loads of `size` bytes side by side, whole lines of them. Returns how many were of bytes not all read. */
function readLines(address: u32, bytes: u32, size: u32, leave: u64): u64 {
  const next = i64x2.splat(leave);
  const sign = i64x2.splat(SIGNS);
  const perLine = LINE / size;
  let fresh: u64 = 0;
  let at = address;
  for (const end: usize = address + bytes; at != end; at += LINE) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    if (!v128.any_true(v128.not(v128.and(v128.and(a, b), v128.and(c, d))))) {
      if (leave == -1) continue;
    } else if (!v128.any_true(v128.and(v128.or(v128.or(a, b), v128.or(c, d)), sign))) {
      fresh += perLine;
    } else {
      const low = <u32>at;
      for (let i: u32 = 0; i < LINE; i += size) {
        if (areRead(low + i, size)) continue;
        fresh++;
        if (leave == -1) readFew(low + i, size);
      }
      if (leave == -1) continue;
    }
    v128.store(at, next);
    v128.store(at, next, 16);
    v128.store(at, next, 32);
    v128.store(at, next, 48);
  }
  return fresh;
}

function storeSparse<T>(address: u32, stride: i32, trips: u32, id: u32): void {
  for (; trips != 0; trips--) {
    const at = address;
    if (differing<T>(at, -1, SIGNS) != 0) overwriteFew(address, sizeof<T>());
    put<T>(at, 0);
    putIds(address, sizeof<T>(), id);
    address += stride;
  }
}

/** Returns how many loads were of bytes not all read. */
function loadSparse<T>(address: u32, stride: i32, trips: u32, leave: u64): u64 {
  let fresh: u64 = 0;
  for (; trips != 0; trips--) {
    const at = address;
    if (!hold<T>(at, -1)) {
      fresh++;
      if (leave == -1) readFew(address, sizeof<T>());
    }
    if (leave != -1) put<T>(at, leave);
    address += stride;
  }
  return fresh;
}
