import childProcess, { ChildProcess } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import workerThreads, { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import type { RunEnd } from "../../../profile/model/run.ts";
import { hookFinalizers } from "../instance/finalizers.ts";
import { hookWebAssembly } from "../instance/hook-webassembly.ts";
import type { InstantiationObserver } from "../instance/instantiation-observer.ts";
import { replaceClass, replaceFunction } from "../instance/replace-property.ts";
import { describeEnd } from "../run/run-end.ts";
import { defaultOutTemplate, hasPlaceHolder, programName } from "../run/run-folder.ts";
import { publishRecording } from "./recording/recording-api.ts";
import { MainThreadLink, WorkerThreadLink } from "./recording/recording-link.ts";
import {
  isWatchedSignal,
  listenersWord,
  noteDelivery,
  openSharedState,
  WATCHED_SIGNALS,
  type WatchedSignal,
} from "./recording/shared-state.ts";
import { type HookSettings, SETTINGS_KEY, SETTINGS_VARIABLE, type ThreadSettings } from "./settings.ts";
import { ThreadRecorder } from "./thread-recorder.ts";

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

interface ProcessEndObserver {
  /** Called as late as possible before the process ends. Only synchronous work is allowed. */
  finish(end: RunEnd): void;
  /** Shared words with the signals' listener counts and delivery times. */
  state: Int32Array;
}

/**
 * Observes all ways in which a process ends, without listeners that the program could see or count. All of Node's own
 * events go through `process.emit`, which is looked up on each use. The hook replaces it and acts after the program's
 * listeners have run.
 */
class ProcessEndHook {
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

  /** Delays signals that would end the process until the profile is written. */
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
    // "newListener" is emitted before the listener is added.
    this.#countListeners(signal, change === "newListener" ? 1 : 0);
  }

  #countListeners(signal: WatchedSignal, coming = 0): void {
    Atomics.store(this.#observer.state, listenersWord(signal), process.listenerCount(signal) + coming);
  }

  /** Makes Node catch a signal as it does for a first listener, but without one. */
  #watch(signal: WatchedSignal): void {
    this.#emitInternally("newListener", signal);
  }

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

/** Calls `ended` when a worker thread ends by itself, after the program's listeners. */
function hookThreadEnd(ended: () => void): void {
  hookEmit((name, _, emit) => {
    try {
      return emit();
    } finally {
      if (name === "exit") ended();
    }
  });
}

/** Intercepts all of Node's events. `emit` emits the current one. */
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

/**
 * Loaded first by `memshade node` (`--require`), in a Node process's main thread and in every worker thread. Does
 * nothing without settings.
 */

const HOOK_PATH = fileURLToPath(import.meta.url);

/** Given by `start-hooks.ts`; undefined for sources. */
declare const keepCode: (() => void) | undefined;
const keepOwnCode = typeof keepCode === "undefined" ? () => {} : keepCode;

function readSettings(): HookSettings | undefined {
  const text = process.env[SETTINGS_VARIABLE];
  if (text === undefined) return undefined;
  const settings = JSON.parse(text) as HookSettings;
  if (settings.traceChildren)
    process.env[SETTINGS_VARIABLE] = JSON.stringify({ ...settings, isDirectChild: false });
  else delete process.env[SETTINGS_VARIABLE];
  return settings;
}

/** Hides the option that loads this file from the program and from processes that it forks. */
function hideOwnOption(): void {
  const at = process.execArgv.findIndex(
    (option, i, all) => option === "--require" && all[i + 1] === HOOK_PATH,
  );
  if (at >= 0) process.execArgv.splice(at, 2);
}

function hookMainThread(settings: HookSettings): void {
  // The parent's process id would not do: a parent that was killed at once is the parent no more.
  const { isDirectChild } = settings;
  const script = process.argv[1] ?? "node";
  const program = programName(script);
  const channel = `memshade-${process.pid}`;
  const state = openSharedState();
  const threadSettings: ThreadSettings = { ...settings, channel, state };
  setEnvironmentData(SETTINGS_KEY, threadSettings as never);

  const link = new MainThreadLink(
    {
      settings: threadSettings,
      command: [isDirectChild ? settings.script : script, ...process.argv.slice(2)],
      program,
      outTemplate: outTemplate(settings, program, isDirectChild),
      lender: isDirectChild ? settings.lender : undefined,
      environment: { ...process.env },
      parentPid: process.ppid,
    },
    () => end.arm(),
  );
  const finish = (runEnd: RunEnd): void => {
    link.finish(runEnd);
    keepOwnCode();
  };
  const end = new ProcessEndHook({ finish, state });
  recordThread(threadSettings, link);
  hookWorkers({
    starting: () => link.startAndWait(),
    ended: (thread) => link.post({ kind: "thread-ended", thread }),
  });
  if (settings.traceChildren) hookChildProcesses((pid, signal) => link.post({ kind: "killed", pid, signal }));
  else hookFirstChild(() => link.post({ kind: "child-started" }));
  publishRecording(link);
}

function recordThread(settings: ThreadSettings, link: MainThreadLink | WorkerThreadLink): void {
  const recorder = new ThreadRecorder(settings.tools, link);
  link.findReach = () => recorder.findReach();
  hookAllContexts(recorder);
}

