import * as Op from "../../../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { Load, STORE_IDS_BYTES, Store } from "../../layout.ts";
import { SITE_COUNTERS_BYTES, SITE_EVENTS, type WasteLayout } from "../../memory-plan.ts";

/**
 * How inline code refers to sites: by keys, and by the
 * addresses of their records. What a key is depends on whether contexts are told apart.
 */
export interface SiteRecords {
  /** Pushes the key of a store. */
  pushId(sink: SnippetSink, key: number): void;
  /** Pushes what inline code calls the runtime with: a number, or the address of the record. */
  pushStore(sink: SnippetSink, key: number): void;
  pushLoad(sink: SnippetSink, key: number): void;
  /** What a function in the place of an access is told of its site: so many operands, of type i32. */
  readonly coldOperands: number;
  pushCold(sink: SnippetSink, key: number): void;
  /** In such a function: the first of the parameters with them becomes what `pushStore` and `pushLoad` push. */
  setCold(sink: SnippetSink, parameter: number): void;
  /** Pushes what the addresses of counters are counted from. */
  pushBase(sink: SnippetSink): void;
  /** Address, counted from the base, of a store's silent ones; `key` and `site` belong together. */
  silentAt(key: number, site: number): number;
  /** The same of a load's that found bytes which were not read before. */
  freshAt(key: number, site: number): number;
  /** The same of the runs of a block that begins with a site. */
  runsAt(key: number, site: number): number;
  /** Pushes the id that a store has, four times, or zero while it has none. */
  pushIds(sink: SnippetSink, key: number): void;
  /** The same of the store of which a local has what `pushStore` pushes. */
  pushIdsOf(sink: SnippetSink, local: number): void;
}

/** Records in frames begin at multiples of 8, which are shorter to say as such. */
const RECORD_UNIT_SHIFT = 3;

/** Without contexts: keys are numbers of the program's stores and loads. */
export class FixedRecords implements SiteRecords {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  /** Local with the address of the counters of a function's first site, so that those of others are short to say. */
  base = 0;
  first = 0;
  /** The same of the id of a function's first store. */
  idsBase = 0;
  firstStore = 0;

  /** `memory`: index of the tool's. */
  constructor(layout: WasteLayout, memory: number) {
    this.#layout = layout;
    this.#memory = memory;
  }

  pushId(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  pushStore(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  pushLoad(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  readonly coldOperands = 1;

  pushCold(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  setCold(): void {}

  /** At the beginning of a function. */
  computeBase(sink: SnippetSink): void {
    sink.i32((this.#layout.counters + this.first * SITE_COUNTERS_BYTES) | 0);
    sink.local(Op.LOCAL_SET, this.base);
  }

  pushBase(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.base);
  }

  silentAt(_key: number, site: number): number {
    return (site - this.first) * SITE_COUNTERS_BYTES + SITE_EVENTS;
  }

  freshAt(key: number, site: number): number {
    return this.silentAt(key, site);
  }

  runsAt(_key: number, site: number): number {
    return (site - this.first) * SITE_COUNTERS_BYTES;
  }

  /** At the beginning of a function that stores. */
  computeIdsBase(sink: SnippetSink): void {
    sink.i32((this.#layout.storeIds + this.firstStore * STORE_IDS_BYTES) | 0);
    sink.local(Op.LOCAL_SET, this.idsBase);
  }

  pushIds(sink: SnippetSink, key: number): void {
    sink.local(Op.LOCAL_GET, this.idsBase);
    sink.access(Op.I64_LOAD, 3, this.#memory, (key - this.firstStore) * STORE_IDS_BYTES);
  }

  pushIdsOf(sink: SnippetSink, local: number): void {
    sink.local(Op.LOCAL_GET, local);
    sink.i32(Math.log2(STORE_IDS_BYTES));
    sink.plain(Op.I32_SHL);
    sink.access(Op.I64_LOAD, 3, this.#memory, this.#layout.storeIds);
  }
}

/** With contexts: a local has the frame of the function at hand; keys are bytes from there to the record. */
export class FramedRecords implements SiteRecords {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  /** Local with the address of the frame. */
  frame = 0;

  /** `memory`: index of the tool's. */
  constructor(layout: WasteLayout, memory: number) {
    this.#layout = layout;
    this.#memory = memory;
  }

  pushStore(sink: SnippetSink, key: number): void {
    sink.local(Op.LOCAL_GET, this.frame);
    sink.i32(key);
    sink.plain(Op.I32_ADD);
  }

  pushLoad(sink: SnippetSink, key: number): void {
    this.pushStore(sink, key);
  }

  /** The frame, and where the record is in it. */
  readonly coldOperands = 2;

  pushCold(sink: SnippetSink, key: number): void {
    sink.local(Op.LOCAL_GET, this.frame);
    sink.i32(key >>> RECORD_UNIT_SHIFT);
  }

  setCold(sink: SnippetSink, parameter: number): void {
    sink.local(Op.LOCAL_GET, parameter);
    sink.local(Op.LOCAL_GET, parameter + 1);
    sink.i32(RECORD_UNIT_SHIFT);
    sink.plain(Op.I32_SHL);
    sink.plain(Op.I32_ADD);
    sink.local(Op.LOCAL_SET, parameter);
  }

  pushId(sink: SnippetSink, key: number): void {
    const { recordShift, stores } = this.#layout;
    sink.local(Op.LOCAL_GET, this.frame);
    sink.i32(recordShift);
    sink.plain(Op.I32_SHR_U);
    // Not by a shift: addresses take all 32 bits.
    sink.i32((key - stores) / 2 ** recordShift);
    sink.plain(Op.I32_ADD);
  }

  pushBase(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.frame);
  }

  silentAt(key: number): number {
    return key + Store.silent;
  }

  freshAt(key: number): number {
    return key + Load.fresh;
  }

  runsAt(key: number): number {
    return key;
  }

  pushIds(sink: SnippetSink, key: number): void {
    this.pushBase(sink);
    sink.access(Op.I64_LOAD, 3, this.#memory, key - STORE_IDS_BYTES);
  }

  pushIdsOf(sink: SnippetSink, local: number): void {
    sink.local(Op.LOCAL_GET, local);
    sink.i32(STORE_IDS_BYTES);
    sink.plain(Op.I32_SUB);
    sink.access(Op.I64_LOAD, 3, this.#memory, 0);
  }
}
