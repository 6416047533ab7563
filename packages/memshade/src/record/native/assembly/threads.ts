// Keeps the state of each thread, from its first allocation on.
import { beginIn, isSampling, startTimer } from "../sampling/assembly/timers";
import { CONTROL } from "../../tools/heap/assembly/imports";
import { Control } from "../../tools/heap/assembly/layout.generated";
import { Header, MOST_THREADS, Place, THREAD_BYTES, Thread, Tls } from "./layout.generated";
import { processAddress } from "./lock";
import { syscall1, syscall2, syscall3, tlsLoad, tlsStore } from "./machine";
import { ESRCH, GETTID, PR_GET_NAME, PRCTL, TGKILL } from "./system-calls";

@inline
function threadAt(index: u32): u32 {
  return Place.threads + index * THREAD_BYTES;
}

/** Returns the running thread; 0 if there is no room for it. */
@inline
export function currentThread(): u32 {
  const word = tlsLoad(Tls.thread);
  // A forked child has inherited a word that refers to its parent's memory.
  return <u32>(word >>> 32) === load<u32>(Header.process) ? <u32>word : beginThread();
}

function beginThread(): u32 {
  let index = atomic.add<u32>(Header.threads, 1);
  if (index >= MOST_THREADS) {
    store<u32>(Header.threads, MOST_THREADS);
    index = takeDead();
  }
  if (index >= MOST_THREADS) {
    atomic.add<u32>(Header.threadsRefused, 1);
    return 0;
  }
  const thread = threadAt(index);
  memory.fill(thread, 0, Thread.stack);
  store<u32>(thread, <u32>syscall1(GETTID, 0), Thread.id);
  syscall2(PRCTL, PR_GET_NAME, processAddress(thread + Thread.name));
  tlsStore(Tls.thread, ((<u64>load<u32>(Header.process)) << 32) | thread);
  if (isSampling()) startTimer(thread);
  else if (load<u32>(Header.parent) !== 0) beginIn(thread);
  return thread;
}

/** Returns the index of a thread that has ended. */
function takeDead(): u32 {
  const process: u64 = load<u32>(Header.process);
  for (let index: u32 = 0; index < MOST_THREADS; index++) {
    const place = threadAt(index) + Thread.id;
    const id = load<u32>(place);
    if (id === 0 || syscall3(TGKILL, process, id, 0) !== -ESRCH) continue;
    // The exchange succeeds for only one of two threads that find the same index.
    if (atomic.cmpxchg<u32>(place, id, 0) === id) return index;
  }
  return MOST_THREADS;
}

@inline
export function countBlock(thread: u32, size: u64): void {
  store<u64>(thread, load<u64>(thread, Thread.blocks) + 1, Thread.blocks);
  // A block of 0 bytes counts as 1 byte, as everywhere.
  store<u64>(thread, load<u64>(thread, Thread.bytes) + max(size, 1), Thread.bytes);
}

export function countUnrecorded(): void {
  atomic.add<u64>(Header.unrecorded, 1);
}

export function countNullFree(): void {
  atomic.add<u32>(CONTROL + Control.nullFrees, 1);
}
