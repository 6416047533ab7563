// Addresses of the program, and the slots of its regions. This is the version for WebAssembly programs; the
// build replaces it by another file for native programs.
import {
  CONTROL,
  COVERED,
  DIRECTORY,
  HEADER_BYTES,
  programLoad64,
  programPages,
  SLOTS,
  SLOTS_END,
} from "./imports";
import { Control, Record, REGION_BITS, SLOT_BITS, SLOT_REGION_BYTES, Tag } from "./layout.generated";

export type Address = u32;

export const PROGRAM_REGION_BITS: u32 = REGION_BITS;
export const PROGRAM_SLOT_BITS: u32 = SLOT_BITS;
export const REGION_SLOTS: u32 = SLOT_REGION_BYTES;
/** Exclusive end of the addresses at which blocks are recorded. */
export const END: Address = COVERED;

const PAGE_BITS = 16;
const WATER_STEP: u32 = 4096;
const PAGE_BYTES: u32 = 4096;

@inline
export function directoryEntry(address: Address): usize {
  return DIRECTORY + ((address >>> REGION_BITS) << 2);
}

export function beginRegion(address: Address): usize {
  const used = load<u32>(CONTROL, Control.slotsNext);
  const region: usize = SLOTS + used;
  if (region + SLOT_REGION_BYTES > SLOTS_END) return 0;
  store<u32>(CONTROL, used + SLOT_REGION_BYTES, Control.slotsNext);
  store<u32>(directoryEntry(address), region);
  // Stores to each page of fresh memory. The first access to a page traps to the system; a load first and a
  // store later would trap twice.
  for (let page: u32 = 0; page < SLOT_REGION_BYTES; page += PAGE_BYTES) store<u32>(region + page, 0);
  // Blocks in slots are small, so the mark is set once per region, and the common path need not check it.
  const end = (address | ((1 << REGION_BITS) - 1)) + Tag.sizeMask;
  raiseHighWater(end < address ? COVERED : end);
  return region;
}

/** Raises the high-water mark: all memory below `end` has been in use. */
export function raiseHighWater(end: Address): void {
  if (end <= load<u32>(CONTROL, Control.highWater)) return;
  const mark = ((end - 1) | (WATER_STEP - 1)) + 1;
  store<u32>(CONTROL, mark === 0 || mark > COVERED ? COVERED : mark, Control.highWater);
}

@inline
export function keepAddress(record: usize, address: Address): void {
  store<u32>(record, address, Record.address);
}
@inline
export function addressOf(record: usize): Address {
  return load<u32>(record, Record.address);
}

/** Flags in the headers of dlmalloc's blocks: this block is in use, and the block before it is in use. */
const IN_USE: u32 = 2;
const FRONT_IN_USE: u32 = 1;
const FLAGS: u32 = 7;

/**
 * Returns the bytes of a block in use, from the header word of dlmalloc, the allocator of nearly every
 * program. 0 if the address is no such block: its size must be whole words, and the next block's header must
 * mark it as in use.
 */
export function bytesByHeader(address: Address): u32 {
  if (address < 2 * HEADER_BYTES || (address & FLAGS) !== 0) return 0;
  const at = address - HEADER_BYTES;
  if (!isReadable(at, 8, 8)) return 0;
  const header = programLoad64(at);
  if (HEADER_BYTES === 8 && header >>> 32 !== 0) return 0;
  const size = <u32>header & ~FLAGS;
  if ((<u32>header & IN_USE) === 0 || size < 4 * HEADER_BYTES || at + size < at) return 0;
  if (!isReadable(at + size, 8, 8) || (<u32>programLoad64(at + size) & FRONT_IN_USE) === 0) return 0;
  return size - HEADER_BYTES;
}

/** True if bytes of the program's memory can be read. They are a part of a range of `_whole` bytes. */
@inline
export function isReadable(address: Address, bytes: u32, _whole: u32): bool {
  return (address + bytes - 1) >>> PAGE_BITS < programPages();
}
