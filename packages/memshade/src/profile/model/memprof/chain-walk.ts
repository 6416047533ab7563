import { Column, freeArray } from "./column.ts";
import type { RankedBits } from "./merge/ranked-bits.ts";
import type { StackChains } from "./stack-chains.ts";

/** Chains of a stack tree as sibling lists by caller, in ascending order of frames. */
export class ChainOrder {
  readonly stacks: StackChains;
  readonly ranks: Uint32Array;
  readonly #branches: RankedBits;
  /** First chain's start by rank of the stack in `#branches`. */
  readonly #first = new Column();
  /** Start of the next sibling by chain; 0 for none. */
  readonly #next = new Column();

  constructor(stacks: StackChains, ranks: Uint32Array, branches: RankedBits) {
    this.stacks = stacks;
    this.ranks = ranks;
    this.#branches = branches;
    // Counting sort, largest rank first: each chain is then inserted before its siblings.
    const starts = new Uint32Array(ranks.length + 1);
    stacks.forEachStart((start) => {
      starts[ranks.length - this.rankOf(start)]! += 1;
    });
    for (let rank = 0; rank < ranks.length; rank++) starts[rank + 1]! += starts[rank]!;
    const sorted = new Uint32Array(stacks.chains);
    stacks.forEachStart((start) => {
      sorted[starts[ranks.length - 1 - this.rankOf(start)]!++] = start;
    });
    for (let index = 0; index < sorted.length; index++) {
      const start = sorted[index]!;
      const branch = this.#branches.rankOf(stacks.parentOf(start));
      this.#next.set(stacks.chainOf(start), this.#first.get(branch));
      this.#first.set(branch, start);
    }
    freeArray(sorted);
  }

  rankOf(stack: number): number {
    return this.ranks[this.stacks.frameOf(stack)]!;
  }

  firstOf(stack: number): number {
    return this.#branches.has(stack) ? this.#first.get(this.#branches.rankOf(stack)) : 0;
  }

  nextOf(start: number): number {
    return this.#next.get(this.stacks.chainOf(start));
  }

  release(): void {
    this.#first.release();
    this.#next.release();
  }
}

/** Walk through all stacks but the empty one: callers first, siblings in ascending order of frames. */
export class ChainWalk {
  stack = 0;
  depth = 0;
  /** The stack and its callers, by depth; deeper entries are stale. */
  readonly path: number[] = [0];
  readonly #order: ChainOrder;
  /** Next chain to enter at each depth, and the stack that continues the chain, or 0. */
  readonly #chain: number[];
  readonly #rest: number[] = [0];

  constructor(order: ChainOrder) {
    this.#order = order;
    this.#chain = [order.firstOf(0)];
  }

  next(): boolean {
    const { path } = this;
    const order = this.#order;
    const chain = this.#chain;
    const rest = this.#rest;
    let depth = this.depth;
    while (chain[depth] === 0 && rest[depth] === 0) {
      if (depth === 0) return false;
      depth--;
    }
    let stack = rest[depth]!;
    const start = chain[depth]!;
    if (stack === 0 || (start !== 0 && order.rankOf(start) < order.rankOf(stack))) {
      stack = start;
      chain[depth] = order.nextOf(start);
    } else {
      rest[depth] = 0;
    }
    depth++;
    path[depth] = stack;
    chain[depth] = order.firstOf(stack);
    rest[depth] = order.stacks.isContinued(stack) ? stack + 1 : 0;
    this.stack = stack;
    this.depth = depth;
    return true;
  }
}
