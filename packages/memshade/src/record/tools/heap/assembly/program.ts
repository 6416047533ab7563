// Addresses of the program, and where the slots of its regions are: what differs between WebAssembly programs and native ones. This
// is the side of WebAssembly; the build puts another file in its place for native programs.
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

/** Bits of an address within its region. */
export const PROGRAM_REGION_BITS: u32 = REGION_BITS;
/** Bits of an address within its slot. */
export const PROGRAM_SLOT_BITS: u32 = SLOT_BITS;
/** Bytes of slots per region. */
export const REGION_SLOTS: u32 = SLOT_REGION_BYTES;
/** Behind the last address that blocks are followed at. */
export const END: Address = COVERED;

const PAGE_BITS = 16;
/** The high water mark rises in such steps. */
const WATER_STEP: u32 = 4096;
/** The system hands out memory in such pages, at least. */
const PAGE_BYTES: u32 = 4096;

/** Where the directory says where the slots of an address's region are. */
@inline
export function directoryEntry(address: Address): usize {
  return DIRECTORY + ((address >>> REGION_BITS) << 2);
}

/** The slots of a region that has none yet; 0: there is no room for them. */
export function beginRegion(address: Address): usize {
  const used = load<u32>(CONTROL, Control.slotsNext);
  const region: usize = SLOTS + used;
  if (region + SLOT_REGION_BYTES > SLOTS_END) return 0;
  store<u32>(CONTROL, used + SLOT_REGION_BYTES, Control.slotsNext);
  store<u32>(directoryEntry(address), region);
  // The first access to a page of fresh memory traps to the system, once more if it was a load and a store follows.
  for (let page: u32 = 0; page < SLOT_REGION_BYTES; page += PAGE_BYTES) store<u32>(region + page, 0);
  // Blocks in slots are small: the common path need not look at the mark.
  const end = (address | ((1 << REGION_BITS) - 1)) + Tag.sizeMask;
  raiseHighWater(end < address ? COVERED : end);
  return region;
}

/** Everything below `end` has been in use. */
export function raiseHighWater(end: Address): void {
  if (end <= load<u32>(CONTROL, Control.highWater)) return;
  const mark = ((end - 1) | (WATER_STEP - 1)) + 1;
  store<u32>(CONTROL, mark === 0 || mark > COVERED ? COVERED : mark, Control.highWater);
}

/** A record has the address of its block. */
@inline
export function keepAddress(record: usize, address: Address): void {
  store<u32>(record, address, Record.address);
}
@inline
export function addressOf(record: usize): Address {
  return load<u32>(record, Record.address);
}

/** Flags in the header of dlmalloc's blocks: this one, and the one in front of it, is in use. */
const IN_USE: u32 = 2;
const FRONT_IN_USE: u32 = 1;
const FLAGS: u32 = 7;

/**
 * The bytes of a block in use as dlmalloc, which nearly every program has, notes them in the word in front of it; 0 where no block of it
 * is: that has a size of whole words, and the next one behind it says that it is in use.
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

/** Whether bytes of the program's memory can be read, a part of `_whole` ones. */
@inline
export function isReadable(address: Address, bytes: u32, _whole: u32): bool {
  return (address + bytes - 1) >>> PAGE_BITS < programPages();
}
