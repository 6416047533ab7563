import { now } from "./clock";
import { contextOf, prepareContexts } from "./context";
import { claimCounters, countBlock } from "./counters";
import {
  C_ALLOCATIONS, C_HIGH_WATER, C_KEEP_NONE, C_LIVE, C_MISALIGNED, C_NULL_FREES, C_OUTSIDE, C_OVERFLOW_BLOCKS,
  C_OVERLAPS, C_SHARED_GRANULES, C_UNFOLLOWED_FREES, C_UNMATCHED_FREES, CONTROL, COVERED, LARGEST_SMALL, M_LIVE,
  M_REALLOCATIONS, R_ADDRESS, R_FOLDED, R_KEY, R_MIB, R_NEXT, R_SIZE, R_TIME, RECORDS, UNUSUAL,
} from "./layout";
import { keepPeak, liveUnit, noticePeak } from "./live";
import { bump32, bump64, findRecord, retire, sizeOf, slotOf, takeRecord } from "./records";
import { makeMasks } from "./small-counters";

/** The high water mark rises in such steps. */
const WATER_STEP: u32 = 4096;

/** Before the first block. */
function prepare(): void {
  store<u32>(RECORDS, -1, R_ADDRESS);
  makeMasks();
  prepareContexts();
}

/** Another live block starts in the same 16 bytes, or this very block was never seen to end. */
function meetNeighbours(address: u32, size: u32): void {
  const stale = findRecord(address);
  if (stale != 0) {
    // Its release was not seen. It ends here, or its successor would inherit it.
    bump32(CONTROL, C_OVERLAPS, 1);
    endBlock(stale, false);
  }
  let offset = load<u32>(slotOf(address));
  while (offset != 0) {
    const other: usize = RECORDS + offset;
    offset = load<u32>(other, R_NEXT);
    const otherSize = sizeOf(other);
    if (otherSize == 0) continue;
    const otherAddress = load<u32>(other, R_ADDRESS);
    const otherEnd = otherAddress + otherSize;
    // Two live blocks in one counter granule are said in the profile, never guessed apart.
    if (address < otherEnd && otherAddress < address + size) bump32(CONTROL, C_OVERLAPS, 1);
    else if ((otherEnd - 1) >>> 3 == address >>> 3 || otherAddress >>> 3 == (address + size - 1) >>> 3)
      bump32(CONTROL, C_SHARED_GRANULES, 1);
  }
}

function raiseHighWater(last: u32): void {
  const mark = (last | (WATER_STEP - 1)) + 1;
  store<u32>(CONTROL, mark == 0 || mark > COVERED ? COVERED : mark, C_HIGH_WATER);
}

/** A block was handed out: any one. Parameters as for `allocated`. */
export function allocatedAnyhow(address: u32, size: u32, frame: u32, self: u32): void {
  if (address == 0) return;
  if (size == 0) size = 1;
  const end = address + size;
  if (end > COVERED || end < address) {
    bump32(CONTROL, C_OUTSIDE, 1);
    return;
  }
  if (load<u32>(RECORDS, R_ADDRESS) == 0) prepare();
  const head = load<u32>(slotOf(address));
  if (head != 0 && load<u32>(RECORDS + head, R_KEY) != 0) meetNeighbours(address, size);
  const mib = contextOf(frame, self);
  bump64(CONTROL, C_ALLOCATIONS, 1);
  const aligned = (address & 7) == 0;
  if (!aligned) bump32(CONTROL, C_MISALIGNED, 1);
  const time = now();
  const record = takeRecord(address, size);
  if (record == 0) return;
  store<u32>(record, address, R_ADDRESS);
  store<u32>(record, mib, R_MIB);
  store<u32>(record, time, R_TIME);
  const alone = load<u32>(record, R_NEXT) == 0 && load<u32>(CONTROL, C_KEEP_NONE) == 0;
  store<u32>(record, aligned && alone && size <= LARGEST_SMALL ? size : UNUSUAL, R_KEY);
  store<u32>(record, size, R_SIZE);
  store<u64>(record, 0, R_FOLDED);
  claimCounters(address, size);
  if (end > load<u32>(CONTROL, C_HIGH_WATER)) raiseHighWater(end - 1);
  keepPeak(mib);
  const unit = liveUnit(size);
  bump64(mib, M_LIVE, unit);
  bump64(CONTROL, C_LIVE, unit);
}

/** Ends a block. `copied`: its contents live on in the block that reallocation made. */
export function endBlock(record: usize, copied: bool): void {
  const mib: usize = load<u32>(record, R_MIB);
  const unit = liveUnit(sizeOf(record));
  store<u64>(CONTROL, noticePeak() - unit, C_LIVE);
  keepPeak(mib);
  store<u64>(mib, load<u64>(mib, M_LIVE) - unit, M_LIVE);
  countBlock(record, mib, load<u32>(record, R_TIME), now(), copied);
  retire(record);
}

/** A block is given back: any one, or none that is known. */
export function releasedAnyhow(address: u32, copied: bool): void {
  if (address == 0) {
    bump32(CONTROL, C_NULL_FREES, 1);
    return;
  }
  if (address >= COVERED) {
    bump32(CONTROL, C_OUTSIDE, 1);
    return;
  }
  const record = findRecord(address);
  if (record != 0) endBlock(record, copied);
  else {
    // One of the blocks beyond the bound, as long as there are any.
    const unfollowed = load<u32>(CONTROL, C_UNFOLLOWED_FREES) < load<u32>(CONTROL, C_OVERFLOW_BLOCKS);
    bump32(CONTROL, unfollowed ? C_UNFOLLOWED_FREES : C_UNMATCHED_FREES, 1);
  }
}

/** After a reallocation: the old block has ended and a new one begins, also where the address stayed. */
export function reallocated(old: u32, address: u32, size: u32, frame: u32, self: u32): void {
  if (address == 0) {
    // Null for size 0 means that the block was freed; for any other size it means that nothing happened.
    if (size == 0 && old != 0) releasedAnyhow(old, false);
    return;
  }
  if (old != 0) releasedAnyhow(old, true);
  allocatedAnyhow(address, size, frame, self);
  if (old == 0) return;
  const record = findRecord(address);
  if (record != 0) bump32(load<u32>(record, R_MIB), M_REALLOCATIONS, 1);
}
