import {
  C_HIGH_WATER, C_RECORD_FREE, C_RECORD_NEXT, C_SLOTS_NEXT, CONTROL, COVERED, DIRECTORY, MIB_SIZE, MIBS, R_ADDRESS,
  R_FOLDED, R_MIB, R_NEXT, R_SIZE, R_TIME, RECORD_SIZE, RECORDS, REGION_BITS, SLOT_REGION_SIZE, SLOT_TAG, SLOT_TIME,
  SLOTS, SLOTS_END, TAG_CONTEXT_SHIFT, TAG_PLACE_MASK, TAG_RECORDED, TAG_SIZE_MASK, TAG_SIZE_SHIFT,
} from "./layout";

/** The high water mark rises in such steps. */
const WATER_STEP: u32 = 4096;
/** The system hands out memory in such pages, at least. */
const PAGE_BYTES: u32 = 4096;

@inline
export function bump32(at: usize, field: usize, by: u32): void { store<u32>(at + field, load<u32>(at + field) + by); }
@inline
export function bump64(at: usize, field: usize, by: u64): void { store<u64>(at + field, load<u64>(at + field) + by); }

/** Where the slots of an address's region are, 0 if it has none yet. */
@inline
export function regionOf(address: u32): usize { return load<u32>(DIRECTORY + ((address >>> REGION_BITS) << 2)); }

/** The slot of an address in its region. */
@inline
export function slotIn(region: usize, address: u32): usize {
  return region + ((address >>> 1) & (SLOT_REGION_SIZE - 8));
}

@inline
export function tagOf(mib: usize, size: u32, address: u32): u32 {
  return ((mib - MIBS) << (TAG_CONTEXT_SHIFT - 8)) | (size << TAG_SIZE_SHIFT) | (address & TAG_PLACE_MASK);
}
@inline
export function mibOfTag(tag: u32): usize { return MIBS + (tag >>> TAG_CONTEXT_SHIFT) * MIB_SIZE; }
@inline
export function sizeOfTag(tag: u32): u32 { return (tag >>> TAG_SIZE_SHIFT) & TAG_SIZE_MASK; }

@inline
export function recordOf(tag: u32): usize { return RECORDS + (tag & ~TAG_RECORDED) * RECORD_SIZE; }

/** Everything below `end` has been in use. */
export function raiseHighWater(end: u32): void {
  if (end <= load<u32>(CONTROL, C_HIGH_WATER)) return;
  const mark = ((end - 1) | (WATER_STEP - 1)) + 1;
  store<u32>(CONTROL, mark == 0 || mark > COVERED ? COVERED : mark, C_HIGH_WATER);
}

/** The slot of an address, made if there is none; 0 if there is no room for it. */
export function makeSlot(address: u32): usize {
  let region = regionOf(address);
  if (region == 0) {
    const used = load<u32>(CONTROL, C_SLOTS_NEXT);
    region = SLOTS + used;
    if (region + SLOT_REGION_SIZE > SLOTS_END) return 0;
    store<u32>(CONTROL, used + SLOT_REGION_SIZE, C_SLOTS_NEXT);
    store<u32>(DIRECTORY + ((address >>> REGION_BITS) << 2), region);
    // The first access to a page of fresh memory traps to the system, once more if it was a load and a store follows.
    for (let page: u32 = 0; page < SLOT_REGION_SIZE; page += PAGE_BYTES) store<u32>(region + page, 0);
    // Blocks in slots are small: the common path need not look at the mark.
    const end = (address | ((1 << REGION_BITS) - 1)) + TAG_SIZE_MASK;
    raiseHighWater(end < address ? COVERED : end);
  }
  return slotIn(region, address);
}

/** A new record at the head of a slot's chain. There is one: no more blocks are followed than there are records. */
export function addRecord(slot: usize, address: u32, size: u32, mib: usize, time: u32): usize {
  let offset = load<u32>(CONTROL, C_RECORD_FREE);
  if (offset != 0) store<u32>(CONTROL, load<u32>(RECORDS + offset, R_NEXT), C_RECORD_FREE);
  else {
    const index = load<u32>(CONTROL, C_RECORD_NEXT) + 1;
    store<u32>(CONTROL, index, C_RECORD_NEXT);
    offset = index * RECORD_SIZE;
  }
  const record: usize = RECORDS + offset;
  const tag = load<u32>(slot, SLOT_TAG);
  store<u32>(record, tag == 0 ? 0 : (tag & ~TAG_RECORDED) * RECORD_SIZE, R_NEXT);
  store<u32>(record, address, R_ADDRESS);
  store<u32>(record, mib, R_MIB);
  store<u32>(record, time, R_TIME);
  store<u32>(record, size, R_SIZE);
  store<u64>(record, 0, R_FOLDED);
  store<u32>(slot, (offset / RECORD_SIZE) | TAG_RECORDED, SLOT_TAG);
  return record;
}

/** Gives the block of a slot a record. */
export function moveToRecord(slot: usize, place: u32): usize {
  const tag = load<u32>(slot, SLOT_TAG);
  store<u32>(slot, 0, SLOT_TAG);
  return addRecord(slot, place, sizeOfTag(tag), mibOfTag(tag), load<u32>(slot, SLOT_TIME));
}

/** The record of the live block at `address` in a slot's chain, 0 when there is none. */
export function findRecord(slot: usize, address: u32): usize {
  let record = recordOf(load<u32>(slot, SLOT_TAG));
  while (record != RECORDS) {
    if (load<u32>(record, R_ADDRESS) == address) return record;
    record = RECORDS + load<u32>(record, R_NEXT);
  }
  return 0;
}

/** Takes a record out of a slot's chain. */
export function removeRecord(slot: usize, record: usize): void {
  const offset = record - RECORDS;
  const next = load<u32>(record, R_NEXT);
  let before = recordOf(load<u32>(slot, SLOT_TAG));
  if (before == record) store<u32>(slot, next == 0 ? 0 : (next / RECORD_SIZE) | TAG_RECORDED, SLOT_TAG);
  else {
    while (load<u32>(before, R_NEXT) != offset) before = RECORDS + load<u32>(before, R_NEXT);
    store<u32>(before, next, R_NEXT);
  }
  store<u32>(record, load<u32>(CONTROL, C_RECORD_FREE), R_NEXT);
  store<u32>(CONTROL, offset, C_RECORD_FREE);
}

/** The record of the live block that `address` lies in, made if it has none; 0 when there is no block. */
export function recordAround(address: u32): usize {
  let place = address & ~TAG_PLACE_MASK;
  while (true) {
    const region = regionOf(place);
    if (region == 0) place &= ~((1 << REGION_BITS) - 1);
    else {
      const slot = slotIn(region, place);
      const tag = load<u32>(slot, SLOT_TAG);
      if (tag != 0) {
        if ((tag & TAG_RECORDED) == 0) {
          const start = place | (tag & TAG_PLACE_MASK);
          if (start <= address) return address - start < sizeOfTag(tag) ? moveToRecord(slot, start) : 0;
        } else {
          let below = false;
          for (let record = recordOf(tag); record != RECORDS; record = RECORDS + load<u32>(record, R_NEXT)) {
            const start = load<u32>(record, R_ADDRESS);
            if (start > address) continue;
            if (address - start < load<u32>(record, R_SIZE)) return record;
            below = true;
          }
          if (below) return 0;
        }
      }
    }
    if (place == 0) return 0;
    place -= TAG_PLACE_MASK + 1;
  }
}
