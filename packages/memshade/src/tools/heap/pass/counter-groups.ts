import type { WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { grown, NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import { CONSTANT, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import { ACCESS_KIND, AccessKind } from "../../../wasm/index.ts";
import { HeapStep } from "./heap-snippets.ts";

/**
 * Access counters of one function. Accesses of a basic block whose addresses have one base value share a counter: it
 * stands behind the first of them, where the address is known to be valid, and counts for all.
 */
export class CounterGroups {
  /** Number of counters so far; the columns below are indexed by counter. */
  length = 0;
  insertion = new Int32Array(1024);
  /** The local that holds the counter's address before its displacement; may be a temporary. */
  local = new Int32Array(1024);
  base = new Int32Array(1024);
  /** Distance of the counted address from the base. */
  offset = new Int32Array(1024);
  #previous = new Int32Array(1024);

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

  readonly #exact: boolean;
  readonly #everything: boolean;
  #state!: WalkState;
  #kind = 0;

  /** `exact`: share counters at identical addresses only. `everything`: count stack and static addresses too. */
  constructor(exact: boolean, everything: boolean) {
    this.#exact = exact;
    this.#everything = everything;
  }

  /** A function's walk begins, at a place that is `cold` or not. */
  begin(state: WalkState, kind: number, cold: boolean): void {
    this.#state = state;
    this.#kind = kind;
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
      const base = this.base[counter];
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
      while (group >= 0 && this.offset[group] !== offset) group = this.#previous[group];
    const reads = ACCESS_KIND[access] === AccessKind.Store ? 0 : 1;
    if (group >= 0) {
      const insertion = this.insertion[group];
      insertions.c[insertion] = (insertions.c[insertion] + 2) | reads;
      return;
    }
    const counter = this.#add(base, offset, open);
    const local = keepAddress(stack, values, insertions, temporaries, at, access, start);
    temporaries.scratch = true;
    const kind = this.#kind + (this.cold ? HeapStep.CountOutlined : HeapStep.Count);
    this.local[counter] = local;
    this.insertion[counter] = insertions.add(end, kind, local, displacement, 2 | reads);
  }

  #add(base: number, offset: number, previous: number): number {
    const counter = this.length++;
    if (counter === this.insertion.length) this.#growCounters();
    this.base[counter] = base;
    this.offset[counter] = offset;
    this.#previous[counter] = previous;
    this.#lastBefore[counter] = this.#last[base];
    this.#stretchBefore[counter] = this.#stretchOf[base];
    this.#last[base] = counter;
    this.#stretchOf[base] = this.stretch;
    return counter;
  }

  #growBases(base: number): void {
    const size = Math.max(this.#last.length * 2, base + 1);
    this.#last = grown(this.#last, size);
    this.#stretchOf = grown(this.#stretchOf, size);
  }

  #growCounters(): void {
    const size = this.insertion.length * 2;
    this.insertion = grown(this.insertion, size);
    this.local = grown(this.local, size);
    this.base = grown(this.base, size);
    this.offset = grown(this.offset, size);
    this.#previous = grown(this.#previous, size);
    this.#lastBefore = grown(this.#lastBefore, size);
    this.#stretchBefore = grown(this.#stretchBefore, size);
  }
}
