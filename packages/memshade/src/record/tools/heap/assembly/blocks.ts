import { now } from "./clock";
import { contextOf, prepareContexts } from "./calls";
import { claimCounters, countAlone, countBlock } from "./counters";
import { endFollowed, follow, weightOf } from "./drag";
import { continueChain, endChain, forgetEnded, goOnBeside, noteYoungest, takeChain } from "./growth";
import {
  CONTROL,
  COUNTED,
  IMAGE,
  IMAGE_BYTES,
  MIB_CAPACITY,
  MIBS,
  RECORDS,
  SHARED,
  allocatedAsUsual,
} from "./imports";
import {
  CONTEXT_BYTES,
  Context,
  Control,
  LARGEST_SMALL,
  LARGEST_UNMARKED,
  Record,
  Slot,
  Tag,
} from "./layout.generated";
import {
  isLimit,
  noteChange,
  noteNext,
  passLimit,
  prepareIntervals,
  setLimit,
  settleBytes,
} from "./intervals";
import { contextAt, liveUnit, noticePeak, roomLeft, sizeAt } from "./live";
import { LARGEST_IN_SLOT, slotFor, slotOf } from "./places";
import { Address, addressOf, bytesByHeader, END, raiseHighWater } from "./program";
import {
  addRecord,
  blockStart,
  bump32,
  bump64,
  findRecord,
  mibOfTag,
  moveToRecord,
  placeDifference,
  recordOf,
  removeRecord,
  sizeOfTag,
  slotStart,
  tagOf,
} from "./records";
import { noteOwner, noteProcessors } from "./threads";

function prepare(): void {
  store<u32>(RECORDS, -1, Record.address);
  prepareContexts();
  prepareIntervals();
}

/**
 * Handles a slot that is not empty: another live block starts in it, or the release of this very block was
 * not seen.
 */
function handleNeighbours(slot: usize, address: Address, size: u32): void {
  const tag = load<u32>(slot, Slot.tag);
  if ((tag & Tag.recorded) === 0) moveToRecord(slot, blockStart(slotStart(address), tag));
  if (findRecord(slot, address) !== 0) {
    // Ends the old block at this address, whose release was not seen; else the new block would inherit its
    // counts.
    bump32(CONTROL, Control.overlaps, 1);
    endBlock(address, false);
    forgetEnded();
  }
  const first = load<u32>(slot, Slot.tag);
  if (first === 0) return;
  for (
    let neighbour = recordOf(first);
    neighbour !== RECORDS;
    neighbour = RECORDS + load<u32>(neighbour, Record.next)
  ) {
    const neighbourAddress = addressOf(neighbour);
    const neighbourEnd = neighbourAddress + load<u32>(neighbour, Record.size);
    // Counts live blocks that overlap or share a counter granule. The profile reports their number; their
    // accesses are not divided by guess.
    if (address < neighbourEnd && neighbourAddress < address + size) bump32(CONTROL, Control.overlaps, 1);
    else if (
      (neighbourEnd - 1) >>> 3 === address >>> 3 ||
      neighbourAddress >>> 3 === (address + size - 1) >>> 3
    )
      bump32(CONTROL, Control.sharedGranules, 1);
  }
}

/**
 * Records a block of `size` bytes at `address` that was returned to the call of the newest frame. Handles
 * every kind of block.
 * `address`: 0 if the allocation failed.
 * `self`: as for `contextOf`.
 */
export function allocatedAnyhow(address: Address, size: u32, frame: u32, self: u32): void {
  if (address === 0) return;
  if (size === 0) size = 1;
  const end = address + size;
  if (end > END || end < address) {
    bump32(CONTROL, Control.outside, 1);
    return;
  }
  if (load<u32>(RECORDS, Record.address) === 0) prepare();
  const atLimit = isLimit();
  if (atLimit) passLimit();
  begin(address, size, frame, self, atLimit);
  if (atLimit) setLimit();
}

@inline
function begin(address: Address, size: u32, frame: u32, self: u32, atLimit: bool): void {
  const slot = slotFor(address, size);
  if (slot !== 0 && load<u32>(slot, Slot.tag) !== 0) handleNeighbours(slot, address, size);
  const mib = contextOf(frame, self);
  if (atLimit) noteNext(mib, load<u64>(CONTROL, Control.allocations));
  bump64(CONTROL, Control.allocations, 1);
  const aligned = (address & 7) === 0;
  if (!aligned) bump32(CONTROL, Control.misaligned, 1);
  const time = now();
  if (slot === 0 || roomLeft() === 0) {
    bump32(CONTROL, Control.overflowBlocks, 1);
    bump64(CONTROL, Control.unfollowedBytes, size);
    return;
  }
  // Followed blocks, blocks of several instances and blocks of high context numbers need a record, because a
  // tag has no room for them.
  const weight = COUNTED === 0 ? 0 : weightOf(size);
  const fitsSlot =
    SHARED === 0 &&
    weight === 0 &&
    (MIB_CAPACITY <= Tag.contexts || mib < MIBS + Tag.contexts * CONTEXT_BYTES);
  if (aligned && fitsSlot && size <= LARGEST_IN_SLOT && load<u32>(slot, Slot.tag) === 0) {
    store<u32>(slot, time, Slot.time);
    store<u32>(slot, tagOf(mib, size, address), Slot.tag);
  } else {
    const record = addRecord(slot, address, size, mib, time);
    if (SHARED !== 0) noteOwner(record);
    if (weight !== 0) follow(record, weight, time);
    if (size > LARGEST_UNMARKED) noteYoungest(record);
  }
  claimCounters(address, size);
  raiseHighWater(address + size);
  settleBytes(size);
  noteChange(mib);
  const unit = liveUnit(size);
  bump64(mib, Context.allocated, unit);
  bump64(CONTROL, Control.live, unit);
}

