import { syncBuiltinESMExports } from "node:module";
import workerThreads from "node:worker_threads";
import { replaceClass } from "../instance/replace-property.ts";

export interface WorkerObserver {
  /** A worker thread is about to start. */
  starting(): void;
  /** A worker thread is gone, whatever ended it. */
  ended(thread: number): void;
}

/**
 * Makes sure that every worker thread loads the hook: threads inherit it, except those that are given command line
 * options of their own.
 */
export function hookWorkers(hookPath: string, observer: WorkerObserver): void {
  const { Worker } = workerThreads;
  replaceClass(workerThreads, "Worker", (args) => {
    observer.starting();
    const [file, options] = args as [string | URL, { execArgv?: unknown } | undefined];
    const own = Array.isArray(options?.execArgv) ? options.execArgv : undefined;
    const given =
      own === undefined ? args : [file, { ...options, execArgv: ["--require", hookPath, ...own] }];
    const worker: import("node:worker_threads").Worker = Reflect.construct(Worker, given);
    const thread = worker.threadId;
    worker.once("exit", () => observer.ended(thread));
    return worker;
  });
  syncBuiltinESMExports();
}
