// Makes a copy of the process for the parent to read while the process goes on. The copy has the memory at
// that moment, and one thread that only sleeps.
import { Header } from "./layout.generated";
import { load64, memorySlot, syscall1, syscall2, syscall3, syscall6 } from "./machine";
import { CLONE, CLONE_PARENT, CLOSE_RANGE, ESRCH, EXIT_GROUP, GETTID, KILL, NANOSLEEP } from "./system-calls";

const EVERYTHING: u64 = 0xffff_ffff;
const PAUSE_NS: u64 = 50_000_000;

/** Call under the lock. */
export function makeCopy(): void {
  store<u32>(Header.copyAsked, 0);
  store<u32>(Header.copier, <u32>syscall1(GETTID, 0));
  // The page with this address is empty in the copy.
  const memory = load64(memorySlot());
  const copy = syscall6(CLONE, CLONE_PARENT, 0, 0, 0, 0, 0);
  if (copy === 0) beCopy(memory);
  store<u32>(Header.copy, <u32>copy);
}

/**
 * Closes all files, so that readers of the process's output do not wait for the copy. The parent ends the
 * copy, or the copy exits when the parent is gone.
 */
function beCopy(memory: u64): void {
  syscall3(CLOSE_RANGE, 0, EVERYTHING, 0);
  store<u64>(Header.copyPause, 0);
  store<u64>(Header.copyPause + 8, PAUSE_NS);
  while (syscall2(KILL, load<u32>(Header.watcher), 0) !== -ESRCH)
    syscall2(NANOSLEEP, memory + Header.copyPause, 0);
  syscall1(EXIT_GROUP, 0);
}
