import type { RunEnd } from "../../../profile/model/run.ts";
import { replaceFunction } from "../instance/replace-property.ts";
import { describeEnd } from "../run/run-end.ts";
import {
  isWatchedSignal,
  listenersWord,
  noteDelivery,
  WATCHED_SIGNALS,
  type WatchedSignal,
} from "./recording/shared-state.ts";

/** Signals that end a process that does not listen to them. */
const DEADLY_SIGNALS: ReadonlySet<string> = new Set([
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGABRT",
  "SIGKILL",
  "SIGALRM",
  "SIGTERM",
  "SIGUSR2",
]);

export interface ProcessEndObserver {
  /** Called as late as possible before the process ends, with nothing but synchronous work allowed. */
  finish(end: RunEnd): void;
  /** Shared words that hold the signals' listener counts and delivery times. */
  state: Int32Array;
}

/**
 * Watches all ways in which a process ends, without listeners that the program could see or count.
 *
 * All of Node's own notices go through `process.emit`, which is looked up on each use; so that is where they are
 * seen, after the program's listeners have run.
 */
export class ProcessEndHook {
  readonly #observer: ProcessEndObserver;
  readonly #emit = process.emit as (name: string, ...args: unknown[]) => boolean;
  #uncaught: RunEnd | undefined;
  #armed = false;

  constructor(observer: ProcessEndObserver) {
    this.#observer = observer;
    this.#hookEmit();
    replaceFunction(process, "reallyExit", {
      apply: (target, self, args) => {
        this.#finishWithCode(args[0]);
        return Reflect.apply(target, self, args);
      },
    });
    replaceFunction(process, "abort", {
      apply: (target, self, args) => {
        observer.finish({ kind: "signal", signal: "SIGABRT" });
        return Reflect.apply(target, self, args);
      },
    });
    replaceFunction(process, "kill", {
      apply: (target, self, args) => {
        const [pid, signal = "SIGTERM"] = args;
        if (Number(pid) === process.pid && this.#isDeadly(signal)) {
          observer.finish({ kind: "signal", signal });
          this.#disarm(signal);
        }
        return Reflect.apply(target, self, args);
      },
    });
  }

  /** From now on a signal that would end the process waits until the profile is written. */
  arm(): void {
    this.#armed = true;
    for (const signal of WATCHED_SIGNALS) {
      this.#watch(signal);
      this.#countListeners(signal);
    }
  }

  #hookEmit(): void {
    hookEmit((name, detail, emit) => {
      if (isWatchedSignal(name)) return this.#onSignal(name, emit);
      try {
        const heard = emit();
        if (name === "uncaughtException" && !heard) this.#uncaught = describeEnd(detail);
        return heard;
      } finally {
        if (name === "exit") this.#finishWithCode(detail);
        if (name === "newListener" || name === "removeListener") this.#onListenersChanged(name, detail);
      }
    });
  }

  #finishWithCode(code: unknown): void {
    const exitCode = Number(process.exitCode ?? code ?? 0);
    this.#observer.finish({ ...(this.#uncaught ?? { kind: "exit" }), exitCode });
  }

  #onSignal(signal: WatchedSignal, deliver: () => boolean): boolean {
    noteDelivery(this.#observer.state, signal);
    if (process.listenerCount(signal) > 0) return deliver();
    this.#observer.finish({ kind: "signal", signal });
    this.#disarm(signal);
    process.kill(process.pid, signal);
    return false;
  }

  #onListenersChanged(change: "newListener" | "removeListener", signal: unknown): void {
    if (!this.#armed || !isWatchedSignal(signal)) return;
    if (change === "removeListener" && process.listenerCount(signal) === 0) this.#watch(signal);
    // "newListener" comes before the listener is there.
    this.#countListeners(signal, change === "newListener" ? 1 : 0);
  }

  #countListeners(signal: WatchedSignal, coming = 0): void {
    Atomics.store(this.#observer.state, listenersWord(signal), process.listenerCount(signal) + coming);
  }

  /** Makes Node catch a signal as it does for a first listener, but without one. */
  #watch(signal: WatchedSignal): void {
    this.#emitInternally("newListener", signal);
  }

  /** Gives a signal its default action back. */
  #disarm(signal: string): void {
    if (isWatchedSignal(signal)) this.#emitInternally("removeListener", signal);
  }

  #emitInternally(name: "newListener" | "removeListener", signal: WatchedSignal): void {
    const internal = process
      .listeners(name as never)
      .filter((listener) => /ListeningIfSignal$/.test(listener.name));
    if (internal.length === 0) Reflect.apply(this.#emit, process, [name, signal]);
    for (const listener of internal) Reflect.apply(listener, process, [signal]);
  }

  #isDeadly(signal: unknown): signal is NodeJS.Signals {
    return typeof signal === "string" && DEADLY_SIGNALS.has(signal) && process.listenerCount(signal) === 0;
  }
}

/** Calls when a worker thread ends by itself, after the program's listeners. */
export function hookThreadEnd(ended: () => void): void {
  hookEmit((name, _, emit) => {
    try {
      return emit();
    } finally {
      if (name === "exit") ended();
    }
  });
}

/** Stands before all of Node's notices: `emit` makes the one of this name and detail. */
function hookEmit(notice: (name: string, detail: unknown, emit: () => boolean) => boolean): void {
  const emit = new Proxy(process.emit, {
    apply(target, self, args) {
      const [name, detail] = args as [string, unknown];
      return notice(name, detail, () => Reflect.apply(target, self, args));
    },
  });
  Object.defineProperty(process, "emit", {
    value: emit,
    writable: true,
    configurable: true,
    enumerable: false,
  });
}
