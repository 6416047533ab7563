import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { grown, NO_LOCAL, type OperandStack } from "../../../rewrite/walk/operand-stack.ts";
import { CONSTANT, ValueClass, type ValueNumbers } from "../../../rewrite/walk/value-numbers.ts";
import { InsertionKind, type Insertions } from "../../../rewrite/write/insertions.ts";
import type { Temporaries } from "../../../rewrite/write/temporaries.ts";

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

  readonly #insertions: Insertions;
  readonly #values: ValueNumbers;
  readonly #exact: boolean;
  readonly #everything: boolean;

  /** `exact`: share counters at identical addresses only. `everything`: count stack and static addresses too. */
  constructor(insertions: Insertions, values: ValueNumbers, exact: boolean, everything: boolean) {
    this.#insertions = insertions;
    this.#values = values;
    this.#exact = exact;
    this.#everything = everything;
  }

  reset(): void {
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
  count(
    stack: OperandStack,
    at: number,
    displacement: number,
    reads: number,
    access: number,
    start: number,
    end: number,
    temporaries: Temporaries,
  ): void {
    const values = this.#values;
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
    if (group >= 0) {
      const insertion = this.insertion[group];
      this.#insertions.c[insertion] = (this.#insertions.c[insertion] + 2) | reads;
      return;
    }
    this.#add(stack, at, base, offset, displacement, reads, access, start, end, open, temporaries);
  }

  #add(
    stack: OperandStack,
    at: number,
    base: number,
    offset: number,
    displacement: number,
    reads: number,
    access: number,
    start: number,
    end: number,
    previous: number,
    temporaries: Temporaries,
  ): void {
    const counter = this.length++;
    if (counter === this.insertion.length) this.#growCounters();
    const local = keepAddress(stack, this.#values, this.#insertions, temporaries, at, access, start);
    temporaries.scratch = true;
    const kind = this.cold ? InsertionKind.CountOutlined : InsertionKind.Count;
    this.insertion[counter] = this.#insertions.add(end, kind, local, displacement, 2 | reads);
    this.base[counter] = base;
    this.local[counter] = local;
    this.offset[counter] = offset;
    this.#previous[counter] = previous;
    this.#lastBefore[counter] = this.#last[base];
    this.#stretchBefore[counter] = this.#stretchOf[base];
    this.#last[base] = counter;
    this.#stretchOf[base] = this.stretch;
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
