// A copy of the process for the parent to look at, while the process goes on. It has the memory as it was, and one thread, which does nothing.
import { Header } from "./layout.generated";
import { load64, memorySlot, syscall1, syscall2, syscall3, syscall6 } from "./machine";
import { CLONE, CLONE_PARENT, CLOSE_RANGE, ESRCH, EXIT_GROUP, GETTID, KILL, NANOSLEEP } from "./system-calls";

const EVERYTHING: u64 = 0xffff_ffff;
const PAUSE_NS: u64 = 50_000_000;

/** To be called under the lock. */
export function makeCopy(): void {
  store<u32>(Header.copyAsked, 0);
  store<u32>(Header.copier, <u32>syscall1(GETTID, 0));
  // In the copy the page with the address is empty.
  const memory = load64(memorySlot());
  const copy = syscall6(CLONE, CLONE_PARENT, 0, 0, 0, 0, 0);
  if (copy === 0) beCopy(memory);
  store<u32>(Header.copy, <u32>copy);
}

/** Whoever waits for the end of what the process writes must not wait for this. The parent ends it, or it goes when that is gone. */
function beCopy(memory: u64): void {
  syscall3(CLOSE_RANGE, 0, EVERYTHING, 0);
  store<u64>(Header.copyPause, 0);
  store<u64>(Header.copyPause + 8, PAUSE_NS);
  while (syscall2(KILL, load<u32>(Header.watcher), 0) !== -ESRCH)
    syscall2(NANOSLEEP, memory + Header.copyPause, 0);
  syscall1(EXIT_GROUP, 0);
}
