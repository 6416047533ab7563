import { grown } from "../../../bytes/grown.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import { CONSTANT, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import { ACCESS_KIND, AccessKind } from "../../../wasm/index.ts";
import { Counter } from "./counter.ts";
import type { HeapSnippets } from "./heap-snippets.ts";

/**
 * Access counters of one function. Accesses of a basic block whose addresses have one base value share a counter: it
 * stands behind the first of them, where the address is known to be valid, and counts for all.
 */
export class CounterGroups {
  /** Number of counters so far. */
  length = 0;
  /** They come first; those behind them are of functions before, to be used again. */
  readonly counters: Counter[] = [];

  /** The last counter of a base, and the stretch of code that it is in. */
  #last = new Int32Array(4096);
  #stretchOf = new Int32Array(4096);
  /** Number of the stretch of code whose groups are open: all of it runs equally often. */
  stretch = 1;
  #stretches = 1;
  /** What `#last` and `#stretchOf` of a counter's base were before. */
  #lastBefore = new Int32Array(1024);
  #stretchBefore = new Int32Array(1024);
  /** Whether the walk is at a place that runs rarely compared to the rest of its function. */
  cold = false;

  readonly #snippets: HeapSnippets;
  readonly #exact: boolean;
  readonly #everything: boolean;
  #state!: WalkState;

  /** `exact`: share counters at identical addresses only. `everything`: count stack and static addresses too. */
  constructor(snippets: HeapSnippets, exact: boolean, everything: boolean) {
    this.#snippets = snippets;
    this.#exact = exact;
    this.#everything = everything;
  }

  /** A function's walk begins, at a place that is `cold` or not. */
  begin(state: WalkState, cold: boolean): void {
    this.#state = state;
    this.cold = cold;
    this.length = 0;
    // Value numbers start again; so do their groups.
    this.endBlock();
  }

  /** A basic block ends: what follows may run a different number of times. */
  endBlock(): void {
    this.stretch = ++this.#stretches;
  }

  /**
   * A stretch goes on behind a block that had its own: the one numbered `stretch`, when there were `groups` groups. Not
   * where each counter must be exact.
   */
  resume(stretch: number, groups: number): void {
    if (this.#exact || stretch === this.stretch) return;
    for (let counter = this.length - 1; counter >= groups; counter--) {
      const { base } = this.counters[counter];
      this.#last[base] = this.#lastBefore[counter];
      this.#stretchOf[base] = this.#stretchBefore[counter];
    }
    this.stretch = stretch;
  }

  /**
   * One access through the address at stack index `at` plus the constant `displacement`; `access` is the instruction,
   * at `[start, end)`.
   */
  count(access: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, values, insertions, temporaries } = this.#state;
    const { counters } = this;
    let base = stack.value[at];
    if (base === 0) {
      base = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.value[at] = base;
    }
    if (!this.#everything && (base === CONSTANT || values.classes[base] === ValueClass.Stack)) return;
    if (base >= this.#last.length) this.#growBases(base);
    const offset = (stack.offset[at] + displacement) | 0;
    const open = this.#stretchOf[base] === this.stretch ? this.#last[base] : -1;
    let group = open;
    // All constants share one base; they are different objects, so they are told apart by address.
    if (this.#exact || base === CONSTANT)
      while (group >= 0 && counters[group].offset !== offset) group = counters[group].previous;
    const reads = ACCESS_KIND[access] === AccessKind.Store ? 0 : 1;
    if (group >= 0) {
      counters[group].word = (counters[group].word + 2) | reads;
      return;
    }
    const counter = this.#add(base, offset, open);
    counter.local = keepAddress(this.#state, at, access, start);
    counter.displacement = displacement;
    counter.word = 2 | reads;
    temporaries.scratch = true;
    insertions.add(end, counter);
  }

  #add(base: number, offset: number, previous: number): Counter {
    const index = this.length++;
    if (index === this.#lastBefore.length) this.#growCounters();
    this.#lastBefore[index] = this.#last[base];
    this.#stretchBefore[index] = this.#stretchOf[base];
    this.#last[base] = index;
    this.#stretchOf[base] = this.stretch;
    this.counters[index] ??= new Counter(this.#snippets);
    const counter = this.counters[index];
    counter.base = base;
    counter.offset = offset;
    counter.previous = previous;
    counter.isLeftOut = false;
    counter.isOutlined = this.cold;
    return counter;
  }

  #growBases(base: number): void {
    const size = Math.max(this.#last.length * 2, base + 1);
    this.#last = grown(this.#last, size);
    this.#stretchOf = grown(this.#stretchOf, size);
  }

  #growCounters(): void {
    const size = this.#lastBefore.length * 2;
    this.#lastBefore = grown(this.#lastBefore, size);
    this.#stretchBefore = grown(this.#stretchBefore, size);
  }
}
