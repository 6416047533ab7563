// Records at the exit what a program with a tool's code in it has loaded and mapped. Objects may have run
// unchanged, and those that allocate nothing are recorded nowhere else.
import { askAllocator } from "./allocator-info";
import { Thread } from "./layout.generated";
import { lock, unlock } from "./lock";
import { keepMaps } from "./mapped";
import { takeLoaded } from "./modules";
import { isInserted, isOpen } from "./open";
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
