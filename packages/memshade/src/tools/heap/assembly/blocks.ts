import { now } from "./clock";
import { contextOf, prepareContexts } from "./context";
import { claimCounters, countBlock } from "./counters";
import {
  C_ALLOCATIONS, C_LIVE, C_MISALIGNED, C_NULL_FREES, C_OUTSIDE, C_OVERFLOW_BLOCKS, C_OVERLAPS, C_SHARED_GRANULES,
  C_UNFOLLOWED_BYTES, C_UNFOLLOWED_FREES, C_UNMATCHED_FREES, CONTROL, COVERED, M_LIVE, M_REALLOCATIONS, MIB_CAPACITY,
  MIB_SIZE, MIBS, R_ADDRESS, R_FOLDED, R_MIB, R_NEXT, R_SIZE, R_TIME, RECORDS, SHARED, SLOT_TAG, SLOT_TIME,
  TAG_CONTEXTS, TAG_PLACE_MASK, TAG_RECORDED, TAG_SIZE_MASK,
} from "./layout";
import { hasRoom, keepPeak, liveUnit, noticePeak } from "./live";
import {
  addRecord, bump32, bump64, findRecord, makeSlot, mibOfTag, moveToRecord, raiseHighWater, recordOf, regionOf,
  removeRecord, sizeOfTag, slotIn, tagOf,
} from "./records";
import { noteOwner, noteProcessors } from "./threads";

/** Before the first block. */
function prepare(): void {
  store<u32>(RECORDS, -1, R_ADDRESS);
  prepareContexts();
}

/** Another live block starts in the same 16 bytes, or this very block was never seen to end. */
function meetNeighbours(slot: usize, address: u32, size: u32): void {
  const place = address & ~TAG_PLACE_MASK;
  const tag = load<u32>(slot, SLOT_TAG);
  if ((tag & TAG_RECORDED) == 0) moveToRecord(slot, place | (tag & TAG_PLACE_MASK));
  if (findRecord(slot, address) != 0) {
    // Its release was not seen. It ends here, or its successor would inherit it.
    bump32(CONTROL, C_OVERLAPS, 1);
    endBlock(address, false);
  }
  const first = load<u32>(slot, SLOT_TAG);
  if (first == 0) return;
  for (let other = recordOf(first); other != RECORDS; other = RECORDS + load<u32>(other, R_NEXT)) {
    const otherAddress = load<u32>(other, R_ADDRESS);
    const otherEnd = otherAddress + load<u32>(other, R_SIZE);
    // Two live blocks in one counter granule are said in the profile, never guessed apart.
    if (address < otherEnd && otherAddress < address + size) bump32(CONTROL, C_OVERLAPS, 1);
    else if ((otherEnd - 1) >>> 3 == address >>> 3 || otherAddress >>> 3 == (address + size - 1) >>> 3)
      bump32(CONTROL, C_SHARED_GRANULES, 1);
  }
}

/**
 * A block of `size` bytes was handed out at `address` (0: the allocation failed) to the call of the newest frame: any one.
 * `self`: as for `contextOf`.
 */
export function allocatedAnyhow(address: u32, size: u32, frame: u32, self: u32): void {
  if (address == 0) return;
  if (size == 0) size = 1;
  const end = address + size;
  if (end > COVERED || end < address) {
    bump32(CONTROL, C_OUTSIDE, 1);
    return;
  }
  if (load<u32>(RECORDS, R_ADDRESS) == 0) prepare();
  const slot = makeSlot(address);
  if (slot != 0 && load<u32>(slot, SLOT_TAG) != 0) meetNeighbours(slot, address, size);
  const mib = contextOf(frame, self);
  bump64(CONTROL, C_ALLOCATIONS, 1);
  const aligned = (address & 7) == 0;
  if (!aligned) bump32(CONTROL, C_MISALIGNED, 1);
  const time = now();
  if (slot == 0 || !hasRoom(load<u64>(CONTROL, C_LIVE))) {
    bump32(CONTROL, C_OVERFLOW_BLOCKS, 1);
    bump64(CONTROL, C_UNFOLLOWED_BYTES, size);
    return;
  }
  // Only records say who allocated.
  const known = SHARED == 0 && (MIB_CAPACITY <= TAG_CONTEXTS || mib < MIBS + TAG_CONTEXTS * MIB_SIZE);
  if (aligned && known && size <= TAG_SIZE_MASK && load<u32>(slot, SLOT_TAG) == 0) {
    store<u32>(slot, time, SLOT_TIME);
    store<u32>(slot, tagOf(mib, size, address), SLOT_TAG);
  } else {
    const record = addRecord(slot, address, size, mib, time);
    if (SHARED != 0) noteOwner(record);
  }
  claimCounters(address, size);
  raiseHighWater(end);
  keepPeak(mib);
  const unit = liveUnit(size);
  bump64(mib, M_LIVE, unit);
  bump64(CONTROL, C_LIVE, unit);
}

