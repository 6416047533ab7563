import { now } from "./clock";
import { contextOf } from "./context";
import { addHistogram } from "./histogram";
import { SHORTEST_MARKED, takeMarks } from "./marks";
import {
  C_ALLOCATIONS, C_HIGH_WATER, C_INSTANCE, C_LIVE_BLOCKS, C_LIVE_BYTES, C_MISALIGNED, C_NULL_FREES, C_OTHER_ACCESSES,
  C_OUTSIDE, C_OVERFLOW_BLOCKS, C_OVERLAPS, C_PEAK_BLOCKS, C_PEAK_BYTES, C_PEAK_STAMP, C_RECORD_FREE, C_RECORD_NEXT,
  C_SHARED_GRANULES, C_UNFOLLOWED_BYTES, C_UNFOLLOWED_FREES, C_UNMATCHED_FREES, CONTROL, COVERED, EXACT, HISTOGRAMS, M_ALLOC_COUNT,
  M_ALLOC_CPU, M_ALLOC_TIMESTAMP, M_DEALLOC_CPU, M_DEALLOC_TIMESTAMP, M_GRANULES_TOUCHED, M_LAST_ACCESSES,
  M_LAST_DENSITY, M_LAST_SIZE, M_LIVE_BLOCKS, M_LIVE_BYTES, M_MAX_ACCESSES, M_MAX_SIZE, M_MIGRATED, M_MIN_ACCESSES, M_MIN_SIZE,
  M_NEVER_ACCESSED, M_NEVER_ACCESSED_BYTES, M_NEVER_READ, M_NEVER_READ_BYTES, M_PEAK_BLOCKS, M_PEAK_BYTES, M_PEAK_STAMP,
  M_REALLOCATIONS, M_TEMPORARY, M_TOTAL_ACCESSES, M_TOTAL_LIFETIME, M_TOTAL_LIFETIME_DENSITY, MIB_SIZE, MIBS, R_ADDRESS,
  R_FOLDED, R_INSTANCE, R_MIB, R_NEXT, R_SIZE, R_TIME, RECORD_CAPACITY, RECORD_SIZE, RECORDS, SLOTS, WALL_CLOCK,
} from "./layout";

/**
 * Counters of up to this many bytes are read one by one: a vector load of what was just written counter by counter
 * would have to wait for all of those stores.
 */
const SMALL_BLOCK_COUNTERS: u32 = 64;

@inline function bump32(at: usize, by: u32): void { store<u32>(at, load<u32>(at) + by); }
@inline function bump64(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }
@inline function recordAt(index: u32): usize { return RECORDS + index * RECORD_SIZE; }
@inline function slotOf(address: u32): usize { return SLOTS + ((address >>> 4) << 2); }

/** Adds bytes and blocks to a context's live figures, first keeping what it held at the last peak. */
@inline function changeLive(mib: usize, bytes: u64, blocks: u32): void {
  const live = load<u64>(mib, M_LIVE_BYTES);
  const count = load<u32>(mib, M_LIVE_BLOCKS);
  const stamp = load<u32>(CONTROL, C_PEAK_STAMP);
  if (load<u32>(mib, M_PEAK_STAMP) != stamp) {
    store<u64>(mib, live, M_PEAK_BYTES);
    store<u32>(mib, count, M_PEAK_BLOCKS);
    store<u32>(mib, stamp, M_PEAK_STAMP);
  }
  store<u64>(mib, live + bytes, M_LIVE_BYTES);
  store<u32>(mib, count + blocks, M_LIVE_BLOCKS);
}

function freshRecord(): u32 {
  const next = load<u32>(CONTROL, C_RECORD_NEXT) + 1;
  if (next >= RECORD_CAPACITY) return 0;
  store<u32>(CONTROL, next, C_RECORD_NEXT);
  return next;
}

/** Index of the record of the live block at `address`, 0 when there is none. */
@inline function findRecord(address: u32): u32 {
  let index = load<u32>(slotOf(address));
  while (index != 0 && load<u32>(recordAt(index), R_ADDRESS) != address) index = load<u32>(recordAt(index), R_NEXT);
  return index;
}

function unlinkFromChain(slot: usize, index: u32, next: u32): void {
  let at = load<u32>(slot);
  while (load<u32>(recordAt(at), R_NEXT) != index) at = load<u32>(recordAt(at), R_NEXT);
  store<u32>(recordAt(at), next, R_NEXT);
}

