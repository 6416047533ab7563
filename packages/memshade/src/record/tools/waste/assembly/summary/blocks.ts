import { claimProgram, programPages, REALLOC_FORGETS, setStackPointer, stackPointer } from "../imports";
import { Store } from "../layout.generated";
import { keepSize, LARGEST_FRAME, markDirty, notePages, siteOfZeros, takeBlockSize } from "../memory";
import { outside, writeRange } from "./accesses";
import {
  bump,
  claimShadow,
  commonOfLine,
  fillLine,
  gone,
  isFilled,
  isReal,
  LOWEST,
  moveBytes,
} from "./bytes";
import { recordOf, resolveOverflow } from "./ids";
import { blockBegins, blockEnds, blockGrows, blockMoves } from "./objects";

/** Begins a block. Its bytes are mostly those of a block that has ended. */
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
  const keptBytes = min(before, size);
  if (address === old) {
    if (size < before) invalidate(address + size, before - size);
    else if (size > before) {
      invalidate(address + before, size - before);
      blockGrows(address, before, size);
    }
  } else {
    begin(address, size);
    markDirty(address, size);
    const moved = REALLOC_FORGETS === 0 ? keptBytes : 0;
    blockBegins(address, size);
    blockMoves(old, address, keptBytes);
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

/** Replaces an instruction that sets the stack pointer. */
export function moved(to: u32): void {
  stackMoved(stackPointer(), to);
  setStackPointer(to);
}

// Writes to the pages of new blocks before they are read. A page that is read first costs the process a page of zeros,
// and a second page fault when it is written.

const PAGE: u32 = 4096;
/** A block further than this beyond all others starts a new range, since the gap may belong to no block. */
const FAR: u32 = 65536;

/** Start of the pages that no block has used yet. */
let free: u32 = 0;

@inline
function claim(address: u32, size: u32): void {
  if (address + size > free) claimPages(address, address + size);
}

function claimPages(address: u32, end: u32): void {
  const last = min<u64>(end, (<u64>programPages()) << 16);
  if (address > free && address - free > FAR) free = address & ~(PAGE - 1);
  for (; free < <u32>last; free += PAGE) {
    claimProgram(free);
    claimShadow(free);
  }
}

// End of memory: blocks that are released, frames that return. Unread bytes are charged to their stores.

/**
 * True if no store must be charged: all bytes were read, or invalid before. For several words, `ids` has the bits that
 * they share.
 */
@inline
function areNobodys(ids: u64): bool {
  return (ids | LOWEST) === -1;
}

/** Bytes of shadow memory that are checked together in large ranges. */
const PIECE: u32 = 128;

/** Ends the memory. Bytes that were not read are charged to their writers. */
function invalidate(address: u32, size: u32): void {
  resolveOverflow(address, size, Store.deallocated);
  let at: usize = address << 1;
  if (size >= PIECE >>> 1) at = invalidatePieces(at, size);
  // The words are as wide as the stores that filled them: when a frame ends, these are still in the processor's store
  // buffer.
  if ((size & 32) !== 0) {
    invalidateHalf(at);
    invalidateHalf(at + 32);
    at += 64;
  }
  if ((size & 16) !== 0) {
    invalidateHalf(at);
    at += 32;
  }
  if ((size & 8) !== 0) {
    invalidateWord(at);
    invalidateWord(at + 8);
    at += 16;
  }
  if ((size & 4) !== 0) {
    invalidateWord(at);
    at += 8;
  }
  if ((size & 3) === 0) return;
  const laterLanes: u64 = (<u64>-1) << ((size & 3) << 4);
  const ids = load<u64>(at);
  if (!areNobodys(ids | laterLanes)) chargeWord(ids | laterLanes);
  store<u64>(at, (ids & laterLanes) | (gone() & ~laterLanes));
}

@inline
function invalidateWord(at: usize): void {
  if (!areNobodys(load<u64>(at))) chargeWord(load<u64>(at));
  store<u64>(at, gone());
}

@inline
function invalidateHalf(at: usize): void {
  if (!areNobodys(load<u64>(at) & load<u64>(at, 8) & load<u64>(at, 16) & load<u64>(at, 24)))
    chargeWords(at, 32);
  const invalidIds = i64x2.splat(gone());
  v128.store(at, invalidIds);
  v128.store(at, invalidIds, 16);
}

/** Returns the bits in which the ids of 16 bytes differ from those of invalid ones. */
@inline
function notGone(at: usize): v128 {
  const invalidIds = i64x2.splat(gone());
  return v128.or(v128.xor(v128.load(at), invalidIds), v128.xor(v128.load(at, 16), invalidIds));
}

@inline
function isPieceGone(at: usize): bool {
  const low = v128.or(notGone(at), notGone(at + 32));
  return !v128.any_true(v128.or(low, v128.or(notGone(at + 64), notGone(at + 96))));
}

/**
 * True if all bytes of a range are invalid. Checks both ends of the range, which may overlap: few branches, since
 * blocks have all sizes.
 */
function areGone(address: u32, size: u32): bool {
  const at: usize = address << 1;
  const end: usize = (address + size) << 1;
  if (size < 16) {
    if (size < 4) return false;
    let difference = (load<u64>(at) ^ gone()) | (load<u64>(end - 8) ^ gone());
    if (size > 8) difference |= (load<u64>(at, 8) ^ gone()) | (load<u64>(end - 16) ^ gone());
    return difference === 0;
  }
  let difference = v128.or(notGone(at), notGone(end - 32));
  if (size > 32) difference = v128.or(difference, v128.or(notGone(at + 32), notGone(end - 64)));
  if (size > 64) {
    difference = v128.or(difference, v128.or(notGone(at + 64), notGone(end - 96)));
    difference = v128.or(difference, v128.or(notGone(at + 96), notGone(end - 128)));
  }
  if (v128.any_true(difference)) return false;
  for (let next = address + 64; size > 128; size -= 64, next += 64) if (!isPieceGone(next << 1)) return false;
  return true;
}

/** Ends the whole pieces of a range and returns where they end. In large blocks, long stretches belong to one store. */
function invalidatePieces(at: usize, size: u32): usize {
  const invalidIds = i64x2.splat(gone());
  const lowest = i64x2.splat(LOWEST);
  const end = at + ((size << 1) & ~(PIECE - 1));
  for (; at !== end; at += PIECE) {
    if (v128.any_true(v128.not(v128.or(commonOfLine(at), lowest)))) {
      if (isFilled(at, load<u16>(at))) chargeGone(load<u16>(at), PIECE >>> 1);
      else chargeWords(at, PIECE);
    }
    fillLine(at, invalidIds);
  }
  return end;
}

function chargeWords(at: usize, bytes: u32): void {
  for (const end = at + bytes; at < end; at += 8) if (!areNobodys(load<u64>(at))) chargeWord(load<u64>(at));
}

function chargeWord(ids: u64): void {
  if (ids === rotl<u64>(ids, 16)) chargeGone(<u32>ids & 0xffff, 4);
  else for (let i = 0; i < 4; i++, ids >>>= 16) chargeGone(<u32>ids & 0xffff, 1);
}

@inline
function chargeGone(id: u32, bytes: u32): void {
  if (isReal(id)) bump(recordOf(id) + Store.deallocated, bytes);
}
