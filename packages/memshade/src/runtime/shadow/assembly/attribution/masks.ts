// The bytes of a line as the bits of a u64, the first byte lowest.
import { BYTES } from "./layout";

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
    (<u64>(<u32>i8x16.bitmask(i8x16.ne(b, none))) << 16) |
    (<u64>(<u32>i8x16.bitmask(i8x16.ne(c, none))) << 32) |
    (<u64>(<u32>i8x16.bitmask(i8x16.ne(d, none))) << 48)
  );
}

/** Which of them were touched while they were in the block that they are in. */
@inline
export function touchedInBlock(line: u32): u64 {
  const at: usize = BYTES + (line << 6);
  const one = i8x16.splat(1);
  return (
    <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at), one))) |
    (<u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 16), one))) << 16) |
    (<u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 32), one))) << 32) |
    (<u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 48), one))) << 48)
  );
}

/** What was touched of some bytes of a line was touched before the block came that they are in now. */
@inline
export function touchedBefore(line: u32, mask: u64): void {
  const at: usize = BYTES + (line << 6);
  for (let bits = mask; bits != 0; bits &= bits - 1) store<u8>(at + <usize>ctz(bits), 2);
}

/** Forgets that some bytes of a line were touched. */
@inline
export function clearBytes(line: u32, mask: u64): void {
  const at: usize = BYTES + (line << 6);
  if (mask == u64.MAX_VALUE) {
    const none = i8x16.splat(0);
    v128.store(at, none);
    v128.store(at, none, 16);
    v128.store(at, none, 32);
    v128.store(at, none, 48);
    return;
  }
  for (let bits = mask; bits != 0; bits &= bits - 1) store<u8>(at + <usize>ctz(bits), 0);
}

/** Bits `from` to `to - 1` of a line; `from` < `to` ≤ 64. */
@inline
export function bitsBetween(from: u32, to: u32): u64 {
  return (u64.MAX_VALUE >>> (64 - <u64>(to - from))) << <u64>from;
}
