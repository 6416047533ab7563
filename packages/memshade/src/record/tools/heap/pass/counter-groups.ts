import { ACCESS_KIND, AccessKind } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { grown } from "../../../../ground/bytes/columns.ts";
import { MERGED_BYTES } from "../../../../profile/model/run.ts";
import { isZero, type Progression } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import { pushForm } from "../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { SHORT_SCRATCH } from "../../../rewrite/write/temporaries.ts";

/** Indices, in the rewritten module, that counters refer to. */
export interface CounterTargets {
  shadowMemory: number;
  /** Shadow address of a dummy counter for addresses that are not followed. */
  unreadCounter: number;
  /** Shadow address of the sum of repeated loads. */
  repeatedLoads: number;
  runtime(name: "countTrips" | "countStrided"): number;
  /** Returns the index of the function that adds a counter word for a given address. */
  countFunction(word: number): number;
}

/**
 * Accesses of a loop whose address changes in a known way: the counter word of one trip, and a local with the
 * number of trips.
 */
interface CountedTrips extends Progression {
  word: number;
  trips: number;
  /** Repeated loads of a trip. */
  repeated: number;
}

const GRANULE_BYTES = 8;
const SELECT = 0x1b;

export class HeapSnippets {
  readonly #targets: CounterTargets;
  readonly #memory64: boolean;

  constructor(targets: CounterTargets, memory64: boolean) {
    this.#targets = targets;
    this.#memory64 = memory64;
  }

  /** Writes: counter[(local + displacement) / 8] += word. The lowest bit of the word is a flag. */
  count(sink: SnippetSink, { local, displacement, word }: Counter): void {
    const { shadowMemory } = this.#targets;
    // Whole granules go into the offsets of the counter's load and store. The access was valid, so the sum
    // does not wrap.
    const folded = !this.#memory64 && displacement > 0 && displacement % GRANULE_BYTES === 0;
    const offset = folded ? displacement / 2 : 0;
    if (this.#memory64) this.#pushWideIndex(sink, local, displacement);
    else {
      pushSum(sink, local, folded ? 0 : displacement);
      sink.i32(1);
      sink.plain(Op.I32_SHR_U);
    }
    sink.i32(-4);
    sink.plain(Op.I32_AND);
    sink.local(Op.LOCAL_TEE, SHORT_SCRATCH);
    sink.local(Op.LOCAL_GET, SHORT_SCRATCH);
    sink.access(Op.I32_LOAD, 2, shadowMemory, offset);
    sink.i32(word & ~1);
    sink.plain(Op.I32_ADD);
    if (word & 1) {
      sink.i32(1);
      sink.plain(Op.I32_OR);
    }
    sink.access(Op.I32_STORE, 2, shadowMemory, offset);
  }

  /** Adds repeated loads to their sum: so many at each trip of a loop. `trips`: local with their number; 1 if undefined. */
  addRepeated(sink: SnippetSink, loads: number, trips?: number): void {
    const { shadowMemory, repeatedLoads } = this.#targets;
    sink.i32(0);
    sink.i32(0);
    sink.access(Op.I64_LOAD, 3, shadowMemory, repeatedLoads);
    sink.i64(loads);
    if (trips !== undefined) {
      sink.local(Op.LOCAL_GET, trips);
      sink.plain(Op.I64_EXTEND_I32_U);
      sink.plain(Op.I64_MUL);
    }
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, shadowMemory, repeatedLoads);
  }

