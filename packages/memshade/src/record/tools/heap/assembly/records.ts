import { CONTROL, MIBS, RECORDS } from "./imports";
import { CONTEXT_BYTES, Control, RECORD_BYTES, Record, Slot, Tag } from "./layout.generated";
import {
  Address,
  addressOf,
  beginRegion,
  directoryEntry,
  keepAddress,
  PROGRAM_REGION_BITS,
  PROGRAM_SLOT_BITS,
  REGION_SLOTS,
} from "./program";

@inline
export function bump32(at: usize, field: usize, by: u32): void {
  store<u32>(at + field, load<u32>(at + field) + by);
}
@inline
export function bump64(at: usize, field: usize, by: u64): void {
  store<u64>(at + field, load<u64>(at + field) + by);
}

@inline
export function regionOf(address: Address): usize {
  return load<u32>(directoryEntry(address));
}

@inline
export function slotIn(region: usize, address: Address): usize {
  return region + (<u32>(address >>> (PROGRAM_SLOT_BITS - 3)) & (REGION_SLOTS - 8));
}

/** Bits of an address in its slot that a tag does not store. */
const UNTOLD_BITS: u32 = PROGRAM_SLOT_BITS - 4;

@inline
export function slotStart(address: Address): Address {
  return address & ~(((<Address>1) << PROGRAM_SLOT_BITS) - 1);
}

/** Returns the start of a tag's block. `slot`: first address of its slot. */
@inline
export function blockStart(slot: Address, tag: u32): Address {
  return slot | ((<Address>(tag & Tag.placeMask)) << UNTOLD_BITS);
}

/** Returns 0 if the block of a tag begins at an address of its slot. */
@inline
export function placeDifference(tag: u32, address: Address): u32 {
  return (tag ^ <u32>(address >>> UNTOLD_BITS)) & Tag.placeMask;
}

@inline
export function tagOf(mib: usize, size: u32, address: Address): u32 {
  const place = <u32>(address >>> UNTOLD_BITS) & Tag.placeMask;
  return ((mib - MIBS) << (Tag.contextShift - 8)) | (size << Tag.sizeShift) | place;
}
@inline
export function mibOfTag(tag: u32): usize {
  return MIBS + (tag >>> Tag.contextShift) * CONTEXT_BYTES;
}
@inline
export function sizeOfTag(tag: u32): u32 {
  return (tag >>> Tag.sizeShift) & Tag.sizeMask;
}

@inline
export function recordOf(tag: u32): usize {
  return RECORDS + (tag & ~Tag.recorded) * RECORD_BYTES;
}

export function makeSlot(address: Address): usize {
  let region = regionOf(address);
  if (region === 0) {
    region = beginRegion(address);
    if (region === 0) return 0;
  }
  return slotIn(region, address);
}

/**
 * Adds a record at the head of a slot's chain. A free one exists, because no more blocks are recorded than
 * there are records.
 */
export function addRecord(slot: usize, address: Address, size: u32, mib: usize, time: u32): usize {
  let offset = load<u32>(CONTROL, Control.recordFree);
  if (offset !== 0) store<u32>(CONTROL, load<u32>(RECORDS + offset, Record.next), Control.recordFree);
  else {
    const index = load<u32>(CONTROL, Control.recordNext) + 1;
    store<u32>(CONTROL, index, Control.recordNext);
    offset = index * RECORD_BYTES;
  }
  const record: usize = RECORDS + offset;
  keepAddress(record, address);
  store<u32>(record, mib, Record.mib);
  store<u32>(record, time, Record.time);
  store<u32>(record, size, Record.size);
  store<u64>(record, 0, Record.folded);
  store<u64>(record, 0, Record.copies);
  store<u64>(record, 0, Record.copiedBytes);
  store<u32>(record, 0, Record.steps);
  store<u32>(record, 0, Record.followed);
  // The slot keeps this time after the block has ended, as a sign that it had a block.
  if (time !== 0) store<u32>(slot, time, Slot.time);
  linkRecord(slot, record);
  return record;
}

export function linkRecord(slot: usize, record: usize): void {
  const tag = load<u32>(slot, Slot.tag);
  store<u32>(record, tag === 0 ? 0 : (tag & ~Tag.recorded) * RECORD_BYTES, Record.next);
  store<u32>(slot, <u32>((record - RECORDS) / RECORD_BYTES) | Tag.recorded, Slot.tag);
}

export function moveToRecord(slot: usize, place: Address): usize {
  const tag = load<u32>(slot, Slot.tag);
  store<u32>(slot, 0, Slot.tag);
  return addRecord(slot, place, sizeOfTag(tag), mibOfTag(tag), load<u32>(slot, Slot.time));
}

export function findRecord(slot: usize, address: Address): usize {
  let record = recordOf(load<u32>(slot, Slot.tag));
  while (record !== RECORDS) {
    if (addressOf(record) === address) return record;
    record = RECORDS + load<u32>(record, Record.next);
  }
  return 0;
}

export function removeRecord(slot: usize, record: usize): void {
  const offset = record - RECORDS;
  const next = load<u32>(record, Record.next);
  let before = recordOf(load<u32>(slot, Slot.tag));
  if (before === record) store<u32>(slot, next === 0 ? 0 : (next / RECORD_BYTES) | Tag.recorded, Slot.tag);
  else {
    while (load<u32>(before, Record.next) !== offset) before = RECORDS + load<u32>(before, Record.next);
    store<u32>(before, next, Record.next);
  }
  store<u32>(record, load<u32>(CONTROL, Control.recordFree), Record.next);
  store<u32>(CONTROL, offset, Control.recordFree);
}

/**
 * Returns the record of the live block that contains `address`, and creates it if needed; 0 if there is no
 * block.
 */
export function recordAround(address: Address): usize {
  let place = slotStart(address);
  while (true) {
    const region = regionOf(place);
    if (region === 0) place &= ~((1 << PROGRAM_REGION_BITS) - 1);
    else {
      const slot = slotIn(region, place);
      const tag = load<u32>(slot, Slot.tag);
      if (tag !== 0) {
        if ((tag & Tag.recorded) === 0) {
          const start = blockStart(place, tag);
          if (start <= address) return address - start < sizeOfTag(tag) ? moveToRecord(slot, start) : 0;
        } else {
          let below = false;
          for (
            let record = recordOf(tag);
            record !== RECORDS;
            record = RECORDS + load<u32>(record, Record.next)
          ) {
            const start = addressOf(record);
            if (start > address) continue;
            if (address - start < load<u32>(record, Record.size)) return record;
            below = true;
          }
          if (below) return 0;
        }
      }
    }
    if (place === 0) return 0;
    place -= 1 << PROGRAM_SLOT_BITS;
  }
}