/** Another live block starts in the same 16 bytes, or this very block was never seen to end. */
function meetNeighbours(address: u32, size: u32): void {
  const stale = findRecord(address);
  if (stale != 0) {
    // Its release was not seen. It ends here, or its successor would inherit it.
    bump32(CONTROL + C_OVERLAPS, 1);
    release(address, stale, false);
  }
  let index = load<u32>(slotOf(address));
  while (index != 0) {
    const other = recordAt(index);
    const otherAddress = load<u32>(other, R_ADDRESS);
    const otherEnd = otherAddress + load<u32>(other, R_SIZE);
    // Two live blocks in one counter granule are said in the profile, never guessed apart.
    if (address < otherEnd && otherAddress < address + size) bump32(CONTROL + C_OVERLAPS, 1);
    else if ((otherEnd - 1) >>> 3 == address >>> 3 || otherAddress >>> 3 == (address + size - 1) >>> 3)
      bump32(CONTROL + C_SHARED_GRANULES, 1);
    index = load<u32>(other, R_NEXT);
  }
}

/** Counters that are not clean though no block is live there: accesses to freed memory belong to nobody. */
function cleanCounters(from: u32, to: u32): void {
  let sum: u64 = 0;
  for (let at = from; at < to; at += 4) {
    const counter = load<u32>(at);
    if (counter == 0) continue;
    sum += counter >>> 1;
    store<u32>(at, 0);
  }
  bump64(CONTROL + C_OTHER_ACCESSES, sum);
}

/** Whether one of the counters in `[from, to)` is not zero. */
@inline function anyCounter(from: u32, to: u32): bool {
  let at = from;
  let any: u32 = 0;
  if (to - from > SMALL_BLOCK_COUNTERS) {
    let wide = v128.load(at);
    for (at += 16; to - at >= 16; at += 16) wide = v128.or(wide, v128.load(at));
    any = v128.any_true(wide) ? 1 : 0;
  }
  for (; at < to; at += 4) any |= load<u32>(at);
  return any != 0;
}

/** Makes sure that a new block starts with clean counters and marks, whoever used its memory before. */
@inline function claimCounters(address: u32, size: u32): void {
  const end = address + size;
  const from: u32 = (address >>> 3) << 2;
  const to: u32 = ((end + 7) >>> 3) << 2;
  if (anyCounter(from, to)) cleanCounters(from, to);
  if (EXACT == 0 && size >= SHORTEST_MARKED) takeMarks(address, size);
  if (end > load<u32>(CONTROL, C_HIGH_WATER)) store<u32>(CONTROL, (end + 7) & ~7, C_HIGH_WATER);
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
  if (address & 7) bump32(CONTROL + C_MISALIGNED, 1);
  const slot = slotOf(address);
  if (load<u32>(slot) != 0) meetNeighbours(address, size);

  const mibIndex = contextOf(sp, self);
  bump64(CONTROL + C_ALLOCATIONS, 1);
  const time = now();
  let index = load<u32>(CONTROL, C_RECORD_FREE);
  if (index != 0) store<u32>(CONTROL, load<u32>(recordAt(index), R_NEXT), C_RECORD_FREE);
  else {
    index = freshRecord();
    if (index == 0) {
      bump32(CONTROL + C_OVERFLOW_BLOCKS, 1);
      bump64(CONTROL + C_UNFOLLOWED_BYTES, size);
      return;
    }
  }
  const record = recordAt(index);
  store<u64>(record, <u64>address | (<u64>size << 32), R_ADDRESS);
  store<u64>(record, <u64>mibIndex | (<u64>time << 32), R_MIB);
  store<u64>(record, <u64>load<u32>(slot) | (load<u64>(CONTROL, C_INSTANCE) << 32), R_NEXT);
  store<u64>(record, 0, R_FOLDED);
  store<u32>(slot, index);
  claimCounters(address, size);

  changeLive(MIBS + mibIndex * MIB_SIZE, size, 1);
  const live = load<u64>(CONTROL, C_LIVE_BYTES) + size;
  store<u64>(CONTROL, live, C_LIVE_BYTES);
  bump64(CONTROL + C_LIVE_BLOCKS, 1);
  if (live > load<u64>(CONTROL, C_PEAK_BYTES)) {
    store<u64>(CONTROL, live, C_PEAK_BYTES);
    store<u32>(CONTROL, load<u32>(CONTROL, C_LIVE_BLOCKS), C_PEAK_BLOCKS);
    bump32(CONTROL + C_PEAK_STAMP, 1);
  }
}

