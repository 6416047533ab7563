import {
  M_ALLOC_COUNT, M_ALLOC_TIMESTAMP, M_DEALLOC_TIMESTAMP, M_GRANULES, M_MAX_ACCESSES, M_MAX_SIZE, M_MIN_ACCESSES,
  M_MIN_SIZE, M_NEVER_ACCESSED, M_NEVER_ACCESSED_BYTES, M_NEVER_READ, M_NEVER_READ_BYTES, M_OVERLAPS, M_TEMPORARY,
  M_TOTAL_ACCESSES, M_TOTAL_DENSITY, M_TOTAL_LIFETIME, M_TOTAL_LIFETIME_DENSITY, WALL_CLOCK,
} from "./layout";
import { bump32, bump64 } from "./records";

@inline
export function divide(dividend: u64, divisor: u32): u64 {
  return dividend >> 32 == 0 ? <u64>(<u32>dividend / divisor) : dividend / divisor;
}

@inline function pair(low: u64, high: u64): v128 { return i64x2.replace_lane(i64x2.splat(low), 1, high); }
@inline function join(low: u32, high: u64): u64 { return <u64>low | (high << 32); }

/** The times of an ended block, whether of a run or not: sections 15.3 and 5.3 of the MemProf format description. */
@inline
export function addTimes(mib: usize, start: u32, time: u32): void {
  if (start < load<u32>(mib, M_DEALLOC_TIMESTAMP)) bump32(mib, M_OVERLAPS, 1);
  store<u32>(mib, start, M_ALLOC_TIMESTAMP);
  store<u32>(mib, time, M_DEALLOC_TIMESTAMP);
  bump64(mib, M_TOTAL_LIFETIME, time - start);
}

/** `count` blocks that differ in their lifetimes only; those and their densities lie between the ones given. */
export function addBlocks(
  mib: usize, count: u64, size: u32, granules: u32, accesses: u64, touched: u32, density: u64,
  leastLifetime: u32, mostLifetime: u32, leastLifetimeDensity: u64, mostLifetimeDensity: u64,
): void {
  bump32(mib, M_ALLOC_COUNT, <u32>count);
  bump64(mib, M_TOTAL_DENSITY, density * count);
  const accessesAndSize = pair(accesses * count, <u64>size * count);
  v128.store(mib, i64x2.add(v128.load(mib, M_TOTAL_ACCESSES), accessesAndSize), M_TOTAL_ACCESSES);
  const places = pair(<u64>granules * count, <u64>touched * count);
  v128.store(mib, i64x2.add(v128.load(mib, M_GRANULES), places), M_GRANULES);
  const least = v128.not(
    pair(join(size, leastLifetime), join(<u32>density, leastLifetimeDensity)),
  );
  const most = pair(join(size, mostLifetime), join(<u32>density, mostLifetimeDensity));
  v128.store(mib, i32x4.max_u(v128.load(mib, M_MIN_SIZE), least), M_MIN_SIZE);
  v128.store(mib, i32x4.max_u(v128.load(mib, M_MAX_SIZE), most), M_MAX_SIZE);
  if (~accesses > load<u64>(mib, M_MIN_ACCESSES)) store<u64>(mib, ~accesses, M_MIN_ACCESSES);
  if (accesses > load<u64>(mib, M_MAX_ACCESSES)) store<u64>(mib, accesses, M_MAX_ACCESSES);
}

export function addUnread(mib: usize, count: u64, size: u32, accesses: u64): void {
  if (accesses == 0) {
    bump32(mib, M_NEVER_ACCESSED, <u32>count);
    bump64(mib, M_NEVER_ACCESSED_BYTES, <u64>size * count);
  } else {
    bump32(mib, M_NEVER_READ, <u32>count);
    bump64(mib, M_NEVER_READ_BYTES, <u64>size * count);
  }
}

/** Adds one ended block to its context. `unread`: nobody read it, and its contents do not live on elsewhere. */
export function addBlock(
  mib: usize, size: u32, granules: u32, accesses: u64, touched: u32, unread: bool, start: u32, time: u32,
): void {
  const lifetime = time - start;
  const density = accesses == 0 ? 0 : divide(accesses * 100, size);
  const lifetimeDensity = lifetime <= 1 || density == 0 ? density * 1000 : divide(density * 1000, lifetime);
  addBlocks(
    mib, 1, size, granules, accesses, touched, density, lifetime, lifetime, lifetimeDensity, lifetimeDensity,
  );
  if (unread) addUnread(mib, 1, size, accesses);
  addTimes(mib, start, time);
  bump64(mib, M_TOTAL_LIFETIME_DENSITY, lifetimeDensity);
  if (WALL_CLOCK == 0 && lifetime <= 1) bump32(mib, M_TEMPORARY, 1);
}
