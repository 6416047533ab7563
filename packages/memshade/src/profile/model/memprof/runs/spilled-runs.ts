import type { MibField } from "../../mib-fields.ts";
import { ChainWalk } from "../chain-walk.ts";
import { Column } from "../column.ts";
import { BlockMerge } from "../merge/block-merge.ts";
import type { CallSiteSet } from "../merge/call-site-set.ts";
import { MergedOrder } from "../merge/merged-order.ts";
import { ProfileMerger, sortFrames } from "../merge/merger.ts";
import type { DataAccessProfile, MemprofFrames } from "../profile.ts";
import { RunMerge, RunReader, type RunSink, type RunSource, RunWriter } from "./run-bytes.ts";

export interface SpillFile extends RunSink, RunSource {
  release(): void;
}

export type CreateSpillFile = () => SpillFile;

interface Run {
  readonly file: SpillFile;
  readonly contexts: number;
}

/** Number of runs that are combined into one. */
const MOST_RUNS = 16;

export interface SpilledProfile {
  readonly frames: MemprofFrames;
  /** Rank in `frames` of each frame of the walk. */
  readonly ranks: Uint32Array;
  readonly walk: RunMerge;
  readonly callSites: CallSiteSet;
  /** Stacks of the call sites, as `callSites` numbers them, in the order of the walk. */
  readonly callStacks: readonly number[];
  readonly fields: readonly MibField[];
  readonly allFields: readonly MibField[];
  readonly hasHistograms: boolean;
  readonly dataAccess: DataAccessProfile | undefined;
}

export class SpilledRuns {
  readonly #create: CreateSpillFile;
  #runs: Run[] = [];
  #hasHistograms = false;
  #written = 0;

  constructor(create: CreateSpillFile) {
    this.#create = create;
  }

  get isEmpty(): boolean {
    return this.#runs.length === 0;
  }

  get contexts(): number {
    return this.#written;
  }

  /** Number of contexts in the largest run, a lower bound of the distinct contexts. */
  get leastContexts(): number {
    return Math.max(0, ...this.#runs.map(({ contexts }) => contexts));
  }

  /** Writes the merger's content as a run and releases its tables. @returns a merger that continues */
  spill(merger: ProfileMerger): ProfileMerger {
    this.#write(merger);
    const { fields } = merger.blocks;
    const next = new ProfileMerger(fields, merger.frames.keepsSources, merger.keepsUnresolved, merger);
    merger.release();
    if (this.#runs.length >= MOST_RUNS) this.#compact(next);
    return next;
  }

  /** Writes the rest of the merger as the last run. @returns all runs */
  finish(merger: ProfileMerger): SpilledProfile {
    const callStacks = this.#write(merger);
    const { frames, ranks } = sortFrames(merger);
    const { callSites, dataAccess, knownFields: fields } = merger;
    const allFields = merger.blocks.fields;
    merger.release();
    return {
      frames,
      ranks,
      walk: this.#walk(ranks, allFields),
      callSites,
      callStacks,
      fields,
      allFields,
      hasHistograms: this.#hasHistograms,
      dataAccess,
    };
  }

  release(): void {
    for (const { file } of this.#runs) file.release();
    this.#runs = [];
  }

  #walk(ranks: Uint32Array, fields: readonly MibField[]): RunMerge {
    return new RunMerge(
      this.#runs.map(({ file }) => new RunReader(file, fields.length)),
      ranks,
    );
  }

  #write(merger: ProfileMerger): number[] {
    const { stacks, contexts, blocks, histograms, otherFunctions } = merger;
    const count = contexts.length;
    const order = new MergedOrder(merger);
    const tree = order.makeTree();
    const rows = new Column();
    for (let row = 0; row < count; row++) rows.set(order.used.rankOf(contexts.keyOf(row)), row + 1);
    const file = this.#create();
    this.#runs.push({ file, contexts: count });
    const writer = new RunWriter(file);
    const callStacks: number[] = [];
    const see = (stack: number, depth: number) => {
      const isUsed = order.used.has(stack);
      const isCallSite = isUsed && order.isCallSite(stack);
      if (isCallSite) callStacks.push(stack);
      const row = isUsed ? rows.get(order.used.rankOf(stack)) - 1 : -1;
      const context =
        row < 0
          ? undefined
          : { blocks, row, histogram: histograms.get(row), otherFunctions: otherFunctions.get(row) ?? [] };
      writer.stack(depth, depth === 0 ? 0 : stacks.frameOf(stack), isCallSite, context);
    };
    see(0, 0);
    for (const walk = new ChainWalk(tree); walk.next(); ) see(walk.stack, walk.depth);
    writer.end();
    rows.release();
    tree.release();
    order.release();
    this.#hasHistograms ||= histograms.size > 0;
    this.#written += count;
    return callStacks;
  }

  #compact(merger: ProfileMerger): void {
    const { fields } = merger.blocks;
    const walk = this.#walk(sortFrames(merger).ranks, fields);
    const file = this.#create();
    const writer = new RunWriter(file);
    const blocks = new BlockMerge(fields);
    let contexts = 0;
    do {
      const { depth, frame, hasContext } = walk;
      if (hasContext) contexts++;
      const context = hasContext ? { blocks, row: 0, ...walk.take(blocks, 0) } : undefined;
      // The last run, which is still to be written, marks the call sites.
      writer.stack(depth, frame, false, context);
    } while (walk.next());
    writer.end();
    this.release();
    this.#runs = [{ file, contexts }];
  }
}
