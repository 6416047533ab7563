// New threads go through here before they begin, so that those that allocate nothing are sampled too.
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
import { functionAt } from "./signals";
import { isSampling } from "./timers";

/** A function and its argument, in a block of their own; 0: there is no room. */
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

/** The first function of a thread: makes way for the one that was asked for. */
export function begin_thread(pair: u64): void {
  const start = load64(pair);
  const argument = load64(pair + 8);
  libcFree(pair);
  currentThread();
  jump(start, argument);
}
