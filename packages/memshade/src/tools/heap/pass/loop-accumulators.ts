import type { WalkState } from "../../../rewrite/tool.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { I32, I64 } from "../../../wasm/index.ts";
import type { Counter } from "./counter.ts";
import type { CounterGroups } from "./counter-groups.ts";
import type { HeapSnippets } from "./heap-snippets.ts";
import type { PointerRoots } from "./pointer-roots.ts";

/** Accesses to one object that a loop adds up in locals; they reach the object's counter when the loop is left. */
export interface Accumulator {
  /** i64 local: a counter word that was not written yet, 0 if there was no access. */
  word: number;
  /** i32 local: address of the last access. */
  address: number;
  /** Whether some of its places read, and whether some do not. */
  reads: boolean;
  writes: boolean;
}

interface Open extends Accumulator {
  /** Counters it stands for. */
  counters: Counter[];
  /** Where it is written to the counter, as long as it is. */
  flushes: Flush[];
  /** Whether it is held across loops inside of a loop. */
  nested: boolean;
}

/** Where an accumulator is added to its counter. */
interface Flush {
  position: number;
  isLeftOut: boolean;
}

/** A place inside of loops where control goes to the label of the block at index `target`; −1: the function returns. */
interface Exit {
  target: number;
  position: number;
}

/** What there was when a loop began. */
interface Begun {
  obstacles: number;
  exits: number;
  open: number;
  counters: number;
}

const RETURN = -1;
/** More would only be spilled to the engine's stack. */
const MOST_PER_FUNCTION = 48;
/**
 * Counters inside of loops that call nothing. Where all addresses of a counter lie in one object for as long as the loop
 * runs, its accesses are added up in locals, for the outermost loop of which that holds.
 */
export class LoopAccumulators {
  readonly #snippets: HeapSnippets;
  readonly #counters: CounterGroups;
  readonly #roots: PointerRoots;
  /** Things so far that no accumulator can be held across: calls, and ways out of the function with a condition. */
  #obstacles = 0;
  #exits: Exit[] = [];
  #open: Open[] = [];
  /** Accumulators to be written behind the end of a block, by the block's index on the control stack. */
  readonly #pending = new Map<number, Set<Open>>();
  /** By the loop's index on the control stack. */
  readonly #begun: Begun[] = [];

  #state!: WalkState;

  constructor(snippets: HeapSnippets, counters: CounterGroups, roots: PointerRoots) {
    this.#snippets = snippets;
    this.#counters = counters;
    this.#roots = roots;
  }

  /** A function's walk begins. */
  begin(state: WalkState): void {
    this.#state = state;
    this.#obstacles = 0;
    this.#exits.length = 0;
    this.#open.length = 0;
    this.#pending.clear();
  }

