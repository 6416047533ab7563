/**
 * A few words shared by the main thread of a program and its recording thread, so that each can see the other while
 * both are busy.
 */
export const StateWord = {
  /** Recording thread: 0 starting, 1 ready, 2 failed. */
  Recording: 0,
  /** Highest ping that the main thread has answered. */
  Pong: 1,
  /** From here on, two words per signal of `WATCHED_SIGNALS`: listeners of the program, time of the last delivery. */
  Signals: 2,
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