/** Adds the process id for processes that would write to the same folder. */
function outTemplate(settings: HookSettings, program: string, isDirectChild: boolean): string {
  if (settings.out === null) return defaultOutTemplate(settings.cwd, program);
  return isDirectChild || hasPlaceHolder(settings.out, "p") ? settings.out : `${settings.out}.%p`;
}

function hookWorkerThread(settings: ThreadSettings): void {
  const link = new WorkerThreadLink(settings);
  if (!settings.traceChildren) hookFirstChild(() => link.post({ kind: "child-started" }));
  recordThread(settings, link);
  hookThreadEnd(() => link.findReach());
  hookWorkers({
    starting: () => {},
    ended: (thread) => link.post({ kind: "thread-ended", thread }),
  });
  publishRecording(link);
}

hideOwnOption();
if (isMainThread) {
  const settings = readSettings();
  if (settings !== undefined) hookMainThread(settings);
} else {
  const settings = getEnvironmentData(SETTINGS_KEY) as unknown as ThreadSettings | undefined;
  if (settings !== undefined) hookWorkerThread(settings);
}

export interface WorkerObserver {
  starting(): void;
  ended(thread: number): void;
}

/**
 * Ensures that every worker thread loads the hook. Threads inherit it, except those with command line options of their
 * own.
 */
export function hookWorkers(observer: WorkerObserver): void {
  const { Worker } = workerThreads;
  replaceClass(workerThreads, "Worker", (args) => {
    observer.starting();
    const [file, options] = args as [string | URL, { execArgv?: unknown } | undefined];
    const execArgv = Array.isArray(options?.execArgv) ? options.execArgv : undefined;
    const given =
      execArgv === undefined ? args : [file, { ...options, execArgv: ["--require", HOOK_PATH, ...execArgv] }];
    const worker: import("node:worker_threads").Worker = Reflect.construct(Worker, given);
    const thread = worker.threadId;
    worker.once("exit", () => observer.ended(thread));
    return worker;
  });
  syncBuiltinESMExports();
}

/**
 * Reports signals that the program sends to its children. A busy hooked child handles them only in its event loop, so
 * its recording thread must be notified in another way.
 */
export function hookChildProcesses(onKill: (pid: number, signal: string) => void): void {
  replaceFunction(ChildProcess.prototype, "kill", {
    apply(target, self: ChildProcess, args) {
      const delivered = Reflect.apply(target, self, args);
      const signal = args[0] ?? "SIGTERM";
      if (delivered && self.pid !== undefined && typeof signal === "string") onKill(self.pid, signal);
      return delivered;
    },
  });
}

/** Reports the first start of another process by the program. */
export function hookFirstChild(onStart: () => void): void {
  let isTold = false;
  const handler = {
    apply(target: (...args: unknown[]) => unknown, self: unknown, args: unknown[]) {
      if (!isTold) onStart();
      isTold = true;
      return Reflect.apply(target, self, args);
    },
  };
  // All asynchronous ways to start a process lead through this function.
  replaceFunction(ChildProcess.prototype, "spawn", handler);
  for (const name of ["spawnSync", "execSync", "execFileSync"]) replaceFunction(childProcess, name, handler);
  syncBuiltinESMExports();
}

/** Hooks WebAssembly in this thread's own context and in those that the program creates with `node:vm`. */
function hookAllContexts(observer: InstantiationObserver): void {
  const { runInContext, isContext } = vm;
  const hooked = new WeakSet<object>([WebAssembly]);
  hookWebAssembly(WebAssembly, observer);
  hookFinalizers(globalThis);

  const hookContext = (context: vm.Context): void => {
    try {
      const namespace = runInContext("typeof WebAssembly === 'object' ? WebAssembly : undefined", context);
      // A program may pass its own WebAssembly object to the new context.
      if (namespace === undefined || hooked.has(namespace)) return;
      hooked.add(namespace);
      hookWebAssembly(namespace, observer);
    } catch {}
  };

  replaceFunction(vm, "createContext", {
    apply(target, self, args) {
      const isNew = !isContext(args[0] ?? {});
      const context = Reflect.apply(target, self, args);
      if (isNew) hookContext(context);
      return context;
    },
  });
  replaceFunction(vm, "runInNewContext", {
    apply: (target, self, [code, object, options]) =>
      Reflect.apply(target, self, [code, contextFor(object, options), options]),
  });
  replaceFunction(vm.Script.prototype, "runInNewContext", {
    apply: (target, self, [object, options]) =>
      Reflect.apply(target, self, [contextFor(object, options), options]),
  });
  syncBuiltinESMExports();
}

/** Returns the context that `runInNewContext` would create. */
function contextFor(object: unknown, options: unknown): unknown {
  if (object !== undefined && (typeof object !== "object" || object === null)) return object;
  if (options !== undefined && (typeof options !== "object" || options === null)) return object;
  const { contextName, contextOrigin, contextCodeGeneration, microtaskMode } = (options ??
    {}) as vm.RunningScriptInNewContextOptions;
  try {
    return vm.createContext(
      object as vm.Context | undefined,
      Object.fromEntries(
        Object.entries({
          name: contextName,
          origin: contextOrigin,
          codeGeneration: contextCodeGeneration,
          microtaskMode,
        }).filter(([, value]) => value !== undefined),
      ),
    );
  } catch {
    // Node reports options that it rejects.
    return object;
  }
}