  enterLoop(): void {
    this.#begun[this.#state.control.top] = {
      obstacles: this.#obstacles,
      exits: this.#exits.length,
      open: this.#open.length,
      counters: this.#counters.length,
    };
  }

  /** Something at which all that was counted has to be in memory. */
  obstacle(): void {
    this.#obstacles++;
  }

  /** The instruction at `position` goes to the block at control index `target`. */
  branch(target: number, position: number, always: boolean): void {
    if (target > 0) this.#exits.push({ target, position });
    else if (always) this.#exits.push({ target: RETURN, position });
    else this.#obstacles++;
  }

  leaveFunction(position: number): void {
    this.#exits.push({ target: RETURN, position });
  }

  /** The innermost block, a loop, ends before `end`. `reached`: by its last instruction. */
  leaveLoop(end: number, reached: boolean): void {
    const loop = this.#state.control.top;
    const begun = this.#begun[loop];
    const useful = this.#state.openLoops > 1 || begun.open < this.#open.length;
    if (useful && begun.obstacles === this.#obstacles) this.#gather(begun, end, reached);
    // What stays inside of this loop leaves no loop around it.
    let kept = begun.exits;
    for (let i = begun.exits; i < this.#exits.length; i++)
      if (this.#exits[i].target < loop) this.#exits[kept++] = this.#exits[i];
    this.#exits.length = kept;
  }

  /** The block at control index `at` ends before `end`. */
  leaveBlock(at: number, end: number): void {
    if (this.#pending.size === 0) return;
    const pending = this.#pending.get(at);
    if (pending === undefined) return;
    this.#pending.delete(at);
    for (const accumulator of pending) this.#flush(accumulator, end);
  }

  /**
   * The function ends. Accumulators that pay get their locals; those of a single loop do not, as most loops run for a few
   * trips, and what they would save is lost on their way out.
   */
  finish(): void {
    const { temporaries } = this.#state;
    for (const accumulator of this.#open) {
      if (accumulator.nested) {
        accumulator.word = extraLocal(temporaries, I64);
        accumulator.address = extraLocal(temporaries, I32);
        continue;
      }
      for (const counter of accumulator.counters) counter.accumulator = undefined;
      for (const flush of accumulator.flushes) flush.isLeftOut = true;
    }
  }

  #gather(begun: Begun, end: number, reached: boolean): void {
    const { control, openLoops } = this.#state;
    const outermost = openLoops === 1;
    const loop = control.top;
    const { counters, length } = this.#counters;
    const found = new Map<number, Open>();
    // Those of inner loops, as far as their objects stay the same here.
    for (let i = begun.open; i < this.#open.length; i++) {
      const inner = this.#open[i];
      const key = this.#sharedKey(inner);
      if (key === 0) continue;
      this.#withdraw(inner);
      inner.nested = true;
      const known = found.get(key);
      if (known === undefined) found.set(key, inner);
      else {
        this.#join(known, inner);
        this.#open[i--] = this.#open[this.#open.length - 1];
        this.#open.length--;
      }
    }
    const taken = new Map<number, Counter[]>();
    for (let i = begun.counters; i < length; i++) {
      const counter = counters[i];
      if (counter.isLeftOut || counter.isOutlined || counter.accumulator !== undefined) continue;
      const key = this.#roots.keyOf(counter.base, control, loop);
      if (key === 0) continue;
      const same = taken.get(key);
      if (same === undefined) taken.set(key, [counter]);
      else same.push(counter);
    }
    for (const [key, same] of taken) {
      let accumulator = found.get(key);
      if (accumulator === undefined) {
        // What only the outermost loop gathers would be given up in the end.
        if (outermost || this.#open.length >= MOST_PER_FUNCTION) continue;
        accumulator = this.#accumulator();
        found.set(key, accumulator);
      }
      for (const counter of same) this.#take(accumulator, counter);
    }
    if (found.size === 0) return;
    // What follows must not join a counter that has just left the loop.
    this.#counters.endBlock();
    for (const accumulator of found.values()) {
      if (reached) this.#flush(accumulator, end);
      for (let i = begun.exits; i < this.#exits.length; i++) {
        const { target, position } = this.#exits[i];
        if (target >= loop) continue;
        if (target === RETURN) this.#flush(accumulator, position);
        else if (control.isLoop(target)) this.#flushAtHeader(accumulator, control.loopBody[target]);
        else this.#flushBehind(accumulator, target);
      }
    }
  }

  #accumulator(): Open {
    const accumulator: Open = {
      word: -1,
      address: -1,
      reads: false,
      writes: false,
      counters: [],
      flushes: [],
      nested: false,
    };
    this.#open.push(accumulator);
    return accumulator;
  }

  /** The key all counters of an accumulator have in the innermost block, a loop; 0 if they differ. */
  #sharedKey(accumulator: Open): number {
    const { control } = this.#state;
    let shared = 0;
    for (const counter of accumulator.counters) {
      const key = this.#roots.keyOf(counter.base, control, control.top);
      if (key === 0 || (shared !== 0 && key !== shared)) return 0;
      shared = key;
    }
    return shared;
  }

  #take(accumulator: Open, counter: Counter): void {
    if (counter.word & 1) accumulator.reads = true;
    else accumulator.writes = true;
    counter.accumulator = accumulator;
    accumulator.counters.push(counter);
  }

  #join(accumulator: Open, other: Open): void {
    for (const counter of other.counters) this.#take(accumulator, counter);
  }

  /** Takes back what writes an accumulator at the ends of an inner loop. */
  #withdraw(accumulator: Open): void {
    for (const flush of accumulator.flushes) flush.isLeftOut = true;
    accumulator.flushes.length = 0;
    for (const pending of this.#pending.values()) pending.delete(accumulator);
  }

  #flush(accumulator: Open, position: number): void {
    const flush: Flush = { position, isLeftOut: false };
    accumulator.flushes.push(flush);
    this.#state.insertions.add(position, {
      write: (sink) => {
        if (!flush.isLeftOut) this.#snippets.flush(sink, accumulator);
      },
    });
  }

  #flushAtHeader(accumulator: Open, body: number): void {
    if (!accumulator.flushes.some(({ position }) => position === body)) this.#flush(accumulator, body);
  }

  #flushBehind(accumulator: Open, block: number): void {
    let pending = this.#pending.get(block);
    if (pending === undefined) {
      pending = new Set();
      this.#pending.set(block, pending);
    }
    pending.add(accumulator);
  }
}
