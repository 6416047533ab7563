// Replaces `tools/heap/assembly/places.ts` for native programs. Slots hold only small blocks: those of large
// blocks would take a quarter of their bytes and be mostly empty. A large block is found by a hash of its
// address. Buckets are slots with chains of records. Their number is the number of records so far plus one:
// each record divides a bucket in two.
import { CONTROL, RECORDS } from "../../../tools/heap/assembly/imports";
import { Control, Record, SLOT_BYTES, Slot, Tag } from "../../../tools/heap/assembly/layout.generated";
import { addressOf, Address } from "../../../tools/heap/assembly/program";
import {
  findRecord,
  linkRecord,
  makeSlot,
  placeDifference,
  recordOf,
  regionOf,
  slotIn,
} from "../../../tools/heap/assembly/records";
import { Header, NATIVE_LARGEST_IN_SLOT, Place } from "../layout.generated";

export const LARGEST_IN_SLOT: u32 = NATIVE_LARGEST_IN_SLOT;

@inline
function hash(address: Address): u32 {
  return <u32>((address * 0x9e37_79b9_7f4a_7c15) >>> 32);
}

@inline
function bucketAt(index: u32): usize {
  return Place.buckets + index * SLOT_BYTES;
}

/**
 * Returns the bucket of an address. It is selected by as many bits of the hash as the last bucket's index
 * has, or by one bit less if that bucket is not divided yet.
 */
function bucketOf(address: Address): usize {
  const last = load<u32>(Header.lastBucket);
  const mask = <u32>(<u64>0xffff_ffff >> clz(last));
  const index = hash(address) & mask;
  return bucketAt(index > last ? index & (mask >> 1) : index);
}

function divide(): void {
  const added = load<u32>(Header.lastBucket) + 1;
  store<u32>(Header.lastBucket, added);
  const bit: u32 = 0x8000_0000 >>> clz(added);
  const old = bucketAt(added ^ bit);
  let record = recordOf(load<u32>(old, Slot.tag));
  store<u32>(old, 0, Slot.tag);
  while (record !== RECORDS) {
    const next: usize = RECORDS + load<u32>(record, Record.next);
    linkRecord((hash(addressOf(record)) & bit) === 0 ? old : bucketAt(added), record);
    record = next;
  }
}

export function slotFor(address: Address, size: u32): usize {
  if (size <= LARGEST_IN_SLOT) return makeSlot(address);
  if (load<u32>(Header.lastBucket) < load<u32>(CONTROL, Control.recordNext)) divide();
  return slotOf(address);
}

/**
 * Small blocks are searched first. A small block whose end was not recorded may lie at the start of a large
 * one.
 */
export function slotOf(address: Address): usize {
  const region = regionOf(address);
  if (region !== 0) {
    const slot = slotIn(region, address);
    const tag = load<u32>(slot, Slot.tag);
    if ((tag & Tag.recorded) === 0) {
      if (tag !== 0 && placeDifference(tag, address) === 0) return slot;
    } else if (findRecord(slot, address) !== 0) return slot;
  }
  return bucketOf(address);
}
