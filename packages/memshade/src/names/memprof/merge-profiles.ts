import { availableParallelism } from "node:os";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { UserError } from "../../ground/bytes/errors.ts";
import type { BinaryPlaces } from "./binaries.ts";
import { InputMerger, type MergeFields } from "./input-merger.ts";
import type { MergeInput } from "./inputs.ts";
import type { MergeReply, MergeTask, MergeThreadData } from "./merge-messages.ts";

/** A thread that merges: one task at a time. */
interface MergeThread {
  ask(task: MergeTask): Promise<MergeReply>;
  stop(): Promise<unknown>;
}

/** Threads make few objects: their tables are arrays outside of the heap. */
const YOUNG_MEGABYTES = 4;

/** Starts one; the file has the extension of this one, in the sources as in the build. */
function startMergeThread(data: MergeThreadData): MergeThread {
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

/** Inputs for each thread, at least: fewer are merged sooner than it starts. */
const LEAST_FOR_THREADS = 16;
const INPUTS_PER_TASK = 4;
/** A thread hands over what it has merged when it takes so much. */
const THREAD_BYTES = 16 << 20;
/** So many inputs are merged by this thread alone, to see what the others are like. */
const FIRST_INPUTS = 16;
/** More threads cost memory and some time of their own: they are started if the rest would take this one longer. */
const LEAST_MILLISECONDS = 5000;
/** More threads do no good if so large a part of the contexts is new each time: all of them are merged twice then. */
const MOST_NEW = 0.25;

export interface MergeOptions extends MergeFields {
  readonly places: BinaryPlaces;
  /** Threads to use; without it as many as there are cores, where that pays. */
  readonly threads?: number | undefined;
  /** Called for each bad input; without it a bad input ends the merge. */
  readonly skip?: ((message: string) => void) | undefined;
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Merges profiles, on all cores if there are many of them with much in common. One profile at a time is in memory per
 * core, large ones in pieces, and what was merged so far.
 *
 * @throws UserError naming the first bad input, unless those are skipped
 */
export async function mergeInputs(
  inputs: readonly MergeInput[],
  options: MergeOptions,
): Promise<InputMerger> {
  // Mistakes in the options are found here, by the thread that can say so.
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

/** Processor time: on a busy machine more threads would only take it from each other. */
function millisecondsUsed(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Merges inputs in this thread, hands others out to more threads, and collects what these have merged. */
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

  /** Merges the next inputs in this thread. */
  async mergeFirst(count: number): Promise<void> {
    const last = Math.min(this.#next + count, this.#inputs.length);
    let start = millisecondsUsed();
    while (this.#next < last) {
      if (this.#next === last >> 1) {
        // Before that the binaries are opened, the code is compiled, and all contexts are new.
        start = millisecondsUsed();
        this.#firstContexts = this.#merger.contexts;
      }
      await this.#mergeNext();
    }
    this.#millisecondsPerInput = (millisecondsUsed() - start) / Math.max(1, last - (last >> 1));
  }

  /** Whether more threads would end sooner, by what the first inputs were like. */
  doThreadsPay(): boolean {
    const left = this.#inputs.length - this.#next;
    if (left * this.#millisecondsPerInput < LEAST_MILLISECONDS) return false;
    const { offered, added } = this.#merger.contexts;
    const more = offered - this.#firstContexts.offered;
    return added - this.#firstContexts.added < MOST_NEW * more;
  }

  /** Merges all inputs that are left, in `count` threads, of which this is one. */
  async run(count: number): Promise<void> {
    const { places, fields, keepsSources, keepsUnresolved } = this.#options;
    const tags = fields.map(({ tag }) => tag);
    const data: MergeThreadData = { places, tags, keepsSources, keepsUnresolved, mostBytes: THREAD_BYTES };
    const threads = Array.from({ length: count - 1 }, () => startMergeThread(data));
    try {
      await Promise.all([...threads.map((thread) => this.#serve(thread)), this.#mergeRest(count > 1)]);
    } finally {
      // After a failure nothing more is begun.
      this.#next = this.#inputs.length;
      await Promise.all(threads.map((thread) => thread.stop()));
    }
  }

  async #mergeRest(hasOthers: boolean): Promise<void> {
    while (this.#next < this.#inputs.length) {
      await this.#mergeNext();
      // What other threads have to say is heard between two inputs.
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
      this.#collect(await thread.ask(task));
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
