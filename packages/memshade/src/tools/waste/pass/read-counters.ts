import { sizeOfU32Leb } from "../../../bytes/leb128.ts";
import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import type { ValType } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { HeldConstants } from "./held-constants.ts";
import type { Scratch, ShadowWords, SnippetAddress } from "./shadow-words.ts";
import type { SiteRecords } from "./site-records.ts";
import { FULL_LOG_BYTES, LOG_ENTRY_BYTES, READS_BYTES, type WasteLayout } from "./waste-layout.ts";

const NOTHING = 0x40;
const I32: ValType = 0x7f;
/** Bytes of `local.get` and `i32.add`. */
const ADD_LOCAL_BYTES = 3;
/** In an entry of the log: where to count the load. */
const COUNTER_AT = 8;

/** What inline code counts by id: bytes that were read. Either at once, or it puts the ids into a log; see `tools/waste/assembly/narrow/log.ts`. */
export class ReadCounters {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  readonly #records: SiteRecords;
  readonly #constants: HeldConstants;
  readonly #takeLog: number;

  /** `memory`: index of the tool's. `takeLog`: function that takes what is in the log; −1: there is none. */
  constructor(
    layout: WasteLayout,
    memory: number,
    records: SiteRecords,
    constants: HeldConstants,
    takeLog: number,
  ) {
    this.#layout = layout;
    this.#memory = memory;
    this.#records = records;
    this.#constants = constants;
    this.#takeLog = takeLog;
  }

  /** The line before the counters, as a signed number: from there they and the log's length are short to say. */
  get #line(): bigint {
    return BigInt(this.#layout.logged | 0);
  }

  /** An access will count here. The line is added to an address once, and not said where that is loaded from and stored to. */
  want(): void {
    this.#constants.want(I32, this.#line, 2 * (sizeOfU32Leb(this.#layout.reads) - 1) - ADD_LOCAL_BYTES);
  }

  /** The store whose id is on the stack wrote `size` bytes that are read now. `local`: an i32 to use. */
  credit(sink: SnippetSink, local: number, size: number): void {
    const line = this.#constants.localOf(I32, this.#line);
    const at = this.#layout.reads - (line === NO_LOCAL ? 0 : this.#layout.logged);
    sink.i32(Math.log2(READS_BYTES));
    sink.plain(Op.I32_SHL);
    if (line !== NO_LOCAL) {
      sink.local(Op.LOCAL_GET, line);
      sink.plain(Op.I32_ADD);
    }
    sink.local(Op.LOCAL_TEE, local);
    sink.local(Op.LOCAL_GET, local);
    sink.access(Op.I64_LOAD, 3, this.#memory, at);
    sink.i64(BigInt(size));
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, at);
  }

  /**
   * Puts the words in `scratch` into the log, and makes them read, but for what is invalid. `counter`: where to count the
   * load, from the base of records; undefined: that was done.
   */
  log(
    sink: SnippetSink,
    words: ShadowWords,
    { size, address }: { size: number; address: SnippetAddress },
    scratch: Scratch,
    counter?: number,
  ): void {
    const { log } = this.#layout;
    const line = this.#constants.localOf(I32, this.#line);
    const parts = words.parts(size);
    const at = scratch(I32, 1);
    const logged = this.#pushLine(sink, line);
    this.#pushLine(sink, line);
    sink.access(Op.I32_LOAD, 2, this.#memory, logged);
    sink.local(Op.LOCAL_TEE, at);
    sink.i32(LOG_ENTRY_BYTES * parts);
    sink.plain(Op.I32_ADD);
    sink.access(Op.I32_STORE, 2, this.#memory, logged);
    for (let part = 0; part < parts; part++) {
      const entry = log + LOG_ENTRY_BYTES * part;
      sink.local(Op.LOCAL_GET, at);
      words.pushPart(sink, size, part, scratch);
      sink.access(Op.I64_STORE, 3, this.#memory, entry);
      sink.local(Op.LOCAL_GET, at);
      if (counter === undefined || part > 0) sink.i32(0);
      else {
        this.#records.pushBase(sink);
        sink.i32(counter);
        sink.plain(Op.I32_ADD);
      }
      sink.access(Op.I32_STORE, 2, this.#memory, entry + COUNTER_AT);
      words.markRead(sink, size, part, scratch, address);
    }
  }

  /** Takes what is in the log if it is nearly full. `isFirst`: at the function's beginning, where constants are not in their locals yet. */
  mayTakeLog(sink: SnippetSink, isFirst: boolean): void {
    const line = isFirst ? NO_LOCAL : this.#constants.localOf(I32, this.#line);
    sink.access(Op.I32_LOAD, 2, this.#memory, this.#pushLine(sink, line));
    sink.i32(FULL_LOG_BYTES);
    sink.plain(Op.I32_GT_U);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    sink.indexed(Op.CALL, this.#takeLog);
    sink.end();
  }

  /** Pushes the address of the line, from a local if it is there, but for what it returns. */
  #pushLine(sink: SnippetSink, line: number): number {
    if (line === NO_LOCAL) sink.i32(0);
    else sink.local(Op.LOCAL_GET, line);
    return line === NO_LOCAL ? this.#layout.logged : 0;
  }
}
