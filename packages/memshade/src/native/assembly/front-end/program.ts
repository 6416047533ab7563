// Stands in the place of `tools/heap/assembly/program.ts` where native programs are profiled.
import {
  ADDRESS_BITS,
  Header,
  NATIVE_REGION_BITS,
  NATIVE_REGION_SLOTS,
  NATIVE_SLOT_BITS,
  Place,
} from "../layout.generated";
import { isMapped } from "../probe";

export type Address = u64;

export const PROGRAM_REGION_BITS: u32 = NATIVE_REGION_BITS;
export const PROGRAM_SLOT_BITS: u32 = NATIVE_SLOT_BITS;
export const REGION_SLOTS: u32 = NATIVE_REGION_SLOTS;
export const END: Address = (<u64>1) << ADDRESS_BITS;

const PAGE_BYTES: u64 = 4096;

/** Any address has an entry: those beyond the end, which no block has, that of another one. */
@inline
export function directoryEntry(address: Address): usize {
  const region = <u32>(address >>> NATIVE_REGION_BITS) & ((1 << (ADDRESS_BITS - NATIVE_REGION_BITS)) - 1);
  return Place.directory + (region << 2);
}

/** So that whoever reads the tables need not look through the whole directory. */
@inline
export function beginRegion(region: usize, address: Address, _smallest: u32): void {
  const number = (<u32>region - Place.slots) / NATIVE_REGION_SLOTS;
  store<u32>(Place.regions + (number << 2), <u32>(address >>> NATIVE_REGION_BITS));
}

/** Only counters have an end that is to be known. */
@inline
export function raiseHighWater(_end: Address): void {}

/** Records hang on the slot of their 32 bytes, so the high halves of their addresses are equal. */
@inline
export function nearby(low: u32, other: Address): Address {
  return (other & 0xffff_ffff_0000_0000) | low;
}

@inline
export function keepYoungest(address: Address): void {
  store<u32>(Header.youngestHigh, <u32>(address >>> 32));
}
@inline
export function youngestAddress(low: u32): Address {
  return ((<u64>load<u32>(Header.youngestHigh)) << 32) | low;
}

/** Programs protect whole pages of their blocks, as guards of stacks: of those that have any. */
export function isReadable(address: Address, bytes: u32, whole: u32): bool {
  if (whole < <u32>PAGE_BYTES) return true;
  for (let at = address; at < address + bytes; at = (at & ~(PAGE_BYTES - 1)) + PAGE_BYTES)
    if (!isMapped(at)) return false;
  return true;
}
