import { now } from "./clock";
import { contextOf } from "./context";
import { lastRead, lastSum, lastTouched, takeCounters } from "./counters";
import { addHistogram } from "./histogram";
import {
  C_ALLOCATED_BYTES, C_ALLOCATIONS, C_CLOCK, C_FREED_ACCESSES, C_FREES, C_HIGH_WATER, C_INSTANCE, C_LIVE_BLOCKS,
  C_LIVE_BYTES, C_MISALIGNED, C_NULL_FREES, C_OTHER_ACCESSES, C_OUTSIDE, C_OVERFLOW_BLOCKS, C_OVERLAPS, C_PEAK_BLOCKS,
  C_PEAK_BYTES, C_PEAK_STAMP, C_RECORD_FREE, C_RECORD_NEXT, C_SHARED_GRANULES, C_UNMATCHED_FREES, CONTROL, COVERED,
  HISTOGRAMS, M_ALLOC_COUNT, M_ALLOC_CPU, M_ALLOC_TIMESTAMP, M_DEALLOC_CPU, M_DEALLOC_TIMESTAMP, M_GRANULES,
  M_GRANULES_TOUCHED, M_LIVE_BLOCKS, M_LIVE_BYTES, M_MAX_ACCESSES, M_MAX_DENSITY, M_MAX_LIFETIME,
  M_MAX_LIFETIME_DENSITY, M_MAX_SIZE, M_MIGRATED, M_MIN_ACCESSES, M_MIN_DENSITY, M_MIN_LIFETIME, M_MIN_LIFETIME_DENSITY,
  M_MIN_SIZE, M_NEVER_ACCESSED, M_NEVER_ACCESSED_BYTES, M_NEVER_READ, M_NEVER_READ_BYTES, M_OVERLAPS, M_PEAK_BLOCKS,
  M_PEAK_BYTES, M_PEAK_STAMP, M_REALLOCATIONS, M_SAME_ALLOC_CPU, M_SAME_DEALLOC_CPU, M_TEMPORARY, M_TOTAL_ACCESSES, M_TOTAL_DENSITY,
  M_TOTAL_LIFETIME, M_TOTAL_LIFETIME_DENSITY, M_TOTAL_SIZE, MIB_SIZE, MIBS, R_ADDRESS, R_FOLDED, R_INSTANCE, R_MIB,
  R_NEXT, R_SIZE, R_TIME, RECORD_CAPACITY, RECORD_SIZE, RECORDS, SLOTS, WALL_CLOCK,
} from "./layout";

@inline function bump32(at: usize, by: u32): void { store<u32>(at, load<u32>(at) + by); }
@inline function bump64(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }
@inline function recordAt(index: u32): usize { return RECORDS + index * RECORD_SIZE; }
@inline function slotOf(address: u32): usize { return SLOTS + ((address >>> 4) << 2); }

/** Before a context's live figures change: what it held at the last peak. */
@inline function keepPeak(mib: usize): void {
  const stamp = load<u32>(CONTROL, C_PEAK_STAMP);
  if (load<u32>(mib, M_PEAK_STAMP) == stamp) return;
  store<u64>(mib, load<u64>(mib, M_LIVE_BYTES), M_PEAK_BYTES);
  store<u32>(mib, load<u32>(mib, M_LIVE_BLOCKS), M_PEAK_BLOCKS);
  store<u32>(mib, stamp, M_PEAK_STAMP);
}

function takeRecord(): u32 {
  const free = load<u32>(CONTROL, C_RECORD_FREE);
  if (free != 0) {
    store<u32>(CONTROL, load<u32>(recordAt(free), R_NEXT), C_RECORD_FREE);
    return free;
  }
  const next = load<u32>(CONTROL, C_RECORD_NEXT) + 1;
  if (next >= RECORD_CAPACITY) return 0;
  store<u32>(CONTROL, next, C_RECORD_NEXT);
  return next;
}