@inline function divide(dividend: u64, divisor: u32): u64 {
  return dividend >> 32 == 0 ? <u64>(<u32>dividend / divisor) : dividend / divisor;
}

/** Accesses per byte, times 100. Blocks of one context tend to be alike: the last answer often serves again. */
@inline function densityOf(mib: usize, accesses: u64, size: u32): u64 {
  if (load<u64>(mib, M_LAST_ACCESSES) == accesses && load<u32>(mib, M_LAST_SIZE) == size)
    return load<u32>(mib, M_LAST_DENSITY);
  const density = divide(accesses * 100, size);
  if (density >> 32 == 0) {
    store<u64>(mib, accesses, M_LAST_ACCESSES);
    store<u64>(mib, <u64>size | (density << 32), M_LAST_SIZE);
  }
  return density;
}

@inline function pair(low: u64, high: u64): v128 { return i64x2.replace_lane(i64x2.splat(low), 1, high); }

/** One ended block joins its context's figures: sections 15.3 and 5.3 of the MemProf format description. */
@inline function finish(mib: usize, accesses: u64, size: u32, allocTime: u32, freeTime: u32, allocCpu: u32, cpu: u32, granules: u32): void {
  const lifetime = freeTime - allocTime;
  const density = densityOf(mib, accesses, size);
  const lifetimeDensity = lifetime <= 1 ? density * 1000 : divide(density * 1000, lifetime);
  v128.store(mib, i64x2.add(v128.load(mib, M_TOTAL_ACCESSES), pair(accesses, size)), M_TOTAL_ACCESSES);
  v128.store(mib, i64x2.add(v128.load(mib, M_TOTAL_LIFETIME), pair(lifetime, density)), M_TOTAL_LIFETIME);
  v128.store(
    mib,
    i64x2.add(v128.load(mib, M_TOTAL_LIFETIME_DENSITY), pair(lifetimeDensity, granules)),
    M_TOTAL_LIFETIME_DENSITY,
  );
  const extremes = pair(<u64>size | (<u64>lifetime << 32), (density & 0xffffffff) | (lifetimeDensity << 32));
  v128.store(mib, i32x4.min_u(v128.load(mib, M_MIN_SIZE), extremes), M_MIN_SIZE);
  v128.store(mib, i32x4.max_u(v128.load(mib, M_MAX_SIZE), extremes), M_MAX_SIZE);
  if (accesses < load<u64>(mib, M_MIN_ACCESSES)) store<u64>(mib, accesses, M_MIN_ACCESSES);
  if (accesses > load<u64>(mib, M_MAX_ACCESSES)) store<u64>(mib, accesses, M_MAX_ACCESSES);
  const overlaps: u64 = allocTime < load<u32>(mib, M_DEALLOC_TIMESTAMP) ? 1 : 0;
  const sameAlloc: u64 = allocCpu == load<u32>(mib, M_ALLOC_CPU) ? 1 : 0;
  const sameDealloc: u64 = cpu == load<u32>(mib, M_DEALLOC_CPU) ? 1 : 0;
  const counts = v128.load(mib, M_ALLOC_COUNT);
  if (allocCpu != cpu && i32x4.extract_lane(counts, 0) == 0) store<u32>(mib, 1, M_MIGRATED);
  v128.store(mib, i32x4.add(counts, pair((overlaps << 32) | 1, sameAlloc | (sameDealloc << 32))), M_ALLOC_COUNT);
  v128.store(
    mib,
    pair(<u64>allocTime | (<u64>freeTime << 32), <u64>allocCpu | (<u64>cpu << 32)),
    M_ALLOC_TIMESTAMP,
  );
  if (WALL_CLOCK == 0 && lifetime <= 1) bump32(mib + M_TEMPORARY, 1);
}

