import { existsSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/**
 * A few words shared by the main thread of a program and its recording thread, so that each can see the other while
 * both are busy.
 */
export const StateWord = {
  /** Recording thread: 0 starting, 1 ready, 2 failed. */
  Recording: 0,
  /** Highest ping that the main thread has answered. */
  Pong: 1,
  /** The system's number of the recording thread; 0 where it is not known. */
  Thread: 2,
  /** From here on, two words per signal of `WATCHED_SIGNALS`: listeners of the program, time of the last delivery. */
  Signals: 3,
} as const;

/** Signals that end a program unless it listens to them. */
export const WATCHED_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type WatchedSignal = (typeof WATCHED_SIGNALS)[number];

export function isWatchedSignal(name: unknown): name is WatchedSignal {
  return (WATCHED_SIGNALS as readonly unknown[]).includes(name);
}

export function openSharedState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * (StateWord.Signals + 2 * WATCHED_SIGNALS.length)));
}

/** The system's number of this thread; 0 where it does not tell. */
export function threadNumber(): number {
  try {
    return Number(basename(readlinkSync("/proc/thread-self")));
  } catch {
    return 0;
  }
}

/**
 * Whether the recording thread may still answer. One that runs out of memory ends without a word: Node tells of it by
 * an event, which cannot come to a thread that waits.
 */
export function isRecordingAlive(state: Int32Array): boolean {
  if (Atomics.load(state, StateWord.Recording) === 2) return false;
  const thread = Atomics.load(state, StateWord.Thread);
  return thread === 0 || existsSync(`/proc/self/task/${thread}`);
}

export function listenersWord(signal: WatchedSignal): number {
  return StateWord.Signals + 2 * WATCHED_SIGNALS.indexOf(signal);
}

export function deliveryWord(signal: WatchedSignal): number {
  return listenersWord(signal) + 1;
}

/** Milliseconds that fit into a word and can be compared across threads. */
export function wordTime(): number {
  return Date.now() & 0x3fffffff;
}
