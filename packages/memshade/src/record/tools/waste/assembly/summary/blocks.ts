// Blocks of the heap and frames of the stack in summary mode.
import { outside } from "./accesses";
import { writeRange } from "./ranges";
import { moveBytes } from "./bytes";
import { areGone, invalidate } from "./gone";
import { claim } from "./claim";
import { markDirty } from "../dirty";
import { blockBegins, blockEnds, blockGrows, blockMoves } from "./objects";
import { REALLOC_FORGETS, setStackPointer, stackPointer } from "../imports";
import { LARGEST_FRAME, keepSize, notePages, siteOfZeros, takeBlockSize } from "../memory";

/** The bytes of a new block. Mostly those of another one that has ended. */
@inline
function begin(address: u32, size: u32): void {
  claim(address, size);
  if (!areGone(address, size)) invalidate(address, size);
}

export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  notePages();
  const site = siteOfZeros(zeroedBy);
  if (address === 0 || outside(address, size)) return;
  begin(address, size);
  keepSize(address, size);
  blockBegins(address, size);
  if (site !== 0) writeRange(address, size, site, false);
}

export function released(address: u32): void {
  const size = takeBlockSize(address);
  if (size === 0) return;
  blockEnds(address, size);
  invalidate(address, size);
}

export function reallocated(old: u32, address: u32, size: u32): void {
  notePages();
  if (old === 0) {
    allocated(address, size, 0);
    return;
  }
  if (address === 0) {
    if (size === 0) released(old);
    return;
  }
  if (outside(address, size)) return;
  const before = takeBlockSize(old);
  const kept = min(before, size);
  if (address === old) {
    if (size < before) invalidate(address + size, before - size);
    else if (size > before) {
      invalidate(address + before, size - before);
      blockGrows(address, before, size);
    }
  } else {
    begin(address, size);
    markDirty(address, size);
    const moved = REALLOC_FORGETS === 0 ? kept : 0;
    blockBegins(address, size);
    blockMoves(old, address, kept);
    if (moved !== 0) moveBytes(address, old, moved);
    invalidate(old + moved, before - moved);
  }
  keepSize(address, size);
}

export function stackMoved(from: u32, to: u32): void {
  if (to < from) {
    if (from - to <= LARGEST_FRAME && !outside(to, from - to) && !areGone(to, from - to))
      invalidate(to, from - to);
  } else if (to - from <= LARGEST_FRAME && !outside(from, to - from)) invalidate(from, to - from);
}

/** In the place of setting the stack pointer. */
export function moved(to: u32): void {
  stackMoved(stackPointer(), to);
  setStackPointer(to);
}
