// What the hooks tell the tables of the heap, under the lock.
import { reallocated, releasedAnyhow } from "../../tools/heap/assembly/blocks";
import { released } from "../../tools/heap/assembly/heap";
import { allocatedAsUsual, CONTROL, RECORDS } from "../../tools/heap/assembly/imports";
import { Control, RECORD_BYTES, Record, Slot, Tag } from "../../tools/heap/assembly/layout.generated";
import {
  blockStart,
  bump32,
  bump64,
  findRecord,
  makeSlot,
  moveToRecord,
  placeDifference,
  recordOf,
  regionOf,
  removeRecord,
  slotIn,
  slotStart,
} from "../../tools/heap/assembly/records";
import { beginCommonPath, isRare } from "./front-end/imports";
import { Header, Thread, WalkEnd } from "./layout.generated";
import { countBlock } from "./threads";

/** An address where no block can be. */
const NOWHERE: u64 = 16;

/** A block was handed out to the stack that was walked. */
export function begin(thread: u32, address: u64, size: u64): void {
  countStack(thread, size);
  if (size >> 32 !== 0) {
    beyondSizes(size);
    return;
  }
  allocatedAsUsual(address, <u32>size, thread, 0);
}

@inline
function countStack(thread: u32, size: u64): void {
  countBlock(thread, size);
  const end = load<u32>(thread, Thread.end);
  if (end === WalkEnd.cut) bump64(Header.cutStacks, 0, 1);
  else if (end === WalkEnd.lost) bump64(Header.lostStacks, 0, 1);
}

/** Blocks of 4 GiB and more are beyond what tables hold. */
function beyondSizes(size: u64): void {
  bump64(CONTROL, Control.allocations, 1);
  bump32(CONTROL, Control.overflowBlocks, 1);
  bump64(CONTROL, Control.unfollowedBytes, size);
}

/** A block is about to be given back. */
export function end(address: u64): void {
  beginCommonPath();
  released(address);
  if (isRare) releasedAnyhow(address, false);
}

/**
 * A block is about to be given to `realloc`: if that moves it, somebody else may get its address before we know. So it is taken out of
 * the tables of addresses, and all else stays as it is.
 */
export function takeOut(thread: u32, address: u64): void {
  store<u32>(thread, 0, Thread.parked);
  const region = regionOf(address);
  if (region === 0) return;
  const slot = slotIn(region, address);
  const tag = load<u32>(slot, Slot.tag);
  let record: usize;
  if ((tag & Tag.recorded) === 0) {
    if (tag === 0 || placeDifference(tag, address) !== 0) return;
    record = moveToRecord(slot, address);
  } else record = findRecord(slot, address);
  if (record === 0) return;
  const isYoungest = load<u32>(CONTROL, Control.youngest) === record;
  store<u32>(thread, isYoungest ? 1 : 0, Thread.parkedYoungest);
  // Its memory may be gone before anybody looks for a copy of another block in it.
  if (isYoungest) store<u32>(CONTROL, 0, Control.youngest);
  removeRecord(slot, record);
  store<u32>(CONTROL, load<u32>(record, Record.next), Control.recordFree);
  store<u32>(thread, record, Thread.parked);
}

/** Puts back what was taken out, in front of what has begun at its address since. */
function putBack(thread: u32, address: u64): void {
  const record = load<u32>(thread, Thread.parked);
  const slot = makeSlot(address);
  let tag = load<u32>(slot, Slot.tag);
  if (tag !== 0 && (tag & Tag.recorded) === 0) {
    moveToRecord(slot, blockStart(slotStart(address), tag));
    tag = load<u32>(slot, Slot.tag);
  }
  store<u32>(record, tag === 0 ? 0 : <u32>(recordOf(tag) - RECORDS), Record.next);
  store<u32>(slot, <u32>((record - RECORDS) / RECORD_BYTES) | Tag.recorded, Slot.tag);
  if (load<u32>(thread, Thread.parkedYoungest) !== 0 && load<u32>(CONTROL, Control.youngest) === 0)
    store<u32>(CONTROL, record, Control.youngest);
}

/** `realloc` has given `address` for a block at `old` that was taken out, if it was known. */
export function change(thread: u32, old: u64, address: u64, size: u64): void {
  if (load<u32>(thread, Thread.parked) !== 0) putBack(thread, old);
  else old = NOWHERE;
  if (address !== 0) countStack(thread, size);
  if (size >> 32 === 0) reallocated(old, address, <u32>size, thread, 0);
  else if (address !== 0) {
    releasedAnyhow(old, true);
    beyondSizes(size);
  }
}
