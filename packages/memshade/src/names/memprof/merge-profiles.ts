import { availableParallelism } from "node:os";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { UserError } from "../../ground/bytes/errors.ts";
import type { BinaryPlaces } from "./binaries.ts";
import { InputMerger, type MergeFields } from "./input-merger.ts";
import type { MergeInput } from "./inputs.ts";
import type { MergeReply, MergeTask, MergeThreadData } from "./merge-messages.ts";

interface MergeThread {
  request(task: MergeTask): Promise<MergeReply>;
  stop(): Promise<unknown>;
}

/** Heap for young objects: the threads make few objects, since their tables are arrays outside of the heap. */
const YOUNG_MEGABYTES = 4;

/** Starts a thread. Its file has the extension of this one, in the sources as in the build. */
function startMergeThread(data: MergeThreadData): MergeThread {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const worker = new Worker(new URL(`merge-thread.${extension}`, import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
  });
  return {
    request: (task) =>
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

/** Minimum of inputs per thread: fewer are merged before a thread has started. */
const LEAST_FOR_THREADS = 16;
const INPUTS_PER_TASK = 4;
const THREAD_BYTES = 16 << 20;
/** Number of inputs that this thread merges alone first, as a sample of the others. */
const FIRST_INPUTS = 16;
/** Minimum time that the rest must take in one thread: further threads cost memory and time. */
const LEAST_MILLISECONDS = 5000;
/** Maximum share of new contexts. Above it further threads do not help, since all contexts are merged twice. */
const MOST_NEW = 0.25;

export interface MergeOptions extends MergeFields {
  readonly places: BinaryPlaces;
  readonly threads?: number | undefined;
  /** Receives a message for each bad input; without it, a bad input ends the merge. */
  readonly skip?: ((message: string) => void) | undefined;
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Merges profiles, on all cores if there are many with much in common. In memory are one profile per core, large
 * ones in pieces, and the merged data.
 *
 * @throws UserError naming the first bad input, unless bad inputs are skipped
 */
export async function mergeInputs(
  inputs: readonly MergeInput[],
  options: MergeOptions,
): Promise<InputMerger> {
  // Mistakes in the options are found here, in the thread that can report them.
  const merger = new InputMerger(options.places, options);
  const merge = new ThreadedMerge(inputs, options, merger);
  if (options.threads === undefined) {
    await merge.mergeFirst(FIRST_INPUTS);
    await merge.run(merge.doThreadsPay() ? availableParallelism() : 1);
  } else {
    await merge.run(Math.min(options.threads, Math.floor(inputs.length / LEAST_FOR_THREADS) + 1));
  }
  return merger;
}

/** Returns CPU time: on a busy machine, more threads would only compete with this one. */
function millisecondsUsed(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Merges inputs in this thread, distributes others to more threads, and collects the results. */
class ThreadedMerge {
  readonly #inputs: readonly MergeInput[];
  readonly #options: MergeOptions;
  readonly #merger: InputMerger;
  #next = 0;
  #done = 0;
  #millisecondsPerInput = 0;
  #firstContexts = { offered: 0, added: 0 };

  constructor(inputs: readonly MergeInput[], options: MergeOptions, merger: InputMerger) {
    this.#inputs = inputs;
    this.#options = options;
    this.#merger = merger;
  }

  async mergeFirst(count: number): Promise<void> {
    const last = Math.min(this.#next + count, this.#inputs.length);
    let start = millisecondsUsed();
    while (this.#next < last) {
      if (this.#next === last >> 1) {
        // The first half does not count: it opens binaries, compiles code, and all its contexts are new.
        start = millisecondsUsed();
        this.#firstContexts = this.#merger.contexts;
      }
      await this.#mergeNext();
    }
    this.#millisecondsPerInput = (millisecondsUsed() - start) / Math.max(1, last - (last >> 1));
  }

  /** True if more threads would end sooner, judging by the first inputs. */
  doThreadsPay(): boolean {
    const remaining = this.#inputs.length - this.#next;
    if (remaining * this.#millisecondsPerInput < LEAST_MILLISECONDS) return false;
    const { offered, added } = this.#merger.contexts;
    const more = offered - this.#firstContexts.offered;
    return added - this.#firstContexts.added < MOST_NEW * more;
  }

  async run(count: number): Promise<void> {
    const { places, fields, keepsSources, keepsUnresolved } = this.#options;
    const tags = fields.map(({ tag }) => tag);
    const data: MergeThreadData = { places, tags, keepsSources, keepsUnresolved, mostBytes: THREAD_BYTES };
    const threads = Array.from({ length: count - 1 }, () => startMergeThread(data));
    try {
      await Promise.all([...threads.map((thread) => this.#serve(thread)), this.#mergeRest(count > 1)]);
    } finally {
      // After a failure no further input is started.
      this.#next = this.#inputs.length;
      await Promise.all(threads.map((thread) => thread.stop()));
    }
  }

  async #mergeRest(hasOthers: boolean): Promise<void> {
    while (this.#next < this.#inputs.length) {
      await this.#mergeNext();
      // Messages of other threads are handled between two inputs.
      if (hasOthers) await setImmediate();
    }
  }

  async #mergeNext(): Promise<void> {
    const number = this.#next++;
    try {
      await this.#merger.add(this.#inputs[number]!, number);
    } catch (error) {
      if (this.#options.skip === undefined || !(error instanceof UserError)) throw error;
      this.#options.skip(error.message);
    }
    this.#options.progress?.(++this.#done, this.#inputs.length);
  }

  async #serve(thread: MergeThread): Promise<void> {
    for (;;) {
      const task = this.#nextTask();
      this.#collect(await thread.request(task));
      if (task.inputs.length === 0) return;
    }
  }

  #nextTask(): MergeTask {
    const first = this.#next;
    this.#next = Math.min(first + INPUTS_PER_TASK, this.#inputs.length);
    const inputs = this.#inputs
      .slice(first, this.#next)
      .map((input, index) => ({ input, number: first + index }));
    return { inputs };
  }

  #collect({ done, bad, part }: MergeReply): void {
    for (const { message } of bad) {
      if (this.#options.skip === undefined) throw new UserError(message);
      this.#options.skip(message);
    }
    if (part !== undefined) this.#merger.addPart(part);
    this.#done += done;
    if (done > 0) this.#options.progress?.(this.#done, this.#inputs.length);
  }
}
