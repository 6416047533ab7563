import { allocatedAnyhow, endBlock, releasedAnyhow } from "./blocks";
import { knownContext } from "./known-context";
import {
  C_ALLOCATIONS, C_LIVE, CONTROL, COVERED, EXACT, LARGEST_SMALL, M_LIVE, R_ADDRESS, R_KEY, R_MIB, R_TIME, RECORDS, S_OWNER,
  WALL_CLOCK,
} from "./layout";
import { keepPeak, liveUnit, noticePeak } from "./live";
import { slotOf } from "./records";
import { addToShape, hasPattern, ownerOf, shapeOf } from "./shapes";
import { highMask, lowMask, maskOf } from "./small-counters";

// These two run with every block, so every instruction counts. They do the common case: a small block where there was
// one before, from a context that is known. Everything else is found out before the first store and left to functions
// that can do all cases. Nothing else is called: calls would keep values out of registers. One comparison per branch:
// where two are joined, their results have to be made numbers first.

/** A block of `size` bytes was handed out at `address` (0: the allocation failed) to the newest frame's call. */
export function allocated(address: u32, size: u32, frame: u32, self: u32): void {
  if (size - 1 >= LARGEST_SMALL) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  if (EXACT != 0 || WALL_CLOCK != 0) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  // Null, or so high that the block might end out of reach.
  if (address - 1 >= COVERED - LARGEST_SMALL) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  // An ended block's record that is alone at its slot. So its address is aligned and lies in reach.
  const record: usize = RECORDS + load<u32>(slotOf(address));
  if (load<u32>(record, R_ADDRESS) != address) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  if (load<u32>(record, R_KEY) != 0) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  const mib = knownContext(frame);
  if (mib == 0) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  const at = address >>> 1;
  const mask = maskOf(size);
  const dirty = v128.or(v128.and(v128.load(at), lowMask(mask)), v128.and(v128.load(at, 16), highMask(mask)));
  if (v128.any_true(dirty)) {
    allocatedAnyhow(address, size, frame, self);
    return;
  }
  const time = load<u64>(CONTROL, C_ALLOCATIONS) + 1;
  store<u64>(CONTROL, time, C_ALLOCATIONS);
  store<u32>(record, size, R_KEY);
  store<u32>(record, mib, R_MIB);
  store<u32>(record, <u32>time, R_TIME);
  keepPeak(mib);
  const unit = liveUnit(size);
  store<u64>(mib, load<u64>(mib, M_LIVE) + unit, M_LIVE);
  store<u64>(CONTROL, load<u64>(CONTROL, C_LIVE) + unit, C_LIVE);
}

/** The program gives a block back. Called before the allocator's own function runs. */
export function released(address: u32): void {
  if (EXACT != 0 || WALL_CLOCK != 0) {
    releasedAnyhow(address, false);
    return;
  }
  if (address >= COVERED) {
    releasedAnyhow(address, false);
    return;
  }
  const record: usize = RECORDS + load<u32>(slotOf(address));
  if (load<u32>(record, R_ADDRESS) != address) {
    releasedAnyhow(address, false);
    return;
  }
  const size = load<u32>(record, R_KEY);
  if (size - 1 >= LARGEST_SMALL) {
    releasedAnyhow(address, false);
    return;
  }
  const mib: usize = load<u32>(record, R_MIB);
  const at = address >>> 1;
  const mask = maskOf(size);
  const allLow = v128.load(at);
  const allHigh = v128.load(at, 16);
  const low = v128.and(allLow, lowMask(mask));
  const high = v128.and(allHigh, highMask(mask));
  const shape = shapeOf(mib, at, size);
  if (load<u64>(shape, S_OWNER) != ownerOf(mib, size)) {
    endBlock(record, false);
    return;
  }
  if (!hasPattern(shape, low, high)) {
    endBlock(record, false);
    return;
  }
  // What is left is what lies outside of the block.
  v128.store(at, v128.xor(allLow, low));
  v128.store(at, v128.xor(allHigh, high), 16);
  store<u32>(record, 0, R_KEY);
  const unit = liveUnit(size);
  store<u64>(CONTROL, noticePeak() - unit, C_LIVE);
  keepPeak(mib);
  store<u64>(mib, load<u64>(mib, M_LIVE) - unit, M_LIVE);
  addToShape(shape, mib, load<u32>(record, R_TIME), load<u32>(CONTROL, C_ALLOCATIONS));
}
