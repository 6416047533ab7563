// What a program with a tool's code in it has loaded meanwhile: it may have run as it is, and nothing else tells of objects that allocate
// nothing.
import { keepMaps } from "../tools/waste/assembly/mapped";
import { Thread } from "./layout.generated";
import { lock, unlock } from "./lock";
import { takeLoaded } from "./modules";
import { isWaste } from "./hooks";
import { isInserted, isOpen } from "./open";
import { currentThread } from "./threads";

/** Runs when the program exits. */
export function finalize(): void {
  if (!isOpen() || !isInserted()) return;
  takeLater();
  if (isWaste()) keepMaps();
}

/** Takes the objects that are loaded by now. */
export function takeLater(): void {
  const thread = currentThread();
  if (thread === 0 || !lock(thread + Thread.room)) return;
  takeLoaded();
  unlock();
}
