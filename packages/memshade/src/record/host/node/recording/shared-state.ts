import { existsSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/**
 * Words shared by the main thread of a program and its recording thread. Each can read the state of the other while
 * both are busy.
 */
export const StateWord = {
  /** Recording thread: 0 starting, 1 ready, 2 failed. */
  Recording: 0,
  /** Highest ping that the main thread has answered. */
  Pong: 1,
  /** The system's number of the recording thread; 0 if unknown. */
  Thread: 2,
  /** First of the words per signal of `WATCHED_SIGNALS`: number of the program's listeners. */
  Listeners: 3,
} as const;

/** Signals that end a program unless it listens to them. */
export const WATCHED_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type WatchedSignal = (typeof WATCHED_SIGNALS)[number];

export function isWatchedSignal(name: unknown): name is WatchedSignal {
  return (WATCHED_SIGNALS as readonly unknown[]).includes(name);
}

/** Offset, after the words, of the time of the last delivery of each signal, in milliseconds since 1970, as i64. */
const DELIVERIES = 8 * Math.ceil((StateWord.Listeners + WATCHED_SIGNALS.length) / 2);

/** Offset of the time that all threads have taken to rewrite modules, in microseconds, as i64. */
const REWRITING = DELIVERIES + 8 * WATCHED_SIGNALS.length;

export function openSharedState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(REWRITING + 8));
}

/** Returns the system's number of this thread; 0 if unknown. */
export function threadNumber(): number {
  try {
    return Number(basename(readlinkSync("/proc/thread-self")));
  } catch {
    return 0;
  }
}

/**
 * True if the recording thread may still answer. A thread that runs out of memory ends silently: Node reports it by an
 * event, which does not arrive in a thread that waits.
 */
export function isRecordingAlive(state: Int32Array): boolean {
  if (Atomics.load(state, StateWord.Recording) === 2) return false;
  const thread = Atomics.load(state, StateWord.Thread);
  return thread === 0 || existsSync(`/proc/self/task/${thread}`);
}

export function listenersWord(signal: WatchedSignal): number {
  return StateWord.Listeners + WATCHED_SIGNALS.indexOf(signal);
}

/** Records that the program receives a signal now. */
export function noteDelivery(state: Int32Array, signal: WatchedSignal): void {
  Atomics.store(deliveries(state), WATCHED_SIGNALS.indexOf(signal), BigInt(Date.now()));
}

/** Returns the time of the last delivery of a signal, as by `Date.now()`; 0 if there was none. */
export function lastDelivery(state: Int32Array, signal: WatchedSignal): number {
  return Number(Atomics.load(deliveries(state), WATCHED_SIGNALS.indexOf(signal)));
}

function deliveries({ buffer }: Int32Array): BigInt64Array {
  return new BigInt64Array(buffer, DELIVERIES, WATCHED_SIGNALS.length);
}

export function noteRewriting({ buffer }: Int32Array, ms: number): void {
  Atomics.add(new BigInt64Array(buffer, REWRITING, 1), 0, BigInt(Math.round(ms * 1000)));
}

/** Returns the milliseconds that all threads have taken to rewrite modules. */
export function rewritingMs({ buffer }: Int32Array): number {
  return Number(Atomics.load(new BigInt64Array(buffer, REWRITING, 1), 0)) / 1000;
}
