import { C_MASKS, CONTROL } from "./layout";

// Counters of a small block: at most 8, at a multiple of 4. What may just have been counted is read counter by counter: a
// wider load would have to wait until the stores it overlaps have left the processor's store buffer. To need no loop, the
// counters are read from both ends, so some of them twice.

/** Distance of the last counter of a block of `size` bytes from the first. */
@inline
function lastOf(size: u32): u32 { return ((size - 1) >>> 3) << 2; }

/** Whether one of the counters is not zero. */
@inline
export function anySmall(at: u32, size: u32): u32 {
  const last = at + lastOf(size);
  let any = load<u32>(at) | load<u32>(last);
  if (size > 16) {
    any |= load<u32>(at, 4) | load<u32>(last - 4);
    if (size > 32) any |= load<u32>(at, 8) | load<u32>(at, 12) | load<u32>(last - 8) | load<u32>(last - 12);
  }
  return any;
}

/** A number that tells blocks of one size apart by their counters. */
@inline
export function mixSmall(at: u32, size: u32): u32 {
  const last = at + lastOf(size);
  let mix = load<u32>(at) + load<u32>(last) * 31;
  if (size > 16) {
    mix += load<u32>(at, 4) * 7 + load<u32>(last - 4) * 61;
    if (size > 32)
      mix += load<u32>(at, 8) * 5 + load<u32>(at, 12) * 11 + load<u32>(last - 8) * 29 + load<u32>(last - 12) * 43;
  }
  return mix;
}

/** Not zero if the counters differ from those at `pattern`. */
@inline
export function differSmall(at: u32, size: u32, pattern: u32): u32 {
  const last = lastOf(size);
  let differ = (load<u32>(at) ^ load<u32>(pattern)) | (load<u32>(at + last) ^ load<u32>(pattern + last));
  if (size > 16) {
    const from = at + last - 12;
    const to = pattern + last - 12;
    differ |= (load<u32>(at, 4) ^ load<u32>(pattern, 4)) | (load<u32>(from, 8) ^ load<u32>(to, 8));
    if (size > 32)
      differ |=
        (load<u32>(at, 8) ^ load<u32>(pattern, 8)) | (load<u32>(at, 12) ^ load<u32>(pattern, 12)) |
        (load<u32>(from, 4) ^ load<u32>(to, 4)) | (load<u32>(from) ^ load<u32>(to));
  }
  return differ;
}

@inline
export function clearSmall(at: u32, size: u32): void {
  const last = at + lastOf(size);
  if (size <= 16) {
    store<u32>(at, 0);
    store<u32>(last, 0);
  } else if (size <= 32) {
    store<u64>(at, 0);
    store<u64>(last - 4, 0);
  } else {
    v128.store(at, i64x2.splat(0));
    v128.store(last - 12, i64x2.splat(0));
  }
}

// The same counters as two vectors. Those behind the block's end are masked out.
/** Address of the two vectors that select the counters of a block of `size` bytes. */
@inline
function maskOf(size: u32): usize { return CONTROL + (((size + 7) << 2) & ~31); }
@inline
export function lowCounters(at: u32, size: u32): v128 {
  return v128.and(v128.load(at), v128.load(maskOf(size), C_MASKS));
}
@inline
export function highCounters(at: u32, size: u32): v128 {
  return v128.and(v128.load(at, 16), v128.load(maskOf(size), C_MASKS + 16));
}

/** Whether all counters are so small that adding them up needs no carry. */
@inline
export function areSmall(low: v128, high: v128): bool { return i32x4.bitmask(v128.or(low, high)) == 0; }

/** Accesses of small counters. */
@inline
export function sumOf(low: v128, high: v128): u64 {
  const counts = i32x4.add(i32x4.shr_u(low, 1), i32x4.shr_u(high, 1));
  const pairs = i64x2.extract_lane(counts, 0) + i64x2.extract_lane(counts, 1);
  return (pairs & 0xffffffff) + (pairs >>> 32);
}

@inline
export function touchedIn(low: v128, high: v128): u32 {
  const zero = i32x4.splat(0);
  return 8 - popcnt(i16x8.bitmask(i16x8.narrow_i32x4_s(i32x4.eq(low, zero), i32x4.eq(high, zero))));
}

@inline
export function isRead(low: v128, high: v128): bool {
  return v128.any_true(v128.and(v128.or(low, high), i32x4.splat(1)));
}

/** Fills the table of masks. */
export function makeMasks(): void {
  for (let granules: u32 = 0; granules <= 8; granules++)
    for (let i: u32 = 0; i < granules; i++) store<u32>(CONTROL + (granules << 5) + (i << 2), -1, C_MASKS);
}