/** Index of the record of the live block at `address`, 0 when there is none. */
function findRecord(address: u32): u32 {
  let index = load<u32>(slotOf(address));
  while (index != 0 && load<u32>(recordAt(index), R_ADDRESS) != address) index = load<u32>(recordAt(index), R_NEXT);
  return index;
}

function unlink(address: u32, index: u32): void {
  const slot = slotOf(address);
  const next = load<u32>(recordAt(index), R_NEXT);
  let at = load<u32>(slot);
  if (at == index) {
    store<u32>(slot, next);
    return;
  }
  while (load<u32>(recordAt(at), R_NEXT) != index) at = load<u32>(recordAt(at), R_NEXT);
  store<u32>(recordAt(at), next, R_NEXT);
}

/** Two live blocks in one counter granule, or a block on top of another: said in the profile, never guessed away. */
function checkNeighbours(address: u32, size: u32): void {
  let index = load<u32>(slotOf(address));
  while (index != 0) {
    const other = recordAt(index);
    const otherAddress = load<u32>(other, R_ADDRESS);
    const otherEnd = otherAddress + load<u32>(other, R_SIZE);
    if (address < otherEnd && otherAddress < address + size) bump32(CONTROL + C_OVERLAPS, 1);
    else if ((otherEnd - 1) >>> 3 == address >>> 3 || otherAddress >>> 3 == (address + size - 1) >>> 3)
      bump32(CONTROL + C_SHARED_GRANULES, 1);
    index = load<u32>(other, R_NEXT);
  }
}

/** A block of `size` bytes was handed out at `address` (0: the allocation failed). */
export function allocated(address: u32, size: u32, sp: u32, self: u32): void {
  if (address == 0) return;
  if (size == 0) size = 1;
  const end = address + size;
  if (end > COVERED || end < address) {
    bump32(CONTROL + C_OUTSIDE, 1);
    return;
  }
  if (address & 7) {
    bump32(CONTROL + C_MISALIGNED, 1);
  }
  const stale = findRecord(address);
  if (stale != 0) {
    // Its release was not seen. It ends here, or its successor would inherit it.
    bump32(CONTROL + C_OVERLAPS, 1);
    release(address, stale, false);
  } else if (load<u32>(slotOf(address)) != 0) checkNeighbours(address, size);

  const mibIndex = contextOf(sp, self);
  const mib: usize = MIBS + mibIndex * MIB_SIZE;
  bump64(CONTROL + C_ALLOCATIONS, 1);
  bump64(CONTROL + C_ALLOCATED_BYTES, size);
  bump32(CONTROL + C_CLOCK, 1);
  const time = now();

  const index = takeRecord();
  if (index == 0) {
    bump32(CONTROL + C_OVERFLOW_BLOCKS, 1);
    return;
  }
  const record = recordAt(index);
  const slot = slotOf(address);
  store<u32>(record, address, R_ADDRESS);
  store<u32>(record, size, R_SIZE);
  store<u32>(record, mibIndex, R_MIB);
  store<u32>(record, time, R_TIME);
  store<u32>(record, load<u32>(slot), R_NEXT);
  store<u32>(record, load<u32>(CONTROL, C_INSTANCE), R_INSTANCE);
  store<u64>(record, 0, R_FOLDED);
  store<u32>(slot, index);

  // Above the high water mark no block has ever been: those counters are clean.
  const highWater = load<u32>(CONTROL, C_HIGH_WATER);
  if (address < highWater) {
    takeCounters(address, (end < highWater ? end : highWater) - address);
    bump64(CONTROL + C_OTHER_ACCESSES, lastSum());
  }
  if (end > highWater) store<u32>(CONTROL, (end + 7) & ~7, C_HIGH_WATER);

  keepPeak(mib);
  bump64(mib + M_LIVE_BYTES, size);
  bump32(mib + M_LIVE_BLOCKS, 1);
  const live = load<u64>(CONTROL, C_LIVE_BYTES) + size;
  const blocks = load<u32>(CONTROL, C_LIVE_BLOCKS) + 1;
  store<u64>(CONTROL, live, C_LIVE_BYTES);
  store<u32>(CONTROL, blocks, C_LIVE_BLOCKS);
  if (live > load<u64>(CONTROL, C_PEAK_BYTES)) {
    store<u64>(CONTROL, live, C_PEAK_BYTES);
    store<u32>(CONTROL, blocks, C_PEAK_BLOCKS);
    bump32(CONTROL + C_PEAK_STAMP, 1);
  }
}

