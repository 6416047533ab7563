// What both modes note of the program's memory: how large it is, the sizes of blocks and frames, and who asks for zeros.
import { CONTROL, COVERED, MOST_PAGES, SIZES, programPages } from "./imports";
import { Control } from "./layout.generated";

export function notePages(): void {
  store<u32>(CONTROL, programPages(), Control.pages);
}

/**
 * Before `memory.grow`: the pages that are asked for, or more than any memory has, so that it fails. What would fail without the tool
 * too is not the tool's doing, and is not noted.
 */
export function growing(pages: u32): u32 {
  const wanted = <u64>programPages() + pages;
  if (wanted <= <u64>(COVERED >>> 16)) return pages;
  if (wanted > <u64>MOST_PAGES) return 0xffffffff;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.refused) + 1, Control.refused);
  store<u32>(CONTROL, max<u32>(load<u32>(CONTROL, Control.asked), <u32>wanted), Control.asked);
  return 0xffffffff;
}

/** Behind `memory.grow`, with what it says. */
export function grown(before: i32): i32 {
  notePages();
  return before;
}

export function keepSize(address: u32, size: u32): void {
  store<u32>(SIZES + ((address >>> 3) << 2), size + 1);
}

/** Frames are not larger; what moves the stack pointer further changes to another stack. */
export const LARGEST_FRAME: u32 = 2000000;

/** The store site of a new block's zeros: the call that asked for them where it is known, else `zeroedBy`; 0: there are none. */
@inline
export function siteOfZeros(zeroedBy: u32): u32 {
  if (zeroedBy === 0) return 0;
  const caller = load<u32>(CONTROL, Control.zeroedSite);
  store<u32>(CONTROL, 0, Control.zeroedSite);
  return caller === 0 ? zeroedBy : caller;
}

/** Size of the block at an address, which is forgotten; 0 without one. */
@inline
export function takeBlockSize(address: u32): u32 {
  const size = takeSize(address);
  return size === 0 ? 0 : size - 1;
}

/** One more than the size of the block at an address, which is forgotten; 0 without one. */
export function takeSize(address: u32): u32 {
  if (address === 0 || address >= COVERED) return 0;
  const at = SIZES + ((address >>> 3) << 2);
  const size = load<u32>(at);
  store<u32>(at, 0);
  return size;
}
