import { availableParallelism } from "node:os";
import { UserError } from "../../bytes/errors.ts";
import type { BinaryPlaces } from "./binaries.ts";
import { InputMerger, type MergedPart, type MergeFields } from "./input-merger.ts";
import type { MergeInput } from "./inputs.ts";
import type { MergeReply, MergeTask, MergeThreadData } from "./merge-messages.ts";
import { type MergeThread, startMergeThread } from "./start-merge-thread.ts";

/** Fewer inputs than this are merged by this thread alone. */
const LEAST_FOR_THREADS = 16;
const INPUTS_PER_TASK = 4;
/** A thread hands over what it has merged when it takes so much. */
const THREAD_BYTES = 16 << 20;

export interface MergeOptions extends MergeFields {
  readonly places: BinaryPlaces;
  /** Threads to use; without it as many as there are cores. */
  readonly threads?: number | undefined;
  /** Called for each bad input; without it a bad input ends the merge. */
  readonly skip?: ((message: string) => void) | undefined;
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Merges profiles, on all cores if there are many of them. One profile at a time is in memory per core, and what
 * was merged so far.
 *
 * @throws UserError naming the first bad input, unless those are skipped
 */
export async function mergeProfiles(
  inputs: readonly MergeInput[],
  options: MergeOptions,
): Promise<MergedPart> {
  const threads = Math.min(
    options.threads ?? availableParallelism(),
    Math.floor(inputs.length / LEAST_FOR_THREADS) + 1,
  );
  // Mistakes in the options are found here, by the thread that can say so.
  const merger = new InputMerger(options.places, options);
  if (threads > 1) {
    await new ThreadedMerge(inputs, options, merger).run(threads);
    return merger.take();
  }
  for (const [number, input] of inputs.entries()) {
    try {
      merger.add(input, number);
    } catch (error) {
      if (options.skip === undefined || !(error instanceof UserError)) throw error;
      options.skip(error.message);
    }
    options.progress?.(number + 1, inputs.length);
  }
  return merger.take();
}

/** Hands inputs out to threads as they become free and collects what they have merged. */
class ThreadedMerge {
  private readonly inputs: readonly MergeInput[];
  private readonly options: MergeOptions;
  private readonly merger: InputMerger;
  private next = 0;
  private done = 0;

  constructor(inputs: readonly MergeInput[], options: MergeOptions, merger: InputMerger) {
    this.inputs = inputs;
    this.options = options;
    this.merger = merger;
  }

  async run(count: number): Promise<void> {
    const { places, fields, keepsSources, keepsUnresolved } = this.options;
    const tags = fields.map(({ tag }) => tag);
    const data: MergeThreadData = { places, tags, keepsSources, keepsUnresolved, mostBytes: THREAD_BYTES };
    const threads = Array.from({ length: count }, () => startMergeThread(data));
    try {
      await Promise.all(threads.map((thread) => this.serve(thread)));
    } finally {
      await Promise.all(threads.map((thread) => thread.stop()));
    }
  }

  private async serve(thread: MergeThread): Promise<void> {
    for (;;) {
      const task = this.nextTask();
      this.collect(await thread.ask(task));
      if (task.inputs.length === 0) return;
    }
  }

  private nextTask(): MergeTask {
    const first = this.next;
    this.next = Math.min(first + INPUTS_PER_TASK, this.inputs.length);
    const inputs = this.inputs
      .slice(first, this.next)
      .map((input, index) => ({ input, number: first + index }));
    return { inputs };
  }

  private collect({ done, bad, part }: MergeReply): void {
    for (const { message } of bad) {
      if (this.options.skip === undefined) throw new UserError(message);
      this.options.skip(message);
    }
    if (part !== undefined) this.merger.addPart(part);
    this.done += done;
    if (done > 0) this.options.progress?.(this.done, this.inputs.length);
  }
}
