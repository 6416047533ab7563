// What a program with a tool's code in it has loaded and mapped meanwhile: objects may have run as they are, and nothing else tells of those
// that allocate nothing.
import { askAllocator } from "./allocator-info";
import { Thread } from "./layout.generated";
import { lock, unlock } from "./lock";
import { keepMaps } from "./mapped";
import { takeLoaded } from "./modules";
import { isInserted, isOpen } from "./open";
import { currentThread } from "./threads";

/** Runs when the program exits. */
export function finalize(): void {
  if (!isOpen()) return;
  // With a tool's code in it, the allocator's own accesses would be counted.
  if (!isInserted()) {
    askAllocator();
    return;
  }
  takeLater();
  keepMaps();
}

/** Takes the objects that are loaded by now. */
export function takeLater(): void {
  const thread = currentThread();
  if (thread === 0 || !lock(thread + Thread.room)) return;
  takeLoaded();
  unlock();
}
