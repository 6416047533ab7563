import { isRead, sumOf, touchedIn } from "./small-counters";
import {
  EXACT, LARGEST_SMALL, M_ALLOC_COUNT, M_ALLOC_TIMESTAMP, M_DEALLOC_TIMESTAMP, M_GRANULES, M_LIVE,
  M_MAX_ACCESSES, M_MAX_SIZE, M_MIN_ACCESSES, M_MIN_SIZE, M_MISSES, M_NEVER_ACCESSED, M_NEVER_ACCESSED_BYTES,
  M_NEVER_READ, M_NEVER_READ_BYTES, M_OVERLAPS, M_PATTERN, M_RUN_COUNT, M_RUN_DENSITY, M_RUN_MAX_LIFETIME,
  M_RUN_MIN_LIFETIME, M_RUN_SIZE, M_TEMPORARY, M_TOTAL_ACCESSES, M_TOTAL_DENSITY, M_TOTAL_LIFETIME,
  M_TOTAL_LIFETIME_DENSITY, WALL_CLOCK,
} from "./layout";
import { liveUnit } from "./live";
import { bump32, bump64 } from "./records";

/** One of so many small blocks that are not of the run begins a new one. */
const MISSES_PER_RUN: u32 = 8;

@inline
function divide(dividend: u64, divisor: u32): u64 {
  return dividend >> 32 == 0 ? <u64>(<u32>dividend / divisor) : dividend / divisor;
}

/** A density per second of a lifetime. */
@inline
function perSecond(density: u64, lifetime: u32): u64 {
  const least = density * 1000;
  return lifetime <= 1 || density == 0 ? least : divide(least, lifetime);
}

@inline function pair(low: u64, high: u64): v128 { return i64x2.replace_lane(i64x2.splat(low), 1, high); }
@inline function join(low: u32, high: u64): u64 { return <u64>low | (high << 32); }

/** The times of an ended block, whether of a run or not: sections 15.3 and 5.3 of the MemProf format description. */
@inline
export function addTimes(mib: usize, start: u32, time: u32, lifetimeDensity: u64): void {
  const lifetime = time - start;
  if (start < load<u32>(mib, M_DEALLOC_TIMESTAMP)) bump32(mib, M_OVERLAPS, 1);
  store<u32>(mib, start, M_ALLOC_TIMESTAMP);
  store<u32>(mib, time, M_DEALLOC_TIMESTAMP);
  bump64(mib, M_TOTAL_LIFETIME, lifetime);
  bump64(mib, M_TOTAL_LIFETIME_DENSITY, lifetimeDensity);
  if (WALL_CLOCK == 0 && lifetime <= 1) bump32(mib, M_TEMPORARY, 1);
}

/** One more block of the run. */
@inline
export function addToRun(mib: usize, start: u32, time: u32): void {
  const lifetime = time - start;
  store<u32>(mib, load<u32>(mib, M_RUN_COUNT) + 1, M_RUN_COUNT);
  if (~lifetime > load<u32>(mib, M_RUN_MIN_LIFETIME)) store<u32>(mib, ~lifetime, M_RUN_MIN_LIFETIME);
  if (lifetime > load<u32>(mib, M_RUN_MAX_LIFETIME)) store<u32>(mib, lifetime, M_RUN_MAX_LIFETIME);
  addTimes(mib, start, time, perSecond(load<u64>(mib, M_RUN_DENSITY), lifetime));
}

/** `count` blocks that differ in their lifetimes only; those and their densities lie between the ones given. */
@inline
function addBlocks(
  mib: usize, count: u32, size: u32, granules: u32, accesses: u64, touched: u32, density: u64,
  leastLifetime: u32, mostLifetime: u32, leastLifetimeDensity: u64, mostLifetimeDensity: u64,
): void {
  bump32(mib, M_ALLOC_COUNT, count);
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

function addUnread(mib: usize, count: u32, size: u32, accesses: u64): void {
  if (accesses == 0) {
    bump32(mib, M_NEVER_ACCESSED, count);
    bump64(mib, M_NEVER_ACCESSED_BYTES, <u64>size * count);
  } else {
    bump32(mib, M_NEVER_READ, count);
    bump64(mib, M_NEVER_READ_BYTES, <u64>size * count);
  }
}

/** Adds one ended block to its context. `unread`: nobody read it, and its contents do not live on elsewhere. */
export function addBlock(
  mib: usize, size: u32, granules: u32, accesses: u64, touched: u32, unread: bool, start: u32, time: u32,
): void {
  const lifetime = time - start;
  const density = accesses == 0 ? 0 : divide(accesses * 100, size);
  const lifetimeDensity = perSecond(density, lifetime);
  addBlocks(
    mib, 1, size, granules, accesses, touched, density, lifetime, lifetime, lifetimeDensity, lifetimeDensity,
  );
  if (unread) addUnread(mib, 1, size, accesses);
  addTimes(mib, start, time, lifetimeDensity);
  store<u64>(mib, load<u64>(mib, M_LIVE) - liveUnit(size), M_LIVE);
}

/** The run ends: its blocks join the sums. */
export function endRun(mib: usize): void {
  const count = load<u32>(mib, M_RUN_COUNT);
  if (count == 0) return;
  store<u32>(mib, 0, M_RUN_COUNT);
  const size = load<u32>(mib, M_RUN_SIZE);
  const low = v128.load(mib, M_PATTERN);
  const high = v128.load(mib, M_PATTERN + 16);
  const accesses = sumOf(low, high);
  const density = load<u64>(mib, M_RUN_DENSITY);
  const least = ~load<u32>(mib, M_RUN_MIN_LIFETIME);
  const most = load<u32>(mib, M_RUN_MAX_LIFETIME);
  addBlocks(
    mib, count, size, (size + 7) >>> 3, accesses, touchedIn(low, high), density, least, most,
    perSecond(density, most), perSecond(density, least),
  );
  if (!isRead(low, high)) addUnread(mib, count, size, accesses);
  store<u64>(mib, load<u64>(mib, M_LIVE) - liveUnit(size) * count, M_LIVE);
}

/** Whether a small block that is not of the run is the one to begin a new one. If so, the old one has ended. */
@inline
export function mayBeginRun(mib: usize): bool {
  const misses = load<u32>(mib, M_MISSES);
  store<u32>(mib, misses + 1, M_MISSES);
  if (EXACT != 0 || (misses & (MISSES_PER_RUN - 1)) != 0) return false;
  endRun(mib);
  return true;
}

/** Begins a run, without blocks yet. False: with so many accesses per byte it cannot be one. */
@inline
export function beginRun(mib: usize, size: u32, low: v128, high: v128): bool {
  const density = divide(sumOf(low, high) * 100, size);
  // Beyond, the least density would not be that of the longest lifetime, because extremes are cut down to 32 bits.
  if (size > LARGEST_SMALL || (density * 1000) >> 32 != 0) {
    store<u32>(mib, 0, M_RUN_SIZE);
    return false;
  }
  store<u32>(mib, size, M_RUN_SIZE);
  store<u64>(mib, density, M_RUN_DENSITY);
  store<u64>(mib, 0, M_RUN_MIN_LIFETIME);
  v128.store(mib, low, M_PATTERN);
  v128.store(mib, high, M_PATTERN + 16);
  return true;
}
