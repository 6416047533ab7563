import { Worker } from "node:worker_threads";
import type { MergeReply, MergeTask, MergeThreadData } from "./merge-messages.ts";

/** A thread that merges: one task at a time. */
export interface MergeThread {
  ask(task: MergeTask): Promise<MergeReply>;
  stop(): Promise<unknown>;
}

/** Threads make few objects: their tables are arrays outside of the heap. */
const YOUNG_MEGABYTES = 4;

/** Starts one; the file has the extension of this one, in the sources as in the build. */
export function startMergeThread(data: MergeThreadData): MergeThread {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const worker = new Worker(new URL(`merge-thread.${extension}`, import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
  });
  return {
    ask: (task) =>
      new Promise((resolve, reject) => {
        const fail = (error: unknown) => reject(error);
        worker.once("error", fail);
        worker.once("message", (reply: MergeReply) => {
          worker.off("error", fail);
          resolve(reply);
        });
        worker.postMessage(task);
      }),
    stop: () => worker.terminate(),
  };
}
