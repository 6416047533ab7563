// Hooks for memory that the program maps itself, if that is recorded: a range is a block. Ranges that
// allocators map are left out, since their blocks are recorded.
// The system call is made under the lock. Otherwise another thread could get addresses that the tables still
// assign to a range.
import { isOfAllocator } from "../foreign/allocator";
import { Thread, Tls } from "../layout.generated";
import { lock, unlock } from "../lock";
import {
  framePointer,
  libcMlockall,
  libcMmap,
  libcMremap,
  libcMunmap,
  returnAddress,
  stackPointer,
  tlsLoad,
  tlsStore,
} from "../machine";
import { isOpen, isOver } from "../open";
import { countUnrecorded, currentThread } from "../threads";
import { walk } from "../walk";
import { mapped, remapped, unmapped } from "./ranges";

const FAILED: u64 = <u64>-1;
/** MREMAP_DONTUNMAP */
const KEEPS_OLD: u64 = 4;
/** MCL_ONFAULT */
const ON_FAULT: u32 = 4;

/**
 * Returns false if the call comes from an allocator, or if there is no memory. The caller then calls the next
 * definition directly.
 */
@inline
function enter(caller: u64): bool {
  if (tlsLoad(Tls.guard) !== 0 || !isOpen() || isOver()) return false;
  if (isOfAllocator(caller)) return false;
  tlsStore(Tls.guard, 1);
  return true;
}

/** Walks the stack, then takes the lock. Returns the thread; 0 if the lock was not taken. */
@inline
function begin(place: u64, address: u64, rbp: u64): u32 {
  const thread = currentThread();
  if (thread === 0) return 0;
  walk(thread, place, address, rbp);
  return lock(thread + Thread.room) ? thread : 0;
}

@inline
function end(thread: u32): void {
  if (thread !== 0) unlock();
  else countUnrecorded();
  tlsStore(Tls.guard, 0);
}

export function mmap(address: u64, length: u64, protection: u64, flags: u64, file: u64, offset: u64): u64 {
  if (!enter(returnAddress())) return libcMmap(address, length, protection, flags, file, offset);
  const thread = begin(stackPointer(), returnAddress(), framePointer());
  const start = libcMmap(address, length, protection, flags, file, offset);
  if (thread !== 0 && start !== FAILED) mapped(thread, start, length);
  end(thread);
  return start;
}

export function munmap(address: u64, length: u64): u32 {
  if (!enter(returnAddress())) return libcMunmap(address, length);
  const own = currentThread();
  const thread = own !== 0 && lock(own + Thread.room) ? own : 0;
  const failure = libcMunmap(address, length);
  if (thread !== 0 && failure === 0) unmapped(thread, address, length);
  end(thread);
  return failure;
}

export function mremap(old: u64, oldLength: u64, length: u64, flags: u64, address: u64): u64 {
  if (!enter(returnAddress())) return libcMremap(old, oldLength, length, flags, address);
  const thread = begin(stackPointer(), returnAddress(), framePointer());
  const start = libcMremap(old, oldLength, length, flags, address);
  if (thread !== 0 && start !== FAILED) {
    // A length of 0 makes a second range of the same pages.
    if (oldLength === 0 || (flags & KEEPS_OLD) !== 0) mapped(thread, start, length);
    else remapped(thread, old, oldLength, start, length);
  }
  end(thread);
  return start;
}

/** Adds `MCL_ONFAULT`: without it, locking would allocate gigabytes of memshade's own memory. */
export function mlockall(flags: u32): u32 {
  return libcMlockall(isOpen() ? flags | ON_FAULT : flags);
}
