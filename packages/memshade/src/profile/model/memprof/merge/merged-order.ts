import { ChainOrder, ChainWalk } from "../chain-walk.ts";
import { Column } from "../column.ts";
import type { MemprofFrames, MemprofRecords } from "../profile.ts";
import { makeRecords } from "./merged-records.ts";
import { type ProfileMerger, sortFrames } from "./merger.ts";
import { RankedBits } from "./ranked-bits.ts";

export interface Arrangement {
  readonly order: Uint32Array;
  readonly calls: Uint32Array;
}

/**
 * Content of a merger in an order that depends on the content alone, the same as `buildMerged` creates, without a copy.
 * Frames are ascending, stacks are in the order of a tree walk. Nothing may be added to the merger afterwards.
 */
export class MergedOrder {
  readonly merger: ProfileMerger;
  readonly frames: MemprofFrames;
  /** Rank in `frames` of each of the merger's frames. */
  readonly ranks: Uint32Array;
  readonly used = new RankedBits();
  readonly branches: RankedBits;
  readonly #callStacks = new Map<number, number>();

  constructor(merger: ProfileMerger) {
    const { stacks, contexts, callSites } = merger;
    this.merger = merger;
    // Sealing releases the lookup tables first.
    stacks.seal();
    contexts.seal();
    const { frames, ranks } = sortFrames(merger);
    this.frames = frames;
    this.ranks = ranks;
    for (let row = 0; row < contexts.length; row++) this.used.set(contexts.keyOf(row));
    for (const guid of callSites.functions())
      for (const stack of callSites.stacksOf(guid)) {
        this.#callStacks.set(stack, 0);
        this.used.set(stack);
      }
    this.used.rankAll();
    this.branches = stacks.branches();
  }

  makeTree(): ChainOrder {
    return new ChainOrder(this.merger.stacks, this.ranks, this.branches);
  }

  isCallSite(stack: number): boolean {
    return this.#callStacks.has(stack);
  }

  release(): void {
    this.used.release();
    this.branches.release();
  }

  /** Walks through all stacks. Calls `see` with each used stack and its number in the tree. */
  arrange(tree: ChainOrder, see?: (stack: number, number: number) => void): Arrangement {
    const { contexts } = this.merger;
    const { used } = this;
    const callStacks = this.#callStacks;
    const order = new Uint32Array(contexts.length);
    const calls = new Uint32Array(callStacks.size);
    const rows = new Column();
    for (let row = 0; row < contexts.length; row++) rows.set(used.rankOf(contexts.keyOf(row)), row + 1);
    let next = 0;
    let nextCall = 0;
    const place = (stack: number) => {
      const row = rows.get(used.rankOf(stack)) - 1;
      if (row >= 0) order[next++] = row;
      if (!callStacks.has(stack)) return;
      callStacks.set(stack, nextCall);
      calls[nextCall++] = stack;
    };
    const walk = new ChainWalk(tree);
    if (used.has(0)) {
      place(0);
      see?.(0, 0);
    }
    for (let number = 1; walk.next(); number++) {
      if (!used.has(walk.stack)) continue;
      place(walk.stack);
      see?.(walk.stack, number);
    }
    rows.release();
    return { order, calls };
  }

  /**
   * Builds the records of all functions. `siteAt` gives the number of a context's stack and block, by its place in the
   * order. The stack of a call site gets the number of contexts plus its place among the call sites.
   */
  records({ order }: Arrangement, siteAt: (index: number) => number): MemprofRecords {
    const { stacks, contexts } = this.merger;
    const { frames, ranks } = this;
    const callStacks = this.#callStacks;
    return makeRecords(this.merger, {
      frames,
      length: order.length,
      stackAt: (index) => contexts.keyOf(order[index]!),
      stackOfRow: (row) => contexts.keyOf(row),
      parentOf: (stack) => stacks.parentOf(stack),
      frameOf: (stack) => ranks[stacks.frameOf(stack)]!,
      siteAt,
      callSiteOf: (stack) => contexts.length + callStacks.get(stack)!,
    });
  }
}
