// What the shadow of a loop's trips looks like, repeated to fill 64 bytes: trips side by side that look the same are found, and
// given another look, several at a time.
import { C_PATTERN, CONTROL } from "./layout";

export const PATTERN_BYTES: u32 = 64;
/** Bytes of the longest place that is followed as a pattern. */
const LONGEST_PLACE: u32 = 32;
/** As many patterns, at most, are done access by access after one that is not repeated. */
export const MOST_PATIENCE: u32 = 64;
/** What trips found, what they leave, and all bits of the bytes that they touch; then whether that is all of them. */
export const FOUND: usize = 0;
export const LEFT: usize = 64;
export const TOUCHED: usize = 128;
const TOUCHES_ALL: usize = 64;

/** Whether places of `step` bytes fill a pattern. */
@inline export function fillPattern(step: u32): bool { return step <= LONGEST_PLACE && (step & (step - 1)) == 0; }

@inline export function pattern(which: usize): usize { return CONTROL + C_PATTERN + which; }

/** Fills a pattern with the `period` bytes at an address, a power of two up to 64. */
export function repeat(which: usize, from: usize, period: u32): void {
  const to = pattern(which);
  let a = v128.load(from);
  let b = a;
  let c = a;
  let d = a;
  if (period == 1) a = b = c = d = v128.splat<u8>(load<u8>(from));
  else if (period == 2) a = b = c = d = v128.splat<u16>(load<u16>(from));
  else if (period == 4) a = b = c = d = v128.splat<u32>(load<u32>(from));
  else if (period == 8) a = b = c = d = v128.splat<u64>(load<u64>(from));
  else if (period == 32) b = d = v128.load(from, 16);
  else if (period == 64) {
    b = v128.load(from, 16);
    c = v128.load(from, 32);
    d = v128.load(from, 48);
  }
  v128.store(to, a);
  v128.store(to, b, 16);
  v128.store(to, c, 32);
  v128.store(to, d, 48);
}

export function copyPattern(to: usize, from: usize): void {
  for (let i: usize = 0; i < PATTERN_BYTES; i += 16) v128.store(to + i, v128.load(from + i));
}

export function clear(which: usize): void {
  const none = i64x2.splat(0);
  for (let i: usize = 0; i < PATTERN_BYTES; i += 16) v128.store(pattern(which) + i, none);
}

/** What is touched has been put there, `period` bytes of it. */
export function touch(period: u32): void {
  const at = pattern(TOUCHED);
  repeat(TOUCHED, at, period);
  const low = v128.and(v128.load(at), v128.load(at, 16));
  const isAll = i8x16.all_true(v128.and(low, v128.and(v128.load(at, 32), v128.load(at, 48))));
  store<u32>(at, <u32>isAll, TOUCHES_ALL);
}

/** All bits of those of 16 bytes, from the one with this number on, that are before `end`. */
@inline function before(end: i32, number: i32): v128 {
  return i8x16.gt_s(i8x16.splat(<i8>(end - number)), i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

@inline function differ(at: usize, number: usize): v128 {
  const found = v128.xor(v128.load(at + number), v128.load(pattern(FOUND) + number));
  return v128.and(found, v128.load(pattern(TOUCHED) + number));
}

/** From `at` on, as far as what was touched looks as found, 64 bytes at a time, but for the last of them. */
export function passFound(at: usize, end: usize): usize {
  const a = v128.load(pattern(FOUND));
  const b = v128.load(pattern(FOUND), 16);
  const c = v128.load(pattern(FOUND), 32);
  const d = v128.load(pattern(FOUND), 48);
  if (load<u32>(pattern(TOUCHED), TOUCHES_ALL) != 0) {
    for (; at + 2 * PATTERN_BYTES <= end; at += 2 * PATTERN_BYTES) {
      const one = v128.or(
        v128.or(v128.xor(v128.load(at), a), v128.xor(v128.load(at, 16), b)),
        v128.or(v128.xor(v128.load(at, 32), c), v128.xor(v128.load(at, 48), d)));
      const other = v128.or(
        v128.or(v128.xor(v128.load(at, 64), a), v128.xor(v128.load(at, 80), b)),
        v128.or(v128.xor(v128.load(at, 96), c), v128.xor(v128.load(at, 112), d)));
      if (v128.any_true(v128.or(one, other))) break;
    }
  }
  const p = v128.load(pattern(TOUCHED));
  const q = v128.load(pattern(TOUCHED), 16);
  const r = v128.load(pattern(TOUCHED), 32);
  const s = v128.load(pattern(TOUCHED), 48);
  for (; at + PATTERN_BYTES <= end; at += PATTERN_BYTES) {
    const low = v128.or(
      v128.and(v128.xor(v128.load(at), a), p), v128.and(v128.xor(v128.load(at, 16), b), q));
    const high = v128.or(
      v128.and(v128.xor(v128.load(at, 32), c), r), v128.and(v128.xor(v128.load(at, 48), d), s));
    if (v128.any_true(v128.or(low, high))) return at;
  }
  if (at == end) return at;
  const rest = <i32>(end - at);
  const low = v128.or(v128.and(differ(at, 0), before(rest, 0)), v128.and(differ(at, 16), before(rest, 16)));
  const high = v128.or(v128.and(differ(at, 32), before(rest, 32)), v128.and(differ(at, 48), before(rest, 48)));
  return v128.any_true(v128.or(low, high)) ? at : end;
}

/** Whether trips leave another look than they found. */
export function isChanged(): bool {
  let other = i64x2.splat(0);
  for (let i: usize = 0; i < PATTERN_BYTES; i += 16)
    other = v128.or(other, v128.xor(v128.load(pattern(FOUND) + i), v128.load(pattern(LEFT) + i)));
  return v128.any_true(other);
}

/** Bytes of the pattern's 16, from the one with this number on, take the place of those that were touched. */
@inline function leave(at: usize, left: v128, touched: v128): void {
  v128.store(at, v128.bitselect(left, v128.load(at), touched));
}

/** What is touched from `at` to `end` looks as it was left. */
export function leavePattern(at: usize, end: usize): void {
  const a = v128.load(pattern(LEFT));
  const b = v128.load(pattern(LEFT), 16);
  const c = v128.load(pattern(LEFT), 32);
  const d = v128.load(pattern(LEFT), 48);
  const p = v128.load(pattern(TOUCHED));
  const q = v128.load(pattern(TOUCHED), 16);
  const r = v128.load(pattern(TOUCHED), 32);
  const s = v128.load(pattern(TOUCHED), 48);
  for (; at + PATTERN_BYTES <= end; at += PATTERN_BYTES) {
    leave(at, a, p);
    leave(at + 16, b, q);
    leave(at + 32, c, r);
    leave(at + 48, d, s);
  }
  if (at == end) return;
  const rest = <i32>(end - at);
  leave(at, a, v128.and(p, before(rest, 0)));
  leave(at + 16, b, v128.and(q, before(rest, 16)));
  leave(at + 32, c, v128.and(r, before(rest, 32)));
  leave(at + 48, d, v128.and(s, before(rest, 48)));
}
