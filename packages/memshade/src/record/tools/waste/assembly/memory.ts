// What both modes note of the program's memory: how large it is, the sizes of blocks and frames, and who asks for zeros.

import {
  CONTROL,
  COVERED,
  DIRTY,
  DIRTY_LIST,
  MOST_PAGES,
  programPages,
  SIZES,
  ZERO_IS_VALID,
} from "./imports";
import { Control, DIRTY_LINE_SHIFT } from "./layout.generated";

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

// Lines of 256 bytes that were written since an opaque host was last in control: a byte for each line, and a list of those
// that are set. What the host may have read costs as much as was written since, however large the memory is.

export const NO_LINE: u32 = 0xffffffff;

/** A line that was clean is written: `address` is in it. Inline stores have looked. */
export function markLineDirty(address: u32): void {
  const line = address >>> DIRTY_LINE_SHIFT;
  store<u8>(DIRTY + line, 1);
  const count = load<u32>(CONTROL, Control.dirtyLines);
  store<u32>(DIRTY_LIST + (count << 2), line);
  store<u32>(CONTROL, count + 1, Control.dirtyLines);
}

@inline
export function markDirty(address: u32, size: u32): void {
  if (DIRTY === 0 || size === 0) return;
  const last = (address + size - 1) >>> DIRTY_LINE_SHIFT;
  for (let line = address >>> DIRTY_LINE_SHIFT; line <= last; line++)
    if (load<u8>(DIRTY + line) === 0) markLineDirty(line << DIRTY_LINE_SHIFT);
}

/** An opaque host is in control: it may have read the zeros of the system too. There is no list of these: all up to here count as read. */
export function showZeros(): void {
  store<u32>(CONTROL, min<u32>(programPages(), COVERED >>> 16) << 16, Control.hostEnd);
}

/** Whether zeros may have been read that nobody has loaded. */
@inline
export function showsZeros(): bool {
  return DIRTY !== 0 && ZERO_IS_VALID !== 0;
}

/** The end of memory whose zeros have been read. */
@inline
export function shownEnd(): u32 {
  return load<u32>(CONTROL, Control.hostEnd);
}

/** A line that is dirty, and is not any more; `NO_LINE` if there is none. */
export function takeDirty(): u32 {
  const count = load<u32>(CONTROL, Control.dirtyLines);
  if (count === 0) return NO_LINE;
  store<u32>(CONTROL, count - 1, Control.dirtyLines);
  const line = load<u32>(DIRTY_LIST + ((count - 1) << 2));
  store<u8>(DIRTY + line, 0);
  return line;
}
