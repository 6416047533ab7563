import * as Op from "../../../../code/wasm/op.generated.ts";
import { isZero, type Progression } from "../../../rewrite/facts/loop-progressions.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import { pushForm } from "../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { SHORT_SCRATCH } from "../../../rewrite/write/temporaries.ts";

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
export interface CountedTrips extends Progression {
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
export class Counter implements Insertion {
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
