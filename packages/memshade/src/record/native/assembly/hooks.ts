// Hooks for the allocator's functions. A record is removed before its block is freed, and made after the
// block was allocated: another thread may get the same address at once.
import { dropBlock, endBlock, followBlock } from "../tools/waste/assembly/followed";
import { give, invalidate, isCompatible, move } from "../tools/waste/assembly/gone";
import * as blocks from "./blocks";
import { countInside } from "./foreign/allocator";
import { takeLater } from "./finalize";
import { Text, Thread, Tls } from "./layout.generated";
import { lock, unlock } from "./lock";
import {
  framePointer,
  libcAlignedAlloc,
  libcCalloc,
  libcDlclose,
  libcFork,
  libcFree,
  libcMalloc,
  libcMemalign,
  libcPosixMemalign,
  libcPvalloc,
  libcRealloc,
  libcReallocarray,
  libcUsableSize,
  libcValloc,
  load32,
  load64,
  returnAddress,
  stackPointer,
  text,
  tlsLoad,
  tlsStore,
} from "./machine";
import { forgetUnloaded } from "./modules";
import { isInserted, isOpen, isOver, memory_open } from "./open";
import { countNullFree, countUnrecorded, currentThread } from "./threads";
import { walk } from "./walk";

/**
 * Returns false if the call comes from inside a hook, or if there is no memory. The caller then calls the
 * next definition directly.
 */
@inline
export function enter(): bool {
  if (tlsLoad(Tls.guard) === 0 && isOpen()) {
    if (isOver()) return false;
    tlsStore(Tls.guard, 1);
    return true;
  }
  if (isOpen()) countInside(returnAddress());
  return false;
}

@inline
export function leave(): void {
  tlsStore(Tls.guard, 0);
}

/**
 * True if the inserted code follows which stores are read. The hooks then invalidate the bytes of blocks that
 * begin or end.
 */
@inline
export function isWaste(): bool {
  return load32(text() + Text.isWaste) !== 0;
}

/** `block`: 0 if the allocation failed. */
export function record(block: u64, size: u64, place: u64, address: u64, rbp: u64): void {
  if (isWaste()) {
    if (block !== 0) {
      invalidate(block, libcUsableSize(block));
      followBlock(block, size, place, address, rbp);
    }
    leave();
    return;
  }
  const thread = block === 0 ? 0 : currentThread();
  if (thread !== 0) {
    walk(thread, place, address, rbp);
    if (lock(thread + Thread.room)) {
      blocks.begin(thread, block, size);
      unlock();
    } else countUnrecorded();
  } else if (block !== 0) countUnrecorded();
  leave();
}

