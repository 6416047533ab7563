// State of the program's memory that both modes record: its size, the sizes of blocks and frames, and the callers that
// ask for zeros.

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
 * Called before `memory.grow`. Returns the pages to request: more than any memory has if the request must fail. A
 * request that would fail without the tool too is not counted as refused.
 */
export function growing(pages: u32): u32 {
  const wanted = <u64>programPages() + pages;
  if (wanted <= <u64>(COVERED >>> 16)) return pages;
  if (wanted > <u64>MOST_PAGES) return 0xffffffff;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.refused) + 1, Control.refused);
  store<u32>(CONTROL, max<u32>(load<u32>(CONTROL, Control.asked), <u32>wanted), Control.asked);
  return 0xffffffff;
}

export function grown(before: i32): i32 {
  notePages();
  return before;
}

export function keepSize(address: u32, size: u32): void {
  store<u32>(SIZES + ((address >>> 3) << 2), size + 1);
}

/** Largest frame, bytes. A larger change of the stack pointer switches to another stack. */
export const LARGEST_FRAME: u32 = 2000000;

/**
 * Returns the store site of a new block's zeros: the call that asked for them if it is known, else `zeroedBy`. 0: the
 * block has no zeros.
 */
@inline
export function siteOfZeros(zeroedBy: u32): u32 {
  if (zeroedBy === 0) return 0;
  const caller = load<u32>(CONTROL, Control.zeroedSite);
  store<u32>(CONTROL, 0, Control.zeroedSite);
  return caller === 0 ? zeroedBy : caller;
}

@inline
export function takeBlockSize(address: u32): u32 {
  const size = takeSize(address);
  return size === 0 ? 0 : size - 1;
}

/** Removes the block at an address and returns its size plus one; 0 if there is none. */
export function takeSize(address: u32): u32 {
  if (address === 0 || address >= COVERED) return 0;
  const at = SIZES + ((address >>> 3) << 2);
  const size = load<u32>(at);
  store<u32>(at, 0);
  return size;
}

// Dirty lines: lines of 256 bytes that were written since an opaque host was last in control. A byte per line marks
// them, a list has their numbers. Handling the host's reads thus costs as much as was written, however large the memory
// is.

export const NO_LINE: u32 = 0xffffffff;

/** Marks the line of `address` dirty. Inline stores have checked that it is clean. */
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

/** Records that an opaque host may have read the zeros of the system too: all memory up to its current end. */
export function showZeros(): void {
  store<u32>(CONTROL, min<u32>(programPages(), COVERED >>> 16) << 16, Control.hostEnd);
}

/** True if the host may have read zeros that the program has not loaded. */
@inline
export function showsZeros(): bool {
  return DIRTY !== 0 && ZERO_IS_VALID !== 0;
}

@inline
export function shownEnd(): u32 {
  return load<u32>(CONTROL, Control.hostEnd);
}

export function takeDirty(): u32 {
  const count = load<u32>(CONTROL, Control.dirtyLines);
  if (count === 0) return NO_LINE;
  store<u32>(CONTROL, count - 1, Control.dirtyLines);
  const line = load<u32>(DIRTY_LIST + ((count - 1) << 2));
  store<u8>(DIRTY + line, 0);
  return line;
}