/** Ends a block. `copied`: its contents live on in the block that reallocation made. */
@inline function endBlock(address: u32, index: u32, copied: bool): void {
  const record = recordAt(index);
  const size = load<u32>(record, R_SIZE);
  const mib: usize = MIBS + load<u32>(record, R_MIB) * MIB_SIZE;
  if (HISTOGRAMS != 0) addHistogram(mib, address, size);

  // Adds up the block's counters and cleans them.
  let at: u32 = (address >>> 3) << 2;
  const end: u32 = (((address + size - 1) >>> 3) << 2) + 4;
  const granules = (end - at) >>> 2;
  let touched: u32 = EXACT == 0 && size >= SHORTEST_MARKED ? takeMarks(address, size) : 0;
  let accesses = load<u64>(record, R_FOLDED);
  let flags: u32 = 0;
  if (end - at > SMALL_BLOCK_COUNTERS) {
    let wide = i64x2.splat(0);
    let all = i64x2.splat(0);
    for (; end - at >= 16; at += 16) {
      const counters = v128.load(at);
      if (v128.any_true(counters)) {
        all = v128.or(all, counters);
        const counts = i32x4.shr_u(counters, 1);
        wide = i64x2.add(wide, i64x2.add(i64x2.extend_low_i32x4_u(counts), i64x2.extend_high_i32x4_u(counts)));
        touched += popcnt(i32x4.bitmask(i32x4.ne(counters, i32x4.splat(0))));
        v128.store(at, i64x2.splat(0));
      }
    }
    accesses += i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
    flags = v128.any_true(v128.and(all, i32x4.splat(1))) ? 1 : 0;
  }
  for (; at < end; at += 4) {
    const counter = load<u32>(at);
    if (counter != 0) {
      accesses += counter >>> 1;
      touched++;
      flags |= counter;
      store<u32>(at, 0);
    }
  }

  bump64(mib + M_GRANULES_TOUCHED, touched);
  if ((flags & 1) == 0 && !copied) countUnread(mib, accesses, size);
  finish(
    mib, accesses, size, load<u32>(record, R_TIME), now(), load<u32>(record, R_INSTANCE), load<u32>(CONTROL, C_INSTANCE),
    granules,
  );
  changeLive(mib, 0 - <u64>size, -1);
  bump64(CONTROL + C_LIVE_BYTES, 0 - <u64>size);
  bump64(CONTROL + C_LIVE_BLOCKS, -1);
  const slot = slotOf(address);
  const next = load<u32>(record, R_NEXT);
  if (load<u32>(slot) == index) store<u32>(slot, next);
  else unlinkFromChain(slot, index, next);
  store<u32>(record, 0, R_ADDRESS);
  store<u32>(record, load<u32>(CONTROL, C_RECORD_FREE), R_NEXT);
  store<u32>(CONTROL, index, C_RECORD_FREE);
}

function release(address: u32, index: u32, copied: bool): void {
  endBlock(address, index, copied);
}

function countUnread(mib: usize, accesses: u64, size: u32): void {
  if (accesses == 0) {
    bump32(mib + M_NEVER_ACCESSED, 1);
    bump64(mib + M_NEVER_ACCESSED_BYTES, size);
  } else {
    bump32(mib + M_NEVER_READ, 1);
    bump64(mib + M_NEVER_READ_BYTES, size);
  }
}

/** A block that is not known ends: one of those beyond the bound, as long as there are any. */
function unmatched(): void {
  if (load<u32>(CONTROL, C_UNFOLLOWED_FREES) < load<u32>(CONTROL, C_OVERFLOW_BLOCKS)) bump32(CONTROL + C_UNFOLLOWED_FREES, 1);
  else bump32(CONTROL + C_UNMATCHED_FREES, 1);
}

function releaseAt(address: u32, copied: bool): void {
  if (address >= COVERED) {
    bump32(CONTROL + C_OUTSIDE, 1);
    return;
  }
  const index = findRecord(address);
  if (index != 0) release(address, index, copied);
  else unmatched();
}

/** The program gives a block back. Called before the allocator's own function runs. */
export function released(address: u32): void {
  if (address == 0) bump32(CONTROL + C_NULL_FREES, 1);
  else if (address >= COVERED) bump32(CONTROL + C_OUTSIDE, 1);
  else {
    const index = findRecord(address);
    if (index != 0) endBlock(address, index, false);
    else unmatched();
  }
}

/** After a reallocation: the old block has ended and a new one begins, also where the address stayed. */
export function reallocated(old: u32, address: u32, size: u32, sp: u32, self: u32): void {
  if (address == 0) {
    // Null for size 0 means that the block was freed; for any other size it means that nothing happened.
    if (size == 0 && old != 0) released(old);
    return;
  }
  if (old != 0) releaseAt(old, true);
  allocated(address, size, sp, self);
  if (old != 0) {
    const index = findRecord(address);
    if (index != 0) bump32(MIBS + load<u32>(recordAt(index), R_MIB) * MIB_SIZE + M_REALLOCATIONS, 1);
  }
}
