import { C_MASKS, CONTROL } from "./layout";

// Up to 8 counters of a small block at once, as two vectors. Those behind the block's end are masked out.

/** Address of the two vectors that select the counters of a block of `size` bytes at a multiple of 8. */
@inline
export function maskOf(size: u32): usize { return CONTROL + (((size + 7) << 2) & ~31); }
@inline
export function lowMask(mask: usize): v128 { return v128.load(mask, C_MASKS); }
@inline
export function highMask(mask: usize): v128 { return v128.load(mask, C_MASKS + 16); }

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
