// Maps blocks to slots. This is the version for WebAssembly programs; the build replaces it by another file
// for native programs.
import { LARGEST_UNMARKED } from "./layout.generated";
import { Address } from "./program";
import { makeSlot, regionOf, slotIn } from "./records";

export const LARGEST_IN_SLOT: u32 = LARGEST_UNMARKED;

@inline
export function slotFor(address: Address, _size: u32): usize {
  return makeSlot(address);
}

/** Returns the slot of the live block at an address; 0 if the region has no slots. */
@inline
export function slotOf(address: Address): usize {
  const region = regionOf(address);
  return region === 0 ? 0 : slotIn(region, address);
}
