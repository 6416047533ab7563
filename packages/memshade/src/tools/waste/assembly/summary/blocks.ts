// Blocks of the heap and frames of the stack in the engine with one id per byte.
import { outside } from "./accesses";
import { writeRange } from "./ranges";
import { areGone, invalidate, moveBytes } from "./bytes";
import { claim } from "./claim";
import { markDirty } from "../dirty";
import { CONTROL, REALLOC_FORGETS } from "../imports";
import { Control } from "../layout.generated";
import { keepSize, notePages, takeSize } from "../memory";

/** The bytes of a new block. Mostly those of another one that has ended. */
@inline function begin(address: u32, size: u32): void {
  claim(address, size);
  if (!areGone(address, size)) invalidate(address, size);
}

export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  notePages();
  let site = zeroedBy;
  if (zeroedBy != 0) {
    // The call that asked for the zeros, where it is known.
    const caller = load<u32>(CONTROL, Control.zeroedSite);
    if (caller != 0) site = caller;
    store<u32>(CONTROL, 0, Control.zeroedSite);
  }
  if (address == 0 || outside(address, size)) return;
  begin(address, size);
  keepSize(address, size);
  if (site != 0) writeRange(address, size, site, false);
}

export function released(address: u32): void {
  const known = takeSize(address);
  if (known != 0) invalidate(address, known - 1);
}

export function reallocated(old: u32, address: u32, size: u32): void {
  notePages();
  if (old == 0) { allocated(address, size, 0); return; }
  if (address == 0) {
    if (size == 0) released(old);
    return;
  }
  if (outside(address, size)) return;
  const known = takeSize(old);
  const before: u32 = known == 0 ? 0 : known - 1;
  const kept = min(before, size);
  if (address == old) {
    if (size < before) invalidate(address + size, before - size);
    else if (size > before) invalidate(address + before, size - before);
  } else {
    begin(address, size);
    markDirty(address, size);
    const moved = REALLOC_FORGETS == 0 ? kept : 0;
    if (moved != 0) moveBytes(address, old, moved);
    invalidate(old + moved, before - moved);
  }
  keepSize(address, size);
}

/** Frames are not larger; what moves the stack pointer further changes to another stack. */
const LARGEST_FRAME: u32 = 2000000;

export function stackMoved(from: u32, to: u32): void {
  if (to < from) {
    if (from - to <= LARGEST_FRAME && !outside(to, from - to) && !areGone(to, from - to)) invalidate(to, from - to);
  } else if (to - from <= LARGEST_FRAME && !outside(from, to - from)) invalidate(from, to - from);
}
