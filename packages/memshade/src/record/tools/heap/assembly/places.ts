// Which slot a block belongs to. This is the side of WebAssembly; the build puts another file in its place for native programs.
import { LARGEST_UNMARKED } from "./layout.generated";
import { Address } from "./program";
import { makeSlot, regionOf, slotIn } from "./records";

/** Blocks of more bytes have a record. */
export const LARGEST_IN_SLOT: u32 = LARGEST_UNMARKED;

/** The slot for a block that begins; 0 if there is no room for it. */
@inline
export function slotFor(address: Address, _size: u32): usize {
  return makeSlot(address);
}

/** The slot that the live block at an address is in, if there is one; 0 where there cannot be any. */
@inline
export function slotOf(address: Address): usize {
  const region = regionOf(address);
  return region === 0 ? 0 : slotIn(region, address);
}
