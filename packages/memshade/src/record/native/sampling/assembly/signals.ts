// Replaces the C library's functions that change the action of a signal, or block it. If the program uses the
// signal of the timers itself, the timers switch to another one.
import { Header, MOST_THREADS, Place, Thread, THREAD_BYTES, Tls } from "../../assembly/layout.generated";
import { lock, unlock } from "../../assembly/lock";
import {
  libcPthreadSigmask,
  libcSigaction,
  libcSignal,
  libcSigprocmask,
  load64,
  store64,
  syscall3,
  syscall4,
  text,
  tlsLoad,
  tlsStore,
} from "../../assembly/machine";
import { isOpen } from "../../assembly/open";
import { ESRCH, RT_SIGPROCMASK, TGKILL } from "../../assembly/system-calls";
import { currentThread } from "../../assembly/threads";
import { SampleText, Sampling } from "./layout.generated";
import {
  ACTION_BYTES,
  beginIn,
  bitOf,
  isSampling,
  samplerOf,
  setAction,
  SIG_DFL,
  SIG_IGN,
  startTimer,
  stopTimer,
  takeSignal,
} from "./timers";

const SIG_UNBLOCK: u32 = 1;

/** Begins sampling in the initial thread, if samples are wanted. */
export function beginSampling(): void {
  const thread = currentThread();
  if (!isSampling()) beginIn(thread);
}

/** Gives the signal to the program, and switches to another one. */
function moveOn(thread: u32, signal: u32): void {
  // A sample that is taken meanwhile must not wait for the lock.
  tlsStore(Tls.guard, 1);
  if (lock(thread + Thread.room)) moveUnderLock(thread, signal);
  tlsStore(Tls.guard, 0);
}

function moveUnderLock(thread: u32, signal: u32): void {
  // Another thread may have switched meanwhile.
  if (load<u32>(Sampling.signal) === signal) {
    const sampler = samplerOf(thread);
    const threads = min(load<u32>(Header.threads), MOST_THREADS);
    for (let i: u32 = 0; i < threads; i++) stopTimer(Place.threads + i * THREAD_BYTES);
    // Ignoring a signal discards its pending instances.
    setAction(sampler, signal, SIG_IGN, 0);
    setAction(sampler, signal, SIG_DFL, 0);
    takeSignal(sampler, signal - 1);
    store<u32>(Sampling.taken, signal);
    store<u32>(Sampling.moves, load<u32>(Sampling.moves) + 1);
    for (let i: u32 = 0; i < threads; i++) startIfAlive(Place.threads + i * THREAD_BYTES);
  }
  unlock();
}

function startIfAlive(thread: u32): void {
  const id = load<u32>(thread, Thread.id);
  if (id !== 0 && syscall3(TGKILL, load<u32>(Header.process), id, 0) !== -ESRCH) startTimer(thread);
}

/** Returns the running thread if a call concerns the signal of the timers, else 0. */
@inline
function threadOfOurs(signal: u32): u32 {
  if (!isOpen() || !isSampling() || signal === 0 || signal !== load<u32>(Sampling.signal)) return 0;
  // A hook may hold the lock in this thread.
  return tlsLoad(Tls.guard) !== 0 ? 0 : currentThread();
}

/** Returns the action of the signal from the program's view. */
@inline
function believed(): u64 {
  return load<u32>(Sampling.isIgnored) === 0 ? SIG_DFL : SIG_IGN;
}

export function sigaction(signal: u32, action: u64, old: u64): u32 {
  const thread = threadOfOurs(signal);
  if (thread === 0) return libcSigaction(signal, action, old);
  const before = believed();
  const handler = action === 0 ? before : load64(action);
  if (handler !== SIG_DFL && handler !== SIG_IGN) {
    moveOn(thread, signal);
    return libcSigaction(signal, action, old);
  }
  store<u32>(Sampling.isIgnored, <u32>handler);
  if (old !== 0) {
    for (let at: u32 = 0; at < ACTION_BYTES; at += 8) store64(old + at, 0);
    store64(old, before);
  }
  return 0;
}

export function signal(number: u32, handler: u64): u64 {
  const thread = threadOfOurs(number);
  if (thread === 0) return libcSignal(number, handler);
  if (handler === SIG_DFL || handler === SIG_IGN) {
    const before = believed();
    store<u32>(Sampling.isIgnored, <u32>handler);
    return before;
  }
  moveOn(thread, number);
  return libcSignal(number, handler);
}

/**
 * Unblocks the signal if the program has blocked all signals. If its neighbours are not blocked, the program
 * wants this signal and may wait for it, so the timers switch to another one.
 */
function keepReachable(how: u32, set: u64): void {
  if (set === 0 || how === SIG_UNBLOCK || !isOpen() || !isSampling()) return;
  const ours = load<u32>(Sampling.signal);
  const blocked = load64(set);
  if (ours === 0 || (blocked & bitOf(ours)) === 0) return;
  const neighbours = bitOf(ours - 1) | bitOf(ours + 1);
  if ((blocked & neighbours) === neighbours)
    syscall4(RT_SIGPROCMASK, SIG_UNBLOCK, text() + SampleText.set, 0, 8);
  else {
    const thread = threadOfOurs(ours);
    if (thread !== 0) moveOn(thread, ours);
  }
}

export function pthread_sigmask(how: u32, set: u64, old: u64): u32 {
  const result = libcPthreadSigmask(how, set, old);
  if (result === 0) keepReachable(how, set);
  return result;
}

export function sigprocmask(how: u32, set: u64, old: u64): u32 {
  const result = libcSigprocmask(how, set, old);
  if (result === 0) keepReachable(how, set);
  return result;
}
