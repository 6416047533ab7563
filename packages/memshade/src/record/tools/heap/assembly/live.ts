import { CONTROL, MIBS, PASTS, RECORD_CAPACITY } from "./imports";
import {
  CONTEXT_BYTES,
  Context,
  Control,
  LIVE_BLOCK_BITS,
  PAST_BYTES,
  Past,
  Record,
  Slot,
  Tag,
} from "./layout.generated";
import { slotOf } from "./places";
import { Address, END } from "./program";
import { bump32, bump64, findRecord, mibOfTag, moveToRecord, placeDifference, sizeOfTag } from "./records";

// Live bytes fall only when a block is released, so a maximum is noticed just before a release, and growth
// needs no check. A context's live amount at the peak is stored when the context changes for the first time
// after the peak.

const BYTES_SHIFT: u64 = LIVE_BLOCK_BITS;
const BLOCKS_MASK: u64 = (1 << LIVE_BLOCK_BITS) - 1;

/** Returns one block of `size` bytes as a packed sum of bytes and blocks. */
@inline
export function liveUnit(size: u32): u64 {
  return ((<u64>size) << BYTES_SHIFT) | 1;
}

@inline
export function blocksOf(unit: u64): u32 {
  return <u32>(unit & BLOCKS_MASK);
}

@inline
export function bytesOf(unit: u64): u64 {
  return unit >> BYTES_SHIFT;
}

@inline
export function liveOf(mib: usize): u64 {
  return load<u64>(mib, Context.allocated) - load<u64>(mib, Context.freed);
}

@inline
export function pastOf(mib: usize): usize {
  return PASTS + ((mib - MIBS) / CONTEXT_BYTES) * PAST_BYTES;
}

@inline
export function roomLeft(): u32 {
  return RECORD_CAPACITY - 1 - blocksOf(load<u64>(CONTROL, Control.live));
}

/**
 * Stores the peak amount of a context that is about to change for the first time since the last peak. It has
 * changed before in the open interval.
 */
@inline
export function keepPeak(mib: usize): void {
  store<u64>(pastOf(mib), liveOf(mib), Past.peak);
  store<u32>(mib, load<u32>(CONTROL, Control.stamp), Context.stamp);
}

/** Starts the search for a new maximum above the amount that is live now. */
@inline
export function beginMaximum(live: u64): void {
  store<u64>(CONTROL, live, Control.intervalPeak);
  store<u64>(CONTROL, live | BLOCKS_MASK, Control.peakLimit);
}

/** Notices a maximum before a release, or before the figures are read. Returns the live amount. */
@inline
export function noticePeak(): u64 {
  const live = load<u64>(CONTROL, Control.live);
  if (live > load<u64>(CONTROL, Control.peakLimit)) {
    beginMaximum(live);
    if (live > (load<u64>(CONTROL, Control.peak) | BLOCKS_MASK)) {
      const stamp = load<u32>(CONTROL, Control.stamp) + 1;
      store<u64>(CONTROL, live, Control.peak);
      store<u32>(CONTROL, stamp, Control.stamp);
      store<u32>(CONTROL, stamp, Control.peakStamp);
    }
  }
  return live;
}

/** Returns the record of the live block at `address`, and creates it if needed; 0 if there is no block. */
export function recordAt(address: Address): usize {
  const slot = slotOf(address);
  if (slot === 0) return 0;
  const tag = load<u32>(slot, Slot.tag);
  if ((tag & Tag.recorded) !== 0) return findRecord(slot, address);
  return tag !== 0 && placeDifference(tag, address) === 0 ? moveToRecord(slot, address) : 0;
}

export function sizeAt(address: Address): u32 {
  const slot = address < END ? slotOf(address) : 0;
  if (slot === 0) return 0;
  const tag = load<u32>(slot, Slot.tag);
  if ((tag & Tag.recorded) === 0) return placeDifference(tag, address) === 0 ? sizeOfTag(tag) : 0;
  const record = findRecord(slot, address);
  return record === 0 ? 0 : load<u32>(record, Record.size);
}

export function contextAt(address: Address): usize {
  const slot = address < END ? slotOf(address) : 0;
  if (slot === 0) return 0;
  const tag = load<u32>(slot, Slot.tag);
  if ((tag & Tag.recorded) === 0) return tag !== 0 && placeDifference(tag, address) === 0 ? mibOfTag(tag) : 0;
  const record = findRecord(slot, address);
  return record === 0 ? 0 : load<u32>(record, Record.mib);
}

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

/**
 * Adds the times of an ended block to its context (sections 15.3 and 5.3 of the MemProf format description).
 */
@inline
export function addTimes(mib: usize, start: u32, time: u32): void {
  if (start < load<u32>(mib, Context.deallocTimestamp)) bump32(mib, Context.overlaps, 1);
  store<u32>(mib, start, Context.allocTimestamp);
  store<u32>(mib, time, Context.deallocTimestamp);
  bump64(mib, Context.totalLifetime, time - start);
}

/**
 * Adds `count` blocks that differ in their lifetimes only. The lifetimes and their densities lie between the
 * given bounds.
 */
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