@inline function bumpMin32(at: usize, value: u32): void { if (value < load<u32>(at)) store<u32>(at, value); }
@inline function bumpMax32(at: usize, value: u32): void { if (value > load<u32>(at)) store<u32>(at, value); }

@inline function divide(dividend: u64, divisor: u32): u64 {
  return dividend >> 32 == 0 ? <u64>(<u32>dividend / divisor) : dividend / divisor;
}

/** One ended block joins its context's figures: sections 15.3 and 5.3 of the MemProf format description. */
function finish(mib: usize, accesses: u64, size: u32, allocTime: u32, freeTime: u32, allocCpu: u32, cpu: u32): void {
  const lifetime = freeTime - allocTime;
  const density = divide(accesses * 100, size);
  const lifetimeDensity = divide(density * 1000, lifetime == 0 ? 1 : lifetime);
  if (WALL_CLOCK == 0 && lifetime <= 1) bump32(mib + M_TEMPORARY, 1);
  bump64(mib + M_TOTAL_ACCESSES, accesses);
  bump64(mib + M_TOTAL_SIZE, size);
  bump64(mib + M_TOTAL_LIFETIME, lifetime);
  bump64(mib + M_TOTAL_DENSITY, density);
  bump64(mib + M_TOTAL_LIFETIME_DENSITY, lifetimeDensity);
  const count = load<u32>(mib, M_ALLOC_COUNT);
  store<u32>(mib, count + 1, M_ALLOC_COUNT);
  if (count == 0) {
    store<u64>(mib, accesses, M_MIN_ACCESSES);
    store<u64>(mib, accesses, M_MAX_ACCESSES);
    store<u32>(mib, size, M_MIN_SIZE);
    store<u32>(mib, size, M_MAX_SIZE);
    store<u32>(mib, lifetime, M_MIN_LIFETIME);
    store<u32>(mib, lifetime, M_MAX_LIFETIME);
    store<u32>(mib, <u32>density, M_MIN_DENSITY);
    store<u32>(mib, <u32>density, M_MAX_DENSITY);
    store<u32>(mib, <u32>lifetimeDensity, M_MIN_LIFETIME_DENSITY);
    store<u32>(mib, <u32>lifetimeDensity, M_MAX_LIFETIME_DENSITY);
    store<u32>(mib, allocCpu != cpu ? 1 : 0, M_MIGRATED);
  } else {
    if (accesses < load<u64>(mib, M_MIN_ACCESSES)) store<u64>(mib, accesses, M_MIN_ACCESSES);
    if (accesses > load<u64>(mib, M_MAX_ACCESSES)) store<u64>(mib, accesses, M_MAX_ACCESSES);
    bumpMin32(mib + M_MIN_SIZE, size);
    bumpMax32(mib + M_MAX_SIZE, size);
    bumpMin32(mib + M_MIN_LIFETIME, lifetime);
    bumpMax32(mib + M_MAX_LIFETIME, lifetime);
    bumpMin32(mib + M_MIN_DENSITY, <u32>density);
    bumpMax32(mib + M_MAX_DENSITY, <u32>density);
    bumpMin32(mib + M_MIN_LIFETIME_DENSITY, <u32>lifetimeDensity);
    bumpMax32(mib + M_MAX_LIFETIME_DENSITY, <u32>lifetimeDensity);
    if (allocTime < load<u32>(mib, M_DEALLOC_TIMESTAMP)) bump32(mib + M_OVERLAPS, 1);
    if (allocCpu == load<u32>(mib, M_ALLOC_CPU)) bump32(mib + M_SAME_ALLOC_CPU, 1);
    if (cpu == load<u32>(mib, M_DEALLOC_CPU)) bump32(mib + M_SAME_DEALLOC_CPU, 1);
  }
  store<u32>(mib, allocTime, M_ALLOC_TIMESTAMP);
  store<u32>(mib, freeTime, M_DEALLOC_TIMESTAMP);
  store<u32>(mib, allocCpu, M_ALLOC_CPU);
  store<u32>(mib, cpu, M_DEALLOC_CPU);
}

