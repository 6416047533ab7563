import { ACCESS_KIND, AccessKind } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { grown } from "../../../../ground/bytes/grown.ts";
import { isZero, type Progression } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import { pushForm } from "../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { SHORT_SCRATCH } from "../../../rewrite/write/temporaries.ts";
import { MERGED_BYTES } from "../layout.ts";

/** Indices, in the rewritten module, of what counters need. */
export interface CounterTargets {
  shadowMemory: number;
  /** Shadow address of a counter for places that are not followed. */
  unreadCounter: number;
  /** Function of the runtime by name. */
  runtime(name: "countTrips" | "countStrided"): number;
  /** Function that adds a counter word for the address it is given. */
  countFunction(word: number): number;
}

/** Accesses of a loop whose address is followed: the counter word of one trip, and a local with the number of trips. */
interface CountedTrips extends Progression {
  word: number;
  trips: number;
}

/** Bytes of program memory per counter of four bytes. */
const GRANULE_BYTES = 8;
/** `select` of a number. */
const SELECT = 0x1b;

/** Writes the counters. */
export class HeapSnippets {
  readonly #targets: CounterTargets;
  readonly #memory64: boolean;

  constructor(targets: CounterTargets, memory64: boolean) {
    this.#targets = targets;
    this.#memory64 = memory64;
  }

  /** counter[(local + displacement) / 8] += word; the lowest bit of the word is a flag. */
  count(sink: SnippetSink, { local, displacement, word }: Counter): void {
    const { shadowMemory } = this.#targets;
    // Whole granules go into the offsets of the counter's load and store: the access was valid, so the sum does not wrap.
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

  /** As `count`, by a call. */
  callCount(sink: SnippetSink, { local, displacement, word }: Counter): void {
    pushSum(sink, local, displacement);
    sink.indexed(Op.CALL, this.#targets.countFunction(word));
  }

  /** Behind a loop: counts all its trips through a counter that was left out. */
  countTrips(sink: SnippetSink, { word, end, stride, trips }: CountedTrips): void {
    const moves = !isZero(stride);
    pushForm(sink, end);
    if (moves) pushForm(sink, stride);
    sink.local(Op.LOCAL_GET, trips);
    sink.i32(word);
    sink.indexed(Op.CALL, this.#targets.runtime(moves ? "countStrided" : "countTrips"));
  }

  /** Half the address in a local plus `displacement`; addresses above 4 GiB have one counter that nobody reads. */
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

/** Stands behind an access and counts it, and others of the same base. */
class Counter implements Insertion {
  readonly #snippets: HeapSnippets;
  /** The local that holds the counted address before `displacement` is added; may be a temporary. */
  local = 0;
  displacement = 0;
  /** What it adds: (accesses << 1) | (1 if one of them reads). */
  word = 0;
  /** Value number of the address, and how far the counted address is from it. */
  base = 0;
  offset = 0;
  /** The counter of the same base before it, in the same stretch of code; −1 if there is none. */
  previous = -1;
  /** Something else counts these accesses. */
  isLeftOut = false;
  /** It is a call: smaller and slower. */
  isOutlined = false;

  constructor(snippets: HeapSnippets) {
    this.#snippets = snippets;
  }

  write(sink: SnippetSink): void {
    if (this.isLeftOut) return;
    if (this.isOutlined) this.#snippets.callCount(sink, this);
    else this.#snippets.count(sink, this);
  }
}

/** How counters are told apart. */
export interface CounterKinds {
  /** Share counters at identical addresses only. */
  exact: boolean;
  /** Count the stack too. */
  includeStack: boolean;
  /** Addresses that static data may have; undefined if it has none that are known. */
  statics: { readonly start: number; readonly end: number } | undefined;
}

/** Bytes of program memory per counter, as a power of two. */
const GRANULE_BITS = 3;
/** Of the counters with one base in a stretch of code, so many are looked through for one that can be shared. */
const MOST_SHARED = 64;

/**
 * Access counters of one function. Accesses of a basic block whose addresses have one base value share a counter: it
 * stands behind the first of them, where the address is known to be valid, and counts for all. Where the constant part of an
 * address is one of static data, the base is an index, and other constants are other variables: each granule counts for itself.
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
    if (!this.#includeStack && values.classes[base] === ValueClass.Stack) return;
    if (base >= this.#last.length) this.#growBases(base);
    const offset = (stack.offset[at] + displacement) | 0;
    const open = this.#stretchOf[base] === this.stretch ? this.#last[base] : -1;
    const group = this.#shared(base, offset, open);
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

  /** The first counter, of that base from `open` on, that may count for an access `offset` bytes from the base; −1 if none may. */
  #shared(base: number, offset: number, open: number): number {
    const { counters } = this;
    const isStatic = base === CONSTANT || (offset >= this.#staticStart && offset < this.#staticEnd);
    let group = open;
    for (let looked = 0; group >= 0; group = counters[group].previous, looked++) {
      if (looked === MOST_SHARED) return -1;
      const other = counters[group].offset;
      if (other === offset) return group;
      if (this.#exact) continue;
      if (isStatic) {
        if (other >>> GRANULE_BITS === offset >>> GRANULE_BITS) return group;
      } else if (Math.abs(other - offset) < MERGED_BYTES) return group;
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
