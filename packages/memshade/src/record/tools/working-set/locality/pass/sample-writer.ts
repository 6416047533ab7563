import * as Op from "../../../../../code/wasm/op.generated.ts";
import { NO_LOCAL } from "../../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { writeLine } from "../../pass/marks/line-of-address.ts";
import { WAITING_BYTES } from "../layout.ts";
import { BUFFER_BYTES, HASH_RANGE } from "../memory-plan.ts";

/** Indices and addresses in the instrumented module that the code of sampling refers to. */
export interface SampleTargets {
  memory: number;
  memory64: boolean;
  /** A line is sampled if `multiplier` × its number, 32 bits, is at most `limit`. */
  multiplier: number;
  limit: number;
  /** Where references wait that inserted code puts aside itself: the buffer, and where the bytes used of it are. */
  buffer: number;
  bufferedAt: number;
}

/** One place that is accessed, or two at most a line apart. */
export interface SampledPlace {
  /** Local with an address, and the distance of the lower place from it. */
  local: number;
  displacement: number;
  site: number;
  /** The upper place: its distance from the lower one, 0 if there is none, and its site. */
  extra: number;
  upperSite: number;
}

const NO_RESULT = 0x40;
/** Size of a reference in the buffer, as a power of two. */
const WAITING_SHIFT = Math.log2(WAITING_BYTES);
/** A line that no memory has. */
const NO_LINE = -1;

/** Writes the code that compares hashes of lines, and puts references to sampled ones aside. */
export class SampleWriter {
  readonly #targets: SampleTargets;
  readonly #writeClock: (sink: SnippetSink) => void;
  /** The sum of limit and multiplier, if that is below the range of hashes. */
  readonly #eitherLimit: number | undefined;
  /** Locals for a moment: lines of the lower and of the upper place, and where in the buffer they go. */
  lower = NO_LOCAL;
  upper = NO_LOCAL;
  waits = NO_LOCAL;

  constructor(targets: SampleTargets, writeClock: (sink: SnippetSink) => void) {
    this.#targets = targets;
    this.#writeClock = writeClock;
    const either = (targets.limit >>> 0) + (targets.multiplier >>> 0);
    if (either < HASH_RANGE) this.#eitherLimit = either;
  }

  /** Notes the references whose lines are sampled. The engine must know that to be rare, or it costs registers. */
  sample(sink: SnippetSink, place: SampledPlace): void {
    this.#line(sink, place, 0);
    sink.local(Op.LOCAL_TEE, this.lower);
    if (place.extra === 0) this.#compareHash(sink);
    else this.#eitherMayBe(sink);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    if (place.extra > 0) {
      this.#line(sink, place, place.extra);
      sink.local(Op.LOCAL_SET, this.upper);
    }
    if (place.extra === 0) this.#putAside(sink, place.site);
    else this.#putBothAside(sink, place);
    sink.end();
  }

  /** Pushes the line of a place. */
  #line(sink: SnippetSink, { local, displacement }: SampledPlace, more: number): void {
    // The runtime leaves out what is above 4 GiB: no memory it follows has such a line.
    writeLine(sink, this.#targets.memory64, local, displacement + more, NO_LINE);
  }

  /** Replaces the line on the stack by whether it is sampled. */
  #compareHash(sink: SnippetSink): void {
    sink.i32(this.#targets.multiplier);
    sink.plain(Op.I32_MUL);
    sink.i32(this.#targets.limit);
    sink.plain(Op.I32_LE_U);
  }

  /** Replaces the lower line on the stack by whether it or the line behind it may be sampled. */
  #eitherMayBe(sink: SnippetSink): void {
    const { multiplier, limit } = this.#targets;
    const hashBehind = (): void => {
      sink.i32(multiplier);
      sink.plain(Op.I32_MUL);
      sink.i32(multiplier);
      sink.plain(Op.I32_ADD);
    };
    if (this.#eitherLimit !== undefined) {
      hashBehind();
      sink.i32(this.#eitherLimit | 0);
      sink.plain(Op.I32_LE_U);
      return;
    }
    this.#compareHash(sink);
    sink.local(Op.LOCAL_GET, this.lower);
    hashBehind();
    sink.i32(limit);
    sink.plain(Op.I32_LE_U);
    sink.plain(Op.I32_OR);
  }

  #isTwo(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.lower);
    sink.local(Op.LOCAL_GET, this.upper);
    sink.plain(Op.I32_NE);
  }

  /**
   * Puts a reference aside as `note` does, without a call: behind a call, engines assume that memory has moved. Should code without a poll make
   * more references than the buffer has room for, the last ones stay.
   */
  #putAside(sink: SnippetSink, site: number): void {
    const { memory, bufferedAt } = this.#targets;
    sink.i32(0);
    this.#used(sink);
    sink.local(Op.LOCAL_TEE, this.waits);
    sink.i32(WAITING_BYTES);
    sink.plain(Op.I32_ADD);
    sink.i32(BUFFER_BYTES - 1);
    sink.plain(Op.I32_AND);
    sink.access(Op.I32_STORE, 2, memory, bufferedAt);
    this.#store(sink, this.lower, site);
  }

  /** Puts both lines of a place aside. Both are written, and those that are sampled are kept, so that there is no branch to predict. */
  #putBothAside(sink: SnippetSink, { site, upperSite }: SampledPlace): void {
    const { memory, bufferedAt } = this.#targets;
    this.#used(sink);
    sink.local(Op.LOCAL_SET, this.waits);
    this.#store(sink, this.lower, site);
    sink.local(Op.LOCAL_GET, this.waits);
    sink.local(Op.LOCAL_GET, this.lower);
    this.#compareHash(sink);
    this.#addEntries(sink);
    sink.local(Op.LOCAL_SET, this.waits);
    this.#store(sink, this.upper, upperSite);
    sink.i32(0);
    sink.local(Op.LOCAL_GET, this.waits);
    sink.local(Op.LOCAL_GET, this.upper);
    this.#compareHash(sink);
    this.#isTwo(sink);
    sink.plain(Op.I32_AND);
    this.#addEntries(sink);
    sink.i32(BUFFER_BYTES - 1);
    sink.plain(Op.I32_AND);
    sink.access(Op.I32_STORE, 2, memory, bufferedAt);
  }

  /** Replaces a place in the buffer and a number of entries by the place behind these. */
  #addEntries(sink: SnippetSink): void {
    sink.i32(WAITING_SHIFT);
    sink.plain(Op.I32_SHL);
    sink.plain(Op.I32_ADD);
  }

  #used(sink: SnippetSink): void {
    sink.i32(0);
    sink.access(Op.I32_LOAD, 2, this.#targets.memory, this.#targets.bufferedAt);
  }

  /** Writes an entry at `waits`. */
  #store(sink: SnippetSink, line: number, site: number): void {
    const { memory, buffer } = this.#targets;
    const store = (at: number, value: () => void): void => {
      sink.local(Op.LOCAL_GET, this.waits);
      value();
      sink.access(Op.I32_STORE, 2, memory, buffer + at);
    };
    store(0, () => sink.local(Op.LOCAL_GET, line));
    store(4, () => sink.i32(site));
    store(8, () => this.#writeClock(sink));
  }
}
