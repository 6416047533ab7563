// Records at the exit what a program with a tool's code in it has loaded and mapped. Objects may have run
// unchanged, and those that allocate nothing are recorded nowhere else.
import { askAllocator } from "./allocator-info";
import { MAPS_BYTES, Place, Text, Thread } from "./layout.generated";
import { lock, unlock } from "./lock";
import { load64, memorySlot, syscall1, syscall3, syscall4, text } from "./machine";
import { takeLoaded } from "./modules";
import { isInserted, isOpen } from "./open";
import { AT_FDCWD, CLOSE, O_RDONLY_CLOEXEC, OPENAT, READ } from "./system-calls";
import { currentThread } from "./threads";

export function finalize(): void {
  if (!isOpen()) return;
  // Inserted code would count the allocator's own accesses.
  if (!isInserted()) {
    askAllocator();
    return;
  }
  takeLater();
  keepMaps();
}

export function takeLater(): void {
  const thread = currentThread();
  if (thread === 0 || !lock(thread + Thread.room)) return;
  takeLoaded();
  unlock();
}

/** Stores the kernel's list of mappings. The parent may read it too late. */
function keepMaps(): void {
  const file = syscall4(OPENAT, AT_FDCWD, text() + Text.maps, O_RDONLY_CLOEXEC, 0);
  if (file < 0) return;
  const at = load64(memorySlot()) + Place.maps;
  let done: u64 = 0;
  while (done < <u64>MAPS_BYTES) {
    const more = syscall3(READ, file, at + done, <u64>MAPS_BYTES - done);
    if (more <= 0) break;
    done += more;
  }
  syscall1(CLOSE, file);
}