/** Ends a block. `copied`: its contents live on in the block that reallocation made. */
function release(address: u32, index: u32, copied: bool): void {
  const record = recordAt(index);
  const size = load<u32>(record, R_SIZE);
  const mib: usize = MIBS + load<u32>(record, R_MIB) * MIB_SIZE;
  if (HISTOGRAMS != 0) addHistogram(mib, address, size);
  takeCounters(address, size);
  const accesses = lastSum() + load<u64>(record, R_FOLDED);
  const granules = ((address + size - 1) >>> 3) - (address >>> 3) + 1;
  bump64(CONTROL + C_FREED_ACCESSES, accesses);
  bump64(mib + M_GRANULES, granules);
  bump64(mib + M_GRANULES_TOUCHED, lastTouched());
  if (accesses == 0) {
    if (!copied) {
      bump32(mib + M_NEVER_ACCESSED, 1);
      bump64(mib + M_NEVER_ACCESSED_BYTES, size);
    }
  } else if (!lastRead() && !copied) {
    bump32(mib + M_NEVER_READ, 1);
    bump64(mib + M_NEVER_READ_BYTES, size);
  }
  finish(mib, accesses, size, load<u32>(record, R_TIME), now(), load<u32>(record, R_INSTANCE), load<u32>(CONTROL, C_INSTANCE));
  keepPeak(mib);
  bump64(mib + M_LIVE_BYTES, 0 - <u64>size);
  bump32(mib + M_LIVE_BLOCKS, -1);
  bump64(CONTROL + C_LIVE_BYTES, 0 - <u64>size);
  bump32(CONTROL + C_LIVE_BLOCKS, -1);
  unlink(address, index);
  store<u32>(record, 0, R_ADDRESS);
  store<u32>(record, load<u32>(CONTROL, C_RECORD_FREE), R_NEXT);
  store<u32>(CONTROL, index, C_RECORD_FREE);
}

function releaseAt(address: u32, copied: bool): void {
  if (address >= COVERED) {
    bump32(CONTROL + C_OUTSIDE, 1);
    return;
  }
  const index = findRecord(address);
  if (index == 0) bump32(CONTROL + C_UNMATCHED_FREES, 1);
  else release(address, index, copied);
}

/** The program gives a block back. Called before the allocator's own function runs. */
export function released(address: u32): void {
  if (address == 0) {
    bump32(CONTROL + C_NULL_FREES, 1);
    return;
  }
  bump64(CONTROL + C_FREES, 1);
  releaseAt(address, false);
}

/** After a reallocation: the old block has ended and a new one begins, also where the address stayed. */
export function reallocated(old: u32, address: u32, size: u32, sp: u32, self: u32): void {
  if (address == 0) {
    // Null for size 0 means that the block was freed; for any other size it means that nothing happened.
    if (size == 0 && old != 0) released(old);
    return;
  }
  if (old != 0) {
    bump64(CONTROL + C_FREES, 1);
    releaseAt(old, true);
  }
  allocated(address, size, sp, self);
  if (old != 0) {
    const index = findRecord(address);
    if (index != 0) bump32(MIBS + load<u32>(recordAt(index), R_MIB) * MIB_SIZE + M_REALLOCATIONS, 1);
  }
}