/** Ends the block at an address; false if there is none. `copied`: its contents live on in another block. */
function endBlock(address: Address, copied: bool): bool {
  const slot = slotOf(address);
  if (slot === 0) return false;
  const tag = load<u32>(slot, Slot.tag);
  let mib = mibOfTag(tag);
  let size = sizeOfTag(tag);
  let start = load<u32>(slot, Slot.time);
  let folded: u64 = 0;
  let followed: usize = 0;
  forgetEnded();
  if ((tag & Tag.recorded) === 0) {
    if (tag === 0 || placeDifference(tag, address) !== 0) return false;
    store<u32>(slot, 0, Slot.tag);
  } else {
    const record = findRecord(slot, address);
    if (record === 0) return false;
    mib = load<u32>(record, Record.mib);
    size = load<u32>(record, Record.size);
    start = load<u32>(record, Record.time);
    folded = load<u64>(record, Record.folded);
    copied = takeChain(record) || copied;
    if (COUNTED !== 0 && load<u32>(record, Record.followed) !== 0) followed = record;
    if (SHARED !== 0) noteProcessors(record, mib);
    removeRecord(slot, record);
  }
  const unit = liveUnit(size);
  store<u64>(CONTROL, noticePeak() - unit, Control.live);
  noteChange(mib);
  bump64(mib, Context.freed, unit);
  if (copied || size > LARGEST_SMALL) endChain(address, size, mib, start, copied);
  if (followed === 0) countBlock(address, size, mib, start, now(), folded, copied);
  else {
    const accesses = countAlone(address, size, mib, start, now(), folded, copied);
    endFollowed(followed, accesses, now(), copied);
  }
  return true;
}

export function releasedRarely(address: Address): void {
  releasedAnyhow(address, false);
}

export function releasedAnyhow(address: Address, copied: bool): void {
  if (address === 0) bump32(CONTROL, Control.nullFrees, 1);
  else if (address >= END) bump32(CONTROL, Control.outside, 1);
  else if (!endBlock(address, copied)) {
    // The block may be one that was left out because the tables were full, as long as any of these is not
    // released.
    const unfollowed =
      load<u32>(CONTROL, Control.unfollowedFrees) < load<u32>(CONTROL, Control.overflowBlocks);
    if (unfollowed) bump32(CONTROL, Control.unfollowedFrees, 1);
    else noteUnseen(address);
  }
}

/**
 * Counts the release of a block whose allocation was not seen. It may be part of the memory's initial image.
 */
function noteUnseen(address: Address): void {
  const bytes = bytesByHeader(address);
  const isEarlier = address - IMAGE < IMAGE_BYTES;
  bump32(CONTROL, isEarlier ? Control.earlierFrees : Control.unmatchedFrees, 1);
  if (bytes === 0) return;
  bump32(CONTROL, isEarlier ? Control.earlierSized : Control.unmatchedSized, 1);
  if (isEarlier) bump64(CONTROL, Control.earlierBytes, bytes);
}

/** Handles a reallocation: the old block has ended and a new one begins, even if the address is the same. */
export function reallocated(old: Address, address: Address, size: u32, frame: u32, self: u32): void {
  if (address === 0) {
    // A null result for size 0 means that the block was freed; for any other size nothing happened.
    if (size === 0 && old !== 0) releasedAnyhow(old, false);
    return;
  }
  forgetEnded();
  if (old !== 0) {
    // An interval may end here, and the old block is live at its end.
    if (load<u32>(RECORDS, Record.address) === 0) prepare();
    if (isLimit()) passLimit();
    releasedAnyhow(old, true);
  }
  allocatedAsUsual(address, size, frame, self);
  if (old === 0) return;
  const mib = contextAt(address);
  if (mib === 0) return;
  bump32(mib, Context.reallocations, 1);
  if (size > LARGEST_SMALL) continueChain(address, size, address !== old);
}

/**
 * Handles a function that resizes an object of a garbage collector, like a reallocation with two differences:
 * a moved object's old block is freed later by the collector, and the new block may be recorded already.
 */
export function renewed(old: Address, address: Address, size: u32, frame: u32, self: u32): void {
  const oldSize = sizeAt(old);
  if (old === address) {
    if (oldSize !== 0 && oldSize < size) reallocated(old, address, size, frame, self);
    return;
  }
  if (contextAt(address) === 0) allocatedAsUsual(address, size, frame, self);
  const mib = contextAt(address);
  if (mib === 0 || oldSize === 0) return;
  bump32(mib, Context.reallocations, 1);
  if (size > oldSize && size > LARGEST_SMALL) goOnBeside(old, oldSize, address, size);
}