  callCount(sink: SnippetSink, { local, displacement, word }: Counter): void {
    pushSum(sink, local, displacement);
    sink.indexed(Op.CALL, this.#targets.countFunction(word));
  }

  /** Counts all trips of a loop after it, in place of a counter inside. */
  countTrips(sink: SnippetSink, { word, end, stride, trips, repeated }: CountedTrips): void {
    if (repeated > 0) this.addRepeated(sink, repeated, trips);
    const moves = !isZero(stride);
    pushForm(sink, end);
    if (moves) pushForm(sink, stride);
    sink.local(Op.LOCAL_GET, trips);
    sink.i32(word);
    sink.indexed(Op.CALL, this.#targets.runtime(moves ? "countStrided" : "countTrips"));
  }

  /**
   * Writes half the address in a local plus `displacement`. Addresses above 4 GiB share one dummy counter.
   */
  #pushWideIndex(sink: SnippetSink, local: number, displacement: number): void {
    const shifted = (bits: number): void => {
      sink.local(Op.LOCAL_GET, local);
      if (displacement !== 0) {
        sink.i64(BigInt(displacement >>> 0));
        sink.plain(Op.I64_ADD);
      }
      sink.i64(bits);
      sink.plain(Op.I64_SHR_U);
    };
    shifted(1);
    sink.plain(Op.I32_WRAP_I64);
    sink.i32(this.#targets.unreadCounter);
    shifted(32);
    sink.plain(Op.I64_EQZ);
    sink.plain(SELECT);
  }
}

function pushSum(sink: SnippetSink, local: number, displacement: number): void {
  sink.local(Op.LOCAL_GET, local);
  if (displacement === 0) return;
  sink.i32(displacement);
  sink.plain(Op.I32_ADD);
}

/** Counter after an access. It counts that access and others of the same base. */
class Counter implements Insertion {
  readonly #snippets: HeapSnippets;
  /** Local with the counted address before `displacement` is added; may be a temporary. */
  local = 0;
  displacement = 0;
  /** Word that it adds: (accesses << 1) | (1 if one of them reads). */
  word = 0;
  /** Value number of the address, and the distance of the counted address from it. */
  base = 0;
  offset = 0;
  /** Previous counter of the same base in the same stretch of code; −1 if there is none. */
  previous = -1;
  isLeftOut = false;
  /** Loads from addresses that do not change in the innermost loop, and the key of each. */
  loads: number[] = [];
  /** Keys of the stores in that loop. */
  stored: ReadonlySet<number> = NO_KEYS;
  /** True if it is written as a call, which is smaller and slower. */
  isOutlined = false;

  constructor(snippets: HeapSnippets) {
    this.#snippets = snippets;
  }

  write(sink: SnippetSink): void {
    if (this.isLeftOut) return;
    if (this.isOutlined) this.#snippets.callCount(sink, this);
    else this.#snippets.count(sink, this);
    const { repeated } = this;
    if (repeated > 0) this.#snippets.addRepeated(sink, repeated);
  }

  /** Returns the number of loads that no store of the loop may change. Known after the walk of the loop. */
  get repeated(): number {
    const { loads, stored } = this;
    return loads.length === 0 ? 0 : loads.filter((key) => !stored.has(key)).length;
  }
}

const NO_KEYS: ReadonlySet<number> = new Set();

export interface CounterKinds {
  exact: boolean;
  includeStack: boolean;
  statics: { readonly start: number; readonly end: number } | undefined;
}

const GRANULE_BITS = 3;
/** Most counters with one base in a stretch of code that are searched for one to share. */
const MOST_SHARED = 64;

/**
 * Access counters of one function.
 * Accesses of a basic block whose addresses have one base value share a counter. The counter stands after the
 * first of them, where the address is known to be valid, and counts for all.
 * If the constant part of an address lies in static data, the base is an index, and other constants belong to
 * other variables. Then each granule has its own counter.
 */
export class CounterGroups {
  length = 0;
  /**
   * Counters of this function come first. Those after `length` belong to earlier functions and are reused.
   */
  readonly counters: Counter[] = [];

  /** Last counter of a base, and the stretch of code that it is in. */
  #last = new Int32Array(4096);
  #stretchOf = new Int32Array(4096);
  /** Number of the stretch of code whose groups are open. All code of a stretch runs equally often. */
  stretch = 1;
  #stretches = 1;
  /** Values of `#last` and `#stretchOf` for a counter's base before the counter was added. */
  #lastBefore = new Int32Array(1024);
  #stretchBefore = new Int32Array(1024);
  /** True if the walk is in code that runs rarely compared to the rest of its function. */
  cold = false;

  /** Keys of the stores in the innermost loop, if the walk is in one that has had no other loop inside. */
  #storedInLoop: Set<number> | undefined;
  /** Number of the last such loop that assigns a local, by local. */
  #assignedIn = new Int32Array(256);
  #innermost = 0;

  readonly #snippets: HeapSnippets;
  readonly #exact: boolean;
  readonly #includeStack: boolean;
  readonly #staticStart: number;
  readonly #staticEnd: number;
  #state!: WalkState;

  constructor(snippets: HeapSnippets, { exact, includeStack, statics }: CounterKinds) {
    this.#snippets = snippets;
    this.#exact = exact;
    this.#includeStack = includeStack;
    this.#staticStart = statics?.start ?? 0;
    this.#staticEnd = statics?.end ?? 0;
  }

  begin(state: WalkState, cold: boolean): void {
    this.#state = state;
    this.cold = cold;
    this.length = 0;
    this.#storedInLoop = undefined;
    // Value numbers start again, and so do their groups.
    this.endBlock();
  }

  /** `assigned`: locals that the loop assigns. */
  enterLoop(assigned: Int32Array): void {
    this.#storedInLoop = new Set();
    this.#innermost++;
    for (const local of assigned) {
      if (local >= this.#assignedIn.length)
        this.#assignedIn = grown(this.#assignedIn, Math.max(local + 1, 2 * this.#assignedIn.length));
      this.#assignedIn[local] = this.#innermost;
    }
  }

  leaveLoop(): void {
    this.#storedInLoop = undefined;
  }

  /** Notes an access in an innermost loop whose address is a local that the loop does not assign, plus a constant. */
  #noteInLoop(counter: Counter, base: number, offset: number, reads: number): void {
    if (this.#storedInLoop === undefined) return;
    const { origin } = this.#state.values;
    const local = origin[base];
    const isFixed = base !== CONSTANT && local >= 0 && this.#assignedIn[local] !== this.#innermost;
    if (!isFixed) return;
    const key = local * 2 ** 32 + (offset >>> 0);
    if (reads === 0) this.#storedInLoop.add(key);
    else counter.loads.push(key);
    counter.stored = this.#storedInLoop;
  }

  /** Ends a basic block: the code that follows may run a different number of times. */
  endBlock(): void {
    this.stretch = ++this.#stretches;
  }

  /**
   * Continues a stretch after a block that had its own, unless each counter must be exact.
   * `stretch`: its number.
   * `groups`: number of counters before that block.
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
   * Counts one access. Its address is the value at stack index `at` plus the constant `displacement`.
   * `access`: opcode of the instruction, which is at `[start, end)`.
   */
  count(access: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, values, insertions, temporaries } = this.#state;
    const { counters } = this;
    let base = stack.value[at];
    if (base === 0) {
      base = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.value[at] = base;
    }
    if (!this.#includeStack && values.classes[base] === ValueClass.Stack) return;
    if (base >= this.#last.length) this.#growBases(base);
    const offset = (stack.offset[at] + displacement) | 0;
    const open = this.#stretchOf[base] === this.stretch ? this.#last[base] : -1;
    const group = this.#shared(base, offset, open);
    const reads = ACCESS_KIND[access] === AccessKind.Store ? 0 : 1;
    if (group >= 0) {
      counters[group].word = (counters[group].word + 2) | reads;
      this.#noteInLoop(counters[group], base, offset, reads);
      return;
    }
    const counter = this.#add(base, offset, open);
    counter.local = keepAddress(this.#state, at, access, start);
    counter.displacement = displacement;
    counter.word = 2 | reads;
    this.#noteInLoop(counter, base, offset, reads);
    temporaries.scratch = true;
    insertions.add(end, counter);
  }

  /**
   * Returns the first counter of a base, from `open` on, that may count for an access `offset` bytes from the
   * base; −1 if none may.
   */
  #shared(base: number, offset: number, open: number): number {
    const { counters } = this;
    const isStatic = base === CONSTANT || (offset >= this.#staticStart && offset < this.#staticEnd);
    let group = open;
    for (let examined = 0; group >= 0; group = counters[group].previous, examined++) {
      if (examined === MOST_SHARED) return -1;
      const groupOffset = counters[group].offset;
      if (groupOffset === offset) return group;
      if (this.#exact) continue;
      if (isStatic) {
        if (groupOffset >>> GRANULE_BITS === offset >>> GRANULE_BITS) return group;
      } else if (Math.abs(groupOffset - offset) < MERGED_BYTES) return group;
    }
    return -1;
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
    if (counter.loads.length > 0) counter.loads = [];
    counter.stored = NO_KEYS;
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
