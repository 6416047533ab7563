import {
  C_KEEP_NONE, C_OVERFLOW_BLOCKS, C_RECORD_FREE, C_RECORD_NEXT, C_UNFOLLOWED_BYTES, CONTROL, R_ADDRESS, R_KEY, R_NEXT,
  R_SIZE, RECORD_CAPACITY, RECORD_SIZE, RECORDS, SLOTS, UNUSUAL,
} from "./layout";

/** A full table of which less than one in so many entries can be given back is full of live blocks. */
const WORTHWHILE_SHARE: u32 = 8;

@inline
export function bump32(at: usize, field: usize, by: u32): void { store<u32>(at + field, load<u32>(at + field) + by); }
@inline
export function bump64(at: usize, field: usize, by: u64): void { store<u64>(at + field, load<u64>(at + field) + by); }

/** Address of the head of the chain of blocks that start in the same 16 bytes. */
@inline
export function slotOf(address: u32): usize { return SLOTS + ((address >>> 2) & ~3); }

@inline
export function sizeOf(record: usize): u32 {
  const key = load<u32>(record, R_KEY);
  return key == UNUSUAL ? load<u32>(record, R_SIZE) : key;
}

/** Keeps the common paths away from a live block's record. */
export function makeUnusual(record: usize): void {
  store<u32>(record, sizeOf(record), R_SIZE);
  store<u32>(record, UNUSUAL, R_KEY);
}

@inline
export function recordAt(index: u32): usize { return RECORDS + index * RECORD_SIZE; }

/** The record of the live block at `address`, 0 when there is none. */
export function findRecord(address: u32): usize {
  let offset = load<u32>(slotOf(address));
  while (offset != 0) {
    const record: usize = RECORDS + offset;
    if (load<u32>(record, R_ADDRESS) == address && load<u32>(record, R_KEY) != 0) return record;
    offset = load<u32>(record, R_NEXT);
  }
  return 0;
}

/** The record of the live block that `address` lies in, 0 when there is none. */
export function findAround(address: u32): usize {
  for (let slot = slotOf(address); slot >= SLOTS; slot -= 4) {
    let offset = load<u32>(slot);
    while (offset != 0) {
      const record: usize = RECORDS + offset;
      const start = load<u32>(record, R_ADDRESS);
      const size = sizeOf(record);
      if (size != 0 && start <= address) return address - start < size ? record : 0;
      offset = load<u32>(record, R_NEXT);
    }
  }
  return 0;
}

/** A record for a new block at `address`, at its slot; 0, and the block is only counted, when there is none. */
export function takeRecord(address: u32, size: u32): usize {
  const slot = slotOf(address);
  const head = load<u32>(slot);
  // That of an ended block is alone at its slot.
  if (head != 0 && load<u32>(RECORDS + head, R_KEY) == 0) return RECORDS + head;
  const next = load<u32>(CONTROL, C_RECORD_NEXT) + 1;
  if (load<u32>(CONTROL, C_RECORD_FREE) == 0 && next >= RECORD_CAPACITY) takeBackEnded();
  let offset = load<u32>(CONTROL, C_RECORD_FREE);
  if (offset != 0) store<u32>(CONTROL, load<u32>(RECORDS + offset, R_NEXT), C_RECORD_FREE);
  else if (next < RECORD_CAPACITY) {
    store<u32>(CONTROL, next, C_RECORD_NEXT);
    offset = next * RECORD_SIZE;
  } else {
    bump32(CONTROL, C_OVERFLOW_BLOCKS, 1);
    bump64(CONTROL, C_UNFOLLOWED_BYTES, size);
    return 0;
  }
  const record: usize = RECORDS + offset;
  store<u32>(record, head, R_NEXT);
  store<u32>(slot, offset);
  return record;
}

/** The block of a record has ended: the record stays at its slot for the next one, if it is alone there. */
export function retire(record: usize): void {
  store<u32>(record, 0, R_KEY);
  const offset = record - RECORDS;
  const address = load<u32>(record, R_ADDRESS);
  const slot = slotOf(address);
  const next = load<u32>(record, R_NEXT);
  if (load<u32>(slot) == offset) {
    if (next == 0 && (address & 7) == 0 && load<u32>(CONTROL, C_KEEP_NONE) == 0) return;
    store<u32>(slot, next);
  } else {
    let at = load<u32>(slot);
    while (load<u32>(RECORDS + at, R_NEXT) != offset) at = load<u32>(RECORDS + at, R_NEXT);
    store<u32>(RECORDS + at, next, R_NEXT);
  }
  giveBack(record);
}

function giveBack(record: usize): void {
  store<u32>(record, 0, R_ADDRESS);
  store<u32>(record, load<u32>(CONTROL, C_RECORD_FREE), R_NEXT);
  store<u32>(CONTROL, record - RECORDS, C_RECORD_FREE);
}

/** The table is full: takes the records of all ended blocks from their slots. */
function takeBackEnded(): void {
  if (load<u32>(CONTROL, C_KEEP_NONE) != 0) return;
  let count: u32 = 0;
  for (let index: u32 = 1; index < RECORD_CAPACITY; index++) {
    const record = recordAt(index);
    if (load<u32>(record, R_KEY) != 0) continue;
    store<u32>(slotOf(load<u32>(record, R_ADDRESS)), 0);
    giveBack(record);
    count++;
  }
  if (count >= RECORD_CAPACITY / WORTHWHILE_SHARE) return;
  // Not to do this over and over: from now on no record stays at its slot.
  store<u32>(CONTROL, 1, C_KEEP_NONE);
  for (let index: u32 = 1; index < RECORD_CAPACITY; index++)
    if (load<u32>(recordAt(index), R_KEY) != 0) makeUnusual(recordAt(index));
}
