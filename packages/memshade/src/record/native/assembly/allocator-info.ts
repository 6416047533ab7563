// Stores how much memory the C library's allocator holds when the process exits. `mallinfo2` makes no system
// call, which a program may have forbidden itself.
import { isOfAllocator } from "./foreign/allocator";
import { Header, NextWord, Text, Thread, Tls } from "./layout.generated";
import { lock, processAddress, unlock } from "./lock";
import { libcMallinfo2, load64, text, tlsLoad, tlsStore } from "./machine";
import { currentThread } from "./threads";

/**
 * Has the allocator write its figures into the header, unless the thread is inside the allocator, or
 * `mallinfo2` belongs to another object than `malloc`.
 */
export function askAllocator(): void {
  const ask = load64(text() + Text.next + 8 * NextWord.allocatorInfo);
  if (ask === 0 || tlsLoad(Tls.guard) !== 0) return;
  const thread = currentThread();
  if (thread === 0 || !lock(thread + Thread.room)) return;
  const isItsOwn = isOfAllocator(ask);
  unlock();
  if (!isItsOwn) return;
  tlsStore(Tls.guard, 1);
  libcMallinfo2(processAddress(Header.allocator));
  tlsStore(Tls.guard, 0);
  store<u32>(Header.isAllocatorAsked, 1);
}
