// Updates the heap's tables for the hooks. Call all functions under the lock.
import { reallocated, releasedAnyhow } from "../../tools/heap/assembly/blocks";
import { counterPlace } from "../../tools/heap/assembly/counter-memory";
import { takeCounters, takenAccesses, takenFlags, takenTouched } from "../../tools/heap/assembly/counters";
import { usedBytes } from "../../tools/heap/assembly/growth";
import { released } from "../../tools/heap/assembly/heap";
import { allocatedAsUsual, CONTROL, COUNTED, MIBS } from "../../tools/heap/assembly/imports";
import { CONTEXT_BYTES, Control, Record, Slot, Tag } from "../../tools/heap/assembly/layout.generated";
import { slotFor, slotOf } from "../../tools/heap/assembly/places";
import { contextAt, recordAt, sizeAt } from "../../tools/heap/assembly/live";
import {
  blockStart,
  bump32,
  bump64,
  linkRecord,
  moveToRecord,
  removeRecord,
  slotStart,
} from "../../tools/heap/assembly/records";
import { areOwnersNoted, disownBlock, ownBlock } from "../tools/working-set/assembly/owners";
import { knownContext } from "./front-end/calls";
import { forgetTaken, setCounter, setTaken } from "./front-end/counter-memory";
import { beginCommonPath, isRare, otherwise, WALL_CLOCK } from "./front-end/imports";
import { Header, Thread, WalkEnd } from "./layout.generated";
import { countBlock } from "./threads";

/** An address that no block has. */
const NOWHERE: u64 = 16;

export function begin(thread: u32, address: u64, size: u64): void {
  countStack(thread, size);
  if (size >> 32 !== 0) {
    beyondSizes(size);
    return;
  }
  allocatedAsUsual(address, <u32>size, thread, 0);
  own(address, size, knownContext(thread));
}

@inline
function numberOf(mib: usize): u32 {
  return mib === 0 ? 0 : <u32>((mib - MIBS) / CONTEXT_BYTES);
}

/** Stores the context that owns a range from now on. */
export function own(address: u64, size: u64, mib: usize): void {
  if (areOwnersNoted()) ownBlock(address, size, numberOf(mib));
}

export function disown(address: u64, size: u64, mib: usize): void {
  if (areOwnersNoted()) disownBlock(address, size, numberOf(mib));
}

@inline
function countStack(thread: u32, size: u64): void {
  countBlock(thread, size);
  const end = load<u32>(thread, Thread.end);
  if (end === WalkEnd.cut) bump64(Header.cutStacks, 0, 1);
  else if (end === WalkEnd.lost) bump64(Header.lostStacks, 0, 1);
}

function beyondSizes(size: u64): void {
  bump64(CONTROL, Control.allocations, 1);
  bump32(CONTROL, Control.overflowBlocks, 1);
  bump64(CONTROL, Control.unfollowedBytes, size);
}

export function end(address: u64): void {
  if (areOwnersNoted()) disown(address, sizeAt(address), contextAt(address));
  beginCommonPath();
  if (WALL_CLOCK !== 0) otherwise();
  else released(address);
  if (isRare) releasedAnyhow(address, false);
}

/**
 * Removes a block from the tables of addresses before `realloc`. If `realloc` moves the block, another thread
 * may get its address before the hook continues. All other data of the block stay.
 */
export function takeOut(thread: u32, address: u64): void {
  const record = recordAt(address);
  store<u32>(thread, record, Thread.parked);
  if (record === 0) return;
  disown(address, load<u32>(record, Record.size), load<u32>(record, Record.mib));
  const isYoungest = load<u32>(CONTROL, Control.youngest) === record;
  store<u32>(thread, isYoungest ? 1 : 0, Thread.parkedYoungest);
  if (COUNTED !== 0) takeCountersOut(thread, record, address);
  // The memory of this block may be gone before the copy of another block is searched in it.
  if (isYoungest) store<u32>(CONTROL, 0, Control.youngest);
  removeRecord(slotOf(address), record);
  store<u32>(CONTROL, load<u32>(record, Record.next), Control.recordFree);
}

/** Takes the counters, since the accesses of `realloc` itself are not the program's. */
function takeCountersOut(thread: u32, record: usize, address: u64): void {
  const size = load<u32>(record, Record.size);
  store<u32>(record, max(load<u32>(record, Record.carried), usedBytes(address, size)), Record.carried);
  takeCounters(counterPlace(address), counterPlace(address + size - 1) + 4);
  bump64(record, Record.folded, takenAccesses);
  store<u64>(thread, takenAccesses, Thread.parkedAccesses);
  store<u32>(thread, takenTouched, Thread.parkedTouched);
  store<u32>(thread, takenFlags, Thread.parkedFlags);
}

/** Restores the counters of a block that was not reallocated, all at its first granule. */
function putCountersBack(thread: u32, address: u64): void {
  const record = load<u32>(thread, Thread.parked);
  const accesses = load<u64>(thread, Thread.parkedAccesses);
  if (accesses === 0 || accesses >> 31 !== 0) return;
  store<u64>(record, load<u64>(record, Record.folded) - accesses, Record.folded);
  setCounter(counterPlace(address), <u32>accesses, load<u32>(thread, Thread.parkedFlags));
}

/** Puts the removed record back, before any block that has begun at its address since. */
function putBack(thread: u32, address: u64): void {
  const record = load<u32>(thread, Thread.parked);
  const slot = slotFor(address, load<u32>(record, Record.size));
  const tag = load<u32>(slot, Slot.tag);
  if (tag !== 0 && (tag & Tag.recorded) === 0) moveToRecord(slot, blockStart(slotStart(address), tag));
  linkRecord(slot, record);
  if (load<u32>(thread, Thread.parkedYoungest) !== 0 && load<u32>(CONTROL, Control.youngest) === 0)
    store<u32>(CONTROL, record, Control.youngest);
}

/** Records that `realloc` returned `address` for the removed block at `old`. */
export function change(thread: u32, old: u64, address: u64, size: u64): void {
  const isKnown = load<u32>(thread, Thread.parked) !== 0;
  if (!isKnown) old = NOWHERE;
  else {
    putBack(thread, old);
    if (COUNTED !== 0) {
      if (address === 0 && size !== 0) putCountersBack(thread, old);
      else setTaken(load<u32>(thread, Thread.parkedTouched), load<u32>(thread, Thread.parkedFlags));
    }
  }
  if (address !== 0) countStack(thread, size);
  else if (size !== 0) own(old, sizeAt(old), contextAt(old));
  if (size >> 32 === 0) {
    reallocated(old, address, <u32>size, thread, 0);
    if (address !== 0) own(address, size, knownContext(thread));
  } else if (address !== 0) {
    releasedAnyhow(old, true);
    beyondSizes(size);
  }
  forgetTaken();
}
