// Hooks for functions of allocators other than the C library's. C++ operators that do not call `malloc` need
// hooks of their own. They may throw; nothing of the hook is then left on the stack.
import {
  cutOff,
  enter,
  follow,
  forget,
  isWaste,
  leave,
  passBy,
  record,
  recordChange,
  takeOut,
} from "../hooks";
import {
  framePointer,
  libcAlignedAlloc,
  libcMalloc,
  nextDallocx,
  nextMallocx,
  nextNew,
  nextNewAligned,
  nextNewAlignedNothrow,
  nextNewNothrow,
  nextRallocx,
  nextSdallocx,
  returnAddress,
  stackPointer,
} from "../machine";

/** If `malloc` fails, the next operator reports that in its own way. */
export function operatorNew(size: u64): u64 {
  if (!enter()) return nextNew(size);
  const block = libcMalloc(size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block !== 0 ? block : nextNew(size);
}

export function operatorNewNothrow(size: u64, tag: u64): u64 {
  if (!enter()) return nextNewNothrow(size, tag);
  const block = libcMalloc(size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block !== 0 ? block : nextNewNothrow(size, tag);
}

/**
 * Rounds a size up to the alignment. A size that overflows is returned unchanged, and the allocator rejects
 * it.
 */
@inline
function whole(size: u64, alignment: u64): u64 {
  const rounded = (size + alignment - 1) & ~(alignment - 1);
  return rounded < size ? size : rounded;
}

export function operatorNewAligned(size: u64, alignment: u64): u64 {
  if (!enter()) return nextNewAligned(size, alignment);
  const block = libcAlignedAlloc(alignment, whole(size, alignment));
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block !== 0 ? block : nextNewAligned(size, alignment);
}

export function operatorNewAlignedNothrow(size: u64, alignment: u64, tag: u64): u64 {
  if (!enter()) return nextNewAlignedNothrow(size, alignment, tag);
  const block = libcAlignedAlloc(alignment, whole(size, alignment));
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block !== 0 ? block : nextNewAlignedNothrow(size, alignment, tag);
}

export function mallocx(size: u64, flags: u32): u64 {
  if (!enter()) return nextMallocx(size, flags);
  const block = nextMallocx(size, flags);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block;
}

export function rallocx(old: u64, size: u64, flags: u32): u64 {
  if (!enter()) return nextRallocx(old, size, flags);
  if (isWaste()) {
    const before = cutOff(old, size);
    const block = nextRallocx(old, size, flags);
    follow(old, block, before);
    return block;
  }
  const isOut = takeOut(old);
  const block = nextRallocx(old, size, flags);
  if (isOut) recordChange(old, block, size, stackPointer(), returnAddress(), framePointer());
  else passBy();
  return block;
}

export function dallocx(block: u64, flags: u32): void {
  if (enter()) {
    forget(block);
    leave();
  }
  nextDallocx(block, flags);
}

export function sdallocx(block: u64, size: u64, flags: u32): void {
  if (enter()) {
    forget(block);
    leave();
  }
  nextSdallocx(block, size, flags);
}