export function malloc(size: u64): u64 {
  if (!enter()) return libcMalloc(size);
  const block = libcMalloc(size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block;
}

export function calloc(count: u64, size: u64): u64 {
  if (!enter()) return libcCalloc(count, size);
  const block = libcCalloc(count, size);
  record(block, count * size, stackPointer(), returnAddress(), framePointer());
  if (block !== 0 && isWaste()) give(block, count * size);
  return block;
}

export function memalign(alignment: u64, size: u64): u64 {
  if (!enter()) return libcMemalign(alignment, size);
  const block = libcMemalign(alignment, size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block;
}

export function aligned_alloc(alignment: u64, size: u64): u64 {
  if (!enter()) return libcAlignedAlloc(alignment, size);
  const block = libcAlignedAlloc(alignment, size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block;
}

export function posix_memalign(result: u64, alignment: u64, size: u64): u32 {
  if (!enter()) return libcPosixMemalign(result, alignment, size);
  const failure = libcPosixMemalign(result, alignment, size);
  record(failure === 0 ? load64(result) : 0, size, stackPointer(), returnAddress(), framePointer());
  return failure;
}

export function valloc(size: u64): u64 {
  if (!enter()) return libcValloc(size);
  const block = libcValloc(size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block;
}

export function pvalloc(size: u64): u64 {
  if (!enter()) return libcPvalloc(size);
  const block = libcPvalloc(size);
  record(block, size, stackPointer(), returnAddress(), framePointer());
  return block;
}

export function free(block: u64): void {
  if (enter()) {
    forget(block);
    leave();
  }
  libcFree(block);
}

export function forget(block: u64): void {
  if (block === 0) {
    countNullFree();
    return;
  }
  if (isWaste()) {
    endBlock(block);
    invalidate(block, libcUsableSize(block));
    return;
  }
  const thread = currentThread();
  if (thread !== 0 && lock(thread + Thread.room)) {
    blocks.end(block);
    unlock();
  } else countUnrecorded();
}

export function takeOut(old: u64): bool {
  const thread = currentThread();
  if (thread === 0 || !lock(thread + Thread.room)) return false;
  blocks.takeOut(thread, old);
  unlock();
  return true;
}

export function recordChange(old: u64, block: u64, size: u64, place: u64, address: u64, rbp: u64): void {
  const thread = currentThread();
  walk(thread, place, address, rbp);
  if (lock(thread + Thread.room)) {
    blocks.change(thread, old, block, size);
    unlock();
  } else countUnrecorded();
  leave();
}

/**
 * Prepares the reallocation of a block whose unread bytes are followed.
 * @returns the usable bytes of the block
 */
export function cutOff(old: u64, size: u64): u64 {
  const before = libcUsableSize(old);
  dropBlock(old);
  // The bytes beyond the new size end here: later they may belong to another thread.
  if (size < before) invalidate(old + size, before - size);
  return before;
}

/**
 * Moves the state of unread bytes after a reallocation; `block` is 0 if the reallocation failed. Added bytes
 * are invalid.
 */
export function follow(old: u64, block: u64, before: u64): void {
  if (block !== 0) {
    const now = libcUsableSize(block);
    if (block !== old && isCompatible()) {
      invalidate(old, before);
      invalidate(block, now);
    } else {
      if (block !== old) move(old, block, min(before, now));
      if (now > before) invalidate(block + before, now - before);
    }
  }
  leave();
}

function reallocFollowed(old: u64, size: u64): u64 {
  const before = cutOff(old, size);
  const block = libcRealloc(old, size);
  follow(old, block, before);
  return block;
}

export function realloc(old: u64, size: u64): u64 {
  if (!enter()) return libcRealloc(old, size);
  if (old === 0) {
    const first = libcRealloc(old, size);
    record(first, size, stackPointer(), returnAddress(), framePointer());
    return first;
  }
  if (isWaste()) return reallocFollowed(old, size);
  const isOut = takeOut(old);
  const block = libcRealloc(old, size);
  if (isOut) recordChange(old, block, size, stackPointer(), returnAddress(), framePointer());
  else passBy();
  return block;
}

export function reallocarray(old: u64, count: u64, size: u64): u64 {
  const bytes = total(count, size);
  if (bytes === <u64>-1) return libcReallocarray(old, count, size);
  // The C library's reallocarray calls `realloc` by name, and so would enter our hook.
  if (!enter()) return libcRealloc(old, bytes);
  if (old === 0) {
    const first = libcRealloc(old, bytes);
    record(first, bytes, stackPointer(), returnAddress(), framePointer());
    return first;
  }
  if (isWaste()) return reallocFollowed(old, bytes);
  const isOut = takeOut(old);
  const block = libcRealloc(old, bytes);
  if (isOut) recordChange(old, block, bytes, stackPointer(), returnAddress(), framePointer());
  else passBy();
  return block;
}

/** Returns the bytes of an array, or 2^64 - 1 if the product overflows. */
@inline
function total(count: u64, size: u64): u64 {
  return size !== 0 && count > <u64>-1 / size ? <u64>-1 : count * size;
}

export function passBy(): void {
  countUnrecorded();
  leave();
}

export function malloc_usable_size(block: u64): u64 {
  return libcUsableSize(block);
}

/** Gives the child its own counters at once, where accesses are counted. */
export function fork(): u32 {
  const child = libcFork();
  if (child === 0 && !isOpen()) memory_open();
  return child;
}

/** Forgets unloaded objects: another object may get their addresses. */
export function dlclose(handle: u64): u32 {
  if (isInserted() && enter()) {
    takeLater();
    leave();
  }
  const result = libcDlclose(handle);
  if (!enter()) return result;
  const thread = currentThread();
  if (thread !== 0 && lock(thread + Thread.room)) {
    forgetUnloaded();
    unlock();
  }
  leave();
  return result;
}
