// The bytes of a line as the bits of a u64, the first byte lowest.
import { BYTES } from "./imports";

/** Which of a line's bytes were touched in the open interval. */
@inline
export function touchedBytes(line: u32): u64 {
  const at: usize = BYTES + (line << 6);
  const none = i8x16.splat(0);
  const a = v128.load(at);
  const b = v128.load(at, 16);
  const c = v128.load(at, 32);
  const d = v128.load(at, 48);
  if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) return 0;
  return (
    <u64>(<u32>i8x16.bitmask(i8x16.ne(a, none))) |
    ((<u64>(<u32>i8x16.bitmask(i8x16.ne(b, none)))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(i8x16.ne(c, none)))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(i8x16.ne(d, none)))) << 48)
  );
}

/** Which of them were touched while they were in the block that they are in. */
@inline
export function touchedInBlock(line: u32): u64 {
  const at: usize = BYTES + (line << 6);
  const one = i8x16.splat(1);
  const a = i8x16.eq(v128.load(at), one);
  const b = i8x16.eq(v128.load(at, 16), one);
  const c = i8x16.eq(v128.load(at, 32), one);
  const d = i8x16.eq(v128.load(at, 48), one);
  if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) return 0;
  return (
    <u64>(<u32>i8x16.bitmask(a)) |
    ((<u64>(<u32>i8x16.bitmask(b))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(c))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(d))) << 48)
  );
}

/** What was touched of a range of bytes was touched before the block came that they are in now. */
export function touchedBefore(address: u32, end: u32): void {
  let at: usize = BYTES + address;
  const last: usize = BYTES + end;
  for (; at + 16 <= last; at += 16) {
    const marks = v128.load(at);
    if (v128.any_true(marks)) v128.store(at, v128.and(i8x16.gt_u(marks, i8x16.splat(0)), i8x16.splat(2)));
  }
  if (at + 8 <= last) {
    const marks = load<u64>(at);
    if (marks !== 0) store<u64>(at, ((marks | (marks >>> 1)) & ONES) << 1);
    at += 8;
  }
  for (; at < last; at++) if (load<u8>(at) !== 0) store<u8>(at, 2);
}

/** Eight marks of bytes that were touched in the block that they are in. */
const ONES: u64 = 0x0101010101010101;

/** Forgets what of a range of bytes was touched in the block that they are in. */
export function forgetInBlock(address: u32, end: u32): void {
  let at: usize = BYTES + address;
  const last: usize = BYTES + end;
  for (; at + 8 <= last; at += 8) {
    const marks = load<u64>(at);
    if ((marks & ONES) !== 0) store<u64>(at, marks & ~ONES);
  }
  for (; at < last; at++) if (load<u8>(at) === 1) store<u8>(at, 0);
}

/** Forgets what of a line was touched. */
@inline
export function clearLine(line: u32): void {
  const at: usize = BYTES + (line << 6);
  const none = i8x16.splat(0);
  v128.store(at, none);
  v128.store(at, none, 16);
  v128.store(at, none, 32);
  v128.store(at, none, 48);
}

/** Bits `from` to `to - 1` of a line; `from` < `to` ≤ 64. */
@inline
export function bitsBetween(from: u32, to: u32): u64 {
  return (u64.MAX_VALUE >>> (64 - <u64>(to - from))) << (<u64>from);
}