/** Ends the block at an address; false if there is none. `copied`: its contents live on in another block. */
function endBlock(address: u32, copied: bool): bool {
  const region = regionOf(address);
  if (region == 0) return false;
  const slot = slotIn(region, address);
  const tag = load<u32>(slot, SLOT_TAG);
  let mib = mibOfTag(tag);
  let size = sizeOfTag(tag);
  let start = load<u32>(slot, SLOT_TIME);
  let folded: u64 = 0;
  if ((tag & TAG_RECORDED) == 0) {
    if (tag == 0 || ((tag ^ address) & TAG_PLACE_MASK) != 0) return false;
    store<u32>(slot, 0, SLOT_TAG);
  } else {
    const record = findRecord(slot, address);
    if (record == 0) return false;
    mib = load<u32>(record, R_MIB);
    size = load<u32>(record, R_SIZE);
    start = load<u32>(record, R_TIME);
    folded = load<u64>(record, R_FOLDED);
    if (SHARED != 0) noteProcessors(record, mib);
    removeRecord(slot, record);
  }
  const unit = liveUnit(size);
  store<u64>(CONTROL, noticePeak() - unit, C_LIVE);
  keepPeak(mib);
  store<u64>(mib, load<u64>(mib, M_LIVE) - unit, M_LIVE);
  countBlock(address, size, mib, start, now(), folded, copied);
  return true;
}

/** A block is given back by the program. */
export function releasedRarely(address: u32): void {
  releasedAnyhow(address, false);
}

/** A block is given back: any one, or none that is known. */
export function releasedAnyhow(address: u32, copied: bool): void {
  if (address == 0) bump32(CONTROL, C_NULL_FREES, 1);
  else if (address >= COVERED) bump32(CONTROL, C_OUTSIDE, 1);
  else if (!endBlock(address, copied)) {
    // One of the blocks beyond the bound, as long as there are any.
    const unfollowed = load<u32>(CONTROL, C_UNFOLLOWED_FREES) < load<u32>(CONTROL, C_OVERFLOW_BLOCKS);
    bump32(CONTROL, unfollowed ? C_UNFOLLOWED_FREES : C_UNMATCHED_FREES, 1);
  }
}

/** A block was handed out, most often such a one as the common path knows; parameters as for `allocatedAnyhow`. */
@external("hook", "allocated")
declare function allocatedAsUsual(address: u32, size: u32, frame: u32, self: u32): void;

/** After a reallocation: the old block has ended and a new one begins, also where the address stayed. */
export function reallocated(old: u32, address: u32, size: u32, frame: u32, self: u32): void {
  if (address == 0) {
    // Null for size 0 means that the block was freed; for any other size it means that nothing happened.
    if (size == 0 && old != 0) releasedAnyhow(old, false);
    return;
  }
  if (old != 0) releasedAnyhow(old, true);
  allocatedAsUsual(address, size, frame, self);
  if (old == 0) return;
  const region = address < COVERED ? regionOf(address) : 0;
  if (region == 0) return;
  const slot = slotIn(region, address);
  const tag = load<u32>(slot, SLOT_TAG);
  if ((tag & TAG_RECORDED) == 0) {
    if (tag != 0 && ((tag ^ address) & TAG_PLACE_MASK) == 0) bump32(mibOfTag(tag), M_REALLOCATIONS, 1);
    return;
  }
  const record = findRecord(slot, address);
  if (record != 0) bump32(load<u32>(record, R_MIB), M_REALLOCATIONS, 1);
}
