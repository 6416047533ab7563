// Replaces `tools/heap/assembly/program.ts` for native programs.
import { CONTROL } from "../../../tools/heap/assembly/imports";
import { Control, Record } from "../../../tools/heap/assembly/layout.generated";
import {
  ADDRESS_BITS,
  Header,
  MOST_PARTS,
  NATIVE_REGION_BITS,
  NATIVE_REGION_SLOTS,
  NATIVE_SLOT_BITS,
  PART_BITS,
  PART_BYTES,
  Place,
  StartedPart,
  STARTED_PART_BYTES,
} from "../layout.generated";
import { isMapped } from "../probe";

export type Address = u64;

export const PROGRAM_REGION_BITS: u32 = NATIVE_REGION_BITS;
export const PROGRAM_SLOT_BITS: u32 = NATIVE_SLOT_BITS;
export const REGION_SLOTS: u32 = NATIVE_REGION_SLOTS;
export const END: Address = (<u64>1) << ADDRESS_BITS;

const PAGE_BYTES: u64 = 4096;

/**
 * Every address maps to a part. An address beyond the end, which no block has, maps to the part of another
 * address.
 */
@inline
function partNumber(address: Address): u32 {
  return <u32>(address >>> PART_BITS) & ((1 << (ADDRESS_BITS - PART_BITS)) - 1);
}

/** All parts without regions share the first one. */
@inline
function partAt(number: u32): usize {
  return Place.slots + load<u32>(Place.directory + (number << 2));
}

@inline
function entryIn(part: usize, address: Address): usize {
  return part + (<u32>(address >>> (NATIVE_REGION_BITS - 2)) & (PART_BYTES - 4));
}

@inline
export function directoryEntry(address: Address): usize {
  return entryIn(partAt(partNumber(address)), address);
}

/** Takes bytes from the memory of slots; 0 if there is no room. */
function take(bytes: u32): usize {
  const used = max(load<u32>(CONTROL, Control.slotsNext), PART_BYTES);
  if (Place.slots + used + bytes > Place.slotsEnd) return 0;
  store<u32>(CONTROL, used + bytes, Control.slotsNext);
  return Place.slots + used;
}

/** Begins a part, and adds it to the list of parts, so that readers need not search the whole directory. */
function beginPart(number: u32): usize {
  const index = load<u32>(Header.parts);
  const part = index === MOST_PARTS ? 0 : take(PART_BYTES);
  if (part === 0) return 0;
  const started = Place.parts + index * STARTED_PART_BYTES;
  store<u32>(started, number, StartedPart.number);
  store<u32>(started, part, StartedPart.regions);
  store<u32>(Header.parts, index + 1);
  store<u32>(Place.directory + (number << 2), part - Place.slots);
  return part;
}

/** Returns 0 if there is no room for the slots. */
export function beginRegion(address: Address): usize {
  const number = partNumber(address);
  let part = partAt(number);
  if (part === Place.slots) part = beginPart(number);
  const region = part === 0 ? 0 : take(NATIVE_REGION_SLOTS);
  if (region !== 0) store<u32>(entryIn(part, address), region);
  return region;
}

/** Does nothing: only access counters need the end of the highest block. */
@inline
export function raiseHighWater(_end: Address): void {}

@inline
export function keepAddress(record: usize, address: Address): void {
  store<u32>(record, <u32>address, Record.address);
  store<u32>(record, <u32>(address >>> 32), Record.addressHigh);
}

@inline
export function addressOf(record: usize): Address {
  return ((<u64>load<u32>(record, Record.addressHigh)) << 32) | load<u32>(record, Record.address);
}

/** Returns 0: blocks without a record were allocated by the loader, and their sizes are not needed. */
@inline
export function bytesByHeader(_address: Address): u32 {
  return 0;
}

/**
 * Returns true if a block's memory can be read. Programs protect whole pages, such as guards of stacks, so
 * blocks smaller than a page are readable.
 */
export function isReadable(address: Address, bytes: u32, whole: u32): bool {
  if (whole < <u32>PAGE_BYTES) return true;
  for (let at = address; at < address + bytes; at = (at & ~(PAGE_BYTES - 1)) + PAGE_BYTES)
    if (!isMapped(at)) return false;
  return true;
}
