import type { Insertions, LinearForm } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { SHORT_SCRATCH } from "../../../rewrite/write/temporaries.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { Accumulator, LoopAccumulators } from "./loop-accumulators.ts";

/** What the pass inserts: numbers behind its first kind. A counter word is (accesses << 1) | (1 if one of them reads). */
export const HeapStep = {
  /** `a`: local with the base address, `b`: constant to add to it, `c`: counter word. */
  Count: 0,
  /** As Count, by a call: smaller and slower. */
  CountOutlined: 1,
  /** As Count, into locals: `a` to `c` as there, `d`: index of the accumulator. */
  Accumulate: 2,
  /** `a`: index of the accumulator. Adds it to the counter, if there is something to add, and clears it. */
  FlushAccumulator: 3,
  /** `a`: address (a linear form), `c`: counter word of one trip, `d`: trips. After the loop. */
  CountTrips: 4,
  /** `a`: address behind the last trip and `b`: stride (linear forms), `c`: counter word, `d`: trips. After the loop. */
  CountStrided: 5,
} as const;

/** Indices, in the rewritten module, of what counters need. */
export interface CounterTargets {
  shadowMemory: number;
  /** Shadow address of a counter for places that are not followed. */
  unreadCounter: number;
  /** Function of the runtime by name. */
  runtime(name: "countTrips" | "countStrided" | "countGathered"): number;
  /** Function that adds a counter word for the address it is given. */
  countFunction(word: number): number;
}

/** Bytes of program memory per counter of four bytes. */
const GRANULE_BYTES = 8;
/** `select` of a number. */
const SELECT = 0x1b;
/** Block type without parameters and results. */
const EMPTY = 0x40;

/** Writes the counters. */
export class HeapSnippets {
  readonly #targets: CounterTargets;
  readonly #memory64: boolean;
  readonly #accumulators: LoopAccumulators;
  #insertions!: Insertions;
  #kind = 0;

  constructor(targets: CounterTargets, memory64: boolean, accumulators: LoopAccumulators) {
    this.#targets = targets;
    this.#memory64 = memory64;
    this.#accumulators = accumulators;
  }

  begin(insertions: Insertions, kind: number): void {
    this.#insertions = insertions;
    this.#kind = kind;
  }

  write(sink: SnippetSink, entry: number): void {
    const { a, b, c, d, forms, kind } = this.#insertions;
    const targets = this.#targets;
    switch (kind[entry] - this.#kind) {
      case HeapStep.Count:
        this.#count(sink, a[entry], b[entry], c[entry]);
        break;
      case HeapStep.CountOutlined:
        pushSum(sink, a[entry], b[entry]);
        sink.indexed(Op.CALL, targets.countFunction(c[entry]));
        break;
      case HeapStep.Accumulate:
        accumulate(sink, this.#accumulators.all[d[entry]], a[entry], b[entry], c[entry]);
        break;
      case HeapStep.FlushAccumulator:
        this.#flush(sink, this.#accumulators.all[a[entry]]);
        break;
      default: {
        const strided = kind[entry] - this.#kind === HeapStep.CountStrided;
        pushForm(sink, forms[a[entry]]);
        if (strided) pushForm(sink, forms[b[entry]]);
        sink.local(Op.LOCAL_GET, d[entry]);
        sink.i32(c[entry]);
        sink.indexed(Op.CALL, targets.runtime(strided ? "countStrided" : "countTrips"));
      }
    }
  }

  /** counter[(local + displacement) / 8] += word; the lowest bit of the word is a flag. */
  #count(sink: SnippetSink, local: number, displacement: number, word: number): void {
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

  #flush(sink: SnippetSink, { word, address, writes }: Accumulator): void {
    sink.local(Op.LOCAL_GET, word);
    sink.plain(Op.I64_EQZ);
    sink.plain(Op.I32_EQZ);
    sink.open(Op.IF, EMPTY);
    sink.local(Op.LOCAL_GET, address);
    sink.local(Op.LOCAL_GET, word);
    if (!writes) setReadFlag(sink);
    sink.indexed(Op.CALL, this.#targets.runtime("countGathered"));
    sink.i64(0);
    sink.local(Op.LOCAL_SET, word);
    sink.end();
  }
}

/** word += `added`; address = local + displacement. */
function accumulate(
  sink: SnippetSink,
  { word, address, writes }: Accumulator,
  local: number,
  displacement: number,
  added: number,
): void {
  pushSum(sink, local, displacement);
  sink.local(Op.LOCAL_SET, address);
  sink.local(Op.LOCAL_GET, word);
  sink.i64(added & ~1);
  sink.plain(Op.I64_ADD);
  // Where all places read, it is enough to say so in the end.
  if (added & 1 && writes) setReadFlag(sink);
  sink.local(Op.LOCAL_SET, word);
}

function setReadFlag(sink: SnippetSink): void {
  sink.i64(1);
  sink.plain(Op.I64_OR);
}

function pushSum(sink: SnippetSink, local: number, displacement: number): void {
  sink.local(Op.LOCAL_GET, local);
  if (displacement === 0) return;
  sink.i32(displacement);
  sink.plain(Op.I32_ADD);
}

function pushForm(sink: SnippetSink, { terms, constant }: LinearForm): void {
  let pushed = false;
  for (const { local, factor } of terms) {
    sink.local(Op.LOCAL_GET, local);
    if (factor !== 1) {
      sink.i32(factor);
      sink.plain(Op.I32_MUL);
    }
    if (pushed) sink.plain(Op.I32_ADD);
    pushed = true;
  }
  if (pushed && constant === 0) return;
  sink.i32(constant);
  if (pushed) sink.plain(Op.I32_ADD);
}
