// Hooks for the start of threads: each thread gets its timer at once, so threads that allocate nothing are
// sampled too.
import {
  jump,
  libcFree,
  libcMalloc,
  libcPthreadCreate,
  libcThrdCreate,
  load64,
  store64,
} from "../../assembly/machine";
import { isOpen } from "../../assembly/open";
import { currentThread } from "../../assembly/threads";
import { SampleText } from "./layout.generated";
import { functionAt, isSampling } from "./timers";

/** Stores a function and its argument in a block; 0 if there is no room. */
function pairOf(start: u64, argument: u64): u64 {
  if (!isOpen() || !isSampling()) return 0;
  const pair = libcMalloc(16);
  if (pair === 0) return 0;
  store64(pair, start);
  store64(pair + 8, argument);
  return pair;
}

export function pthread_create(result: u64, attributes: u64, start: u64, argument: u64): u32 {
  const pair = pairOf(start, argument);
  if (pair === 0) return libcPthreadCreate(result, attributes, start, argument);
  const failure = libcPthreadCreate(result, attributes, functionAt(SampleText.beginThread), pair);
  if (failure !== 0) libcFree(pair);
  return failure;
}

export function thrd_create(result: u64, start: u64, argument: u64): u32 {
  const pair = pairOf(start, argument);
  if (pair === 0) return libcThrdCreate(result, start, argument);
  const failure = libcThrdCreate(result, functionAt(SampleText.beginThread), pair);
  if (failure !== 0) libcFree(pair);
  return failure;
}

/** First function of a thread: prepares the thread, then jumps to the original function. */
export function begin_thread(pair: u64): void {
  const start = load64(pair);
  const argument = load64(pair + 8);
  libcFree(pair);
  currentThread();
  jump(start, argument);
}
