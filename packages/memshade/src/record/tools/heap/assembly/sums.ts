import { WALL_CLOCK } from "./imports";
import { Context } from "./layout.generated";
import { bump32, bump64 } from "./records";

@inline
export function divide(dividend: u64, divisor: u32): u64 {
  return dividend >> 32 === 0 ? <u64>(<u32>dividend / divisor) : dividend / divisor;
}

@inline
function pair(low: u64, high: u64): v128 {
  return i64x2.replace_lane(i64x2.splat(low), 1, high);
}
@inline
function join(low: u32, high: u64): u64 {
  return <u64>low | (high << 32);
}

/** The times of an ended block, whether of a run or not: sections 15.3 and 5.3 of the MemProf format description. */
@inline
export function addTimes(mib: usize, start: u32, time: u32): void {
  if (start < load<u32>(mib, Context.deallocTimestamp)) bump32(mib, Context.overlaps, 1);
  store<u32>(mib, start, Context.allocTimestamp);
  store<u32>(mib, time, Context.deallocTimestamp);
  bump64(mib, Context.totalLifetime, time - start);
}

/** `count` blocks that differ in their lifetimes only; those and their densities lie between the ones given. */
export function addBlocks(
  mib: usize,
  count: u64,
  size: u32,
  granules: u32,
  accesses: u64,
  touched: u32,
  density: u64,
  leastLifetime: u32,
  mostLifetime: u32,
  leastLifetimeDensity: u64,
  mostLifetimeDensity: u64,
): void {
  bump32(mib, Context.allocCount, <u32>count);
  bump64(mib, Context.totalDensity, density * count);
  const accessesAndSize = pair(accesses * count, <u64>size * count);
  v128.store(mib, i64x2.add(v128.load(mib, Context.totalAccesses), accessesAndSize), Context.totalAccesses);
  const places = pair(<u64>granules * count, <u64>touched * count);
  v128.store(mib, i64x2.add(v128.load(mib, Context.granules), places), Context.granules);
  const least = v128.not(pair(join(size, leastLifetime), join(<u32>density, leastLifetimeDensity)));
  const most = pair(join(size, mostLifetime), join(<u32>density, mostLifetimeDensity));
  v128.store(mib, i32x4.max_u(v128.load(mib, Context.minSize), least), Context.minSize);
  v128.store(mib, i32x4.max_u(v128.load(mib, Context.maxSize), most), Context.maxSize);
  if (~accesses > load<u64>(mib, Context.minAccesses)) store<u64>(mib, ~accesses, Context.minAccesses);
  if (accesses > load<u64>(mib, Context.maxAccesses)) store<u64>(mib, accesses, Context.maxAccesses);
}

export function addUnread(mib: usize, count: u64, size: u32, accesses: u64): void {
  if (accesses === 0) {
    bump32(mib, Context.neverAccessed, <u32>count);
    bump64(mib, Context.neverAccessedBytes, <u64>size * count);
  } else {
    bump32(mib, Context.neverRead, <u32>count);
    bump64(mib, Context.neverReadBytes, <u64>size * count);
  }
}

/** Adds one ended block to its context. `unread`: nobody read it, and its contents do not live on elsewhere. */
export function addBlock(
  mib: usize,
  size: u32,
  granules: u32,
  accesses: u64,
  touched: u32,
  unread: bool,
  start: u32,
  time: u32,
): void {
  const lifetime = time - start;
  const density = accesses === 0 ? 0 : divide(accesses * 100, size);
  const lifetimeDensity = lifetime <= 1 || density === 0 ? density * 1000 : divide(density * 1000, lifetime);
  addBlocks(
    mib,
    1,
    size,
    granules,
    accesses,
    touched,
    density,
    lifetime,
    lifetime,
    lifetimeDensity,
    lifetimeDensity,
  );
  if (unread) addUnread(mib, 1, size, accesses);
  addTimes(mib, start, time);
  bump64(mib, Context.totalLifetimeDensity, lifetimeDensity);
  if (WALL_CLOCK === 0 && lifetime <= 1) bump32(mib, Context.temporary, 1);
}
