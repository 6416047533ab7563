import {
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  ImmediateKind,
  type OpcodeName,
  opcodeId,
  type ValType,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { DIRTY_LINE_SHIFT, READS_BYTES } from "../layout.ts";
import { ShadowIds, type WasteLayout } from "../memory-plan.ts";
import { pushAddress, type Scratch, ShadowWords, type SnippetAddress } from "./shadow-words.ts";
import type { SiteRecords } from "./sites.ts";

const NOTHING = 0x40;
const I32: ValType = 0x7f;

export interface SummaryTargets {
  /**
   * Functions that get an address, the size of the access, and what `SiteRecords.pushStore` pushes: a store of what is there
   * already; one that gives a store an id.
   */
  same: number;
  assigned: number;
  /** By the size of the access: they get an address and what `SiteRecords.pushLoad` pushes of a load of bytes of which some were not read. */
  fresh: ReadonlyMap<number, number>;
  /** The same of an address and a load that has been counted. */
  mixed: ReadonlyMap<number, number>;
  /** A line is written that was not since the host was in control. */
  markLineDirty: number;
}

/** An access followed inline. */
export interface Place {
  op: number;
  size: number;
  site: number;
  /** What `SiteRecords` knows the site by. */
  key: number;
  address: SnippetAddress;
  /** The lane that is stored, where the instruction has one. */
  lane: number;
  /** A store inside of a loop that is followed when it has ended: an i64 local that counts silent stores instead of the record. */
  silent: number | undefined;
  /** The local that holds a store's operand, and whether it does so already. */
  value: { local: number; isHeld: boolean };
  /** An i64 local for a store's id. */
  ids: number;
}

/** Locals of a function for stores: the address as the instruction takes it, its operand, and what `SiteRecords.setCold` leaves. */
interface ColdStore {
  whole: number;
  /** The same address, as the shadow is reached by it. */
  followed: SnippetAddress;
  value: number;
  store: number;
}

/** Writes the instructions that follow plain loads and stores inline. */
export class SummarySnippets {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  readonly #targets: SummaryTargets;
  readonly #words: ShadowWords;
  /** Memory that nobody has written holds zeros, which may be written again silently. */
  readonly #zeroIsValid: boolean;
  /** Such memory counts as read when an opaque host was in control. */
  readonly #showsZeros: boolean;
  readonly records: SiteRecords;

  constructor(
    layout: WasteLayout,
    memory: number,
    targets: SummaryTargets,
    records: SiteRecords,
    zeroIsValid: boolean,
  ) {
    this.records = records;
    this.#zeroIsValid = zeroIsValid;
    this.#showsZeros = zeroIsValid && layout.dirty !== 0;
    this.#layout = layout;
    this.#memory = memory;
    this.#targets = targets;
    this.#words = new ShadowWords(memory);
  }

  /** Asks for the locals that a load needs, before the code in which snippets ask for them. */
  reserve({ op, size }: Place, scratch: Scratch): void {
    if (ACCESS_KIND[op] !== AccessKind.Store) this.#words.reserve(size, scratch);
  }

  /** Before a store, with its operand on top of the stack: counts it if the operand is there already. */
  compareStore(sink: SnippetSink, place: Place): void {
    const { op, size, key, site, address, value, silent } = place;
    if (!value.isHeld) sink.local(Op.LOCAL_TEE, value.local);
    if (address.local >= 0) sink.local(Op.LOCAL_GET, address.local);
    else if (address.isWide) sink.i64(BigInt(address.constant));
    else sink.i32(address.constant);
    sink.access(loadBefore(op), 0, 0, address.displacement);
    sink.local(Op.LOCAL_GET, value.local);
    writeComparison(sink, op, place.lane);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    if (silent !== undefined) {
      this.#words.pushNoneInvalid(sink, size, address);
      sink.plain(Op.I64_EXTEND_I32_U);
      sink.local(Op.LOCAL_GET, silent);
      sink.plain(Op.I64_ADD);
      sink.local(Op.LOCAL_SET, silent);
    } else if (this.#zeroIsValid) {
      // Without a call, which would cost the code around it its registers.
      const at = this.records.silentAt(key, site);
      this.records.pushBase(sink);
      this.#words.pushNoneInvalid(sink, size, address);
      sink.plain(Op.I64_EXTEND_I32_U);
      this.records.pushBase(sink);
      sink.access(Op.I64_LOAD, 3, this.#memory, at);
      sink.plain(Op.I64_ADD);
      sink.access(Op.I64_STORE, 3, this.#memory, at);
    } else this.#callOfStore(sink, place, this.#targets.same);
    sink.end();
  }

  #callOfStore(sink: SnippetSink, { size, key, address }: Place, target: number): void {
    pushAddress(sink, address);
    sink.i32(size);
    this.records.pushStore(sink, key);
    sink.indexed(Op.CALL, target);
  }

  /** `site`: a local with what `SiteRecords.pushStore` pushes. */
  #callOf(sink: SnippetSink, size: number, address: SnippetAddress, site: number, target: number): void {
    pushAddress(sink, address);
    sink.i32(size);
    sink.local(Op.LOCAL_GET, site);
    sink.indexed(Op.CALL, target);
  }

  /** Behind a store: its bytes get the site's id. */
  markStore(sink: SnippetSink, place: Place): void {
    const { size, key, address, ids } = place;
    if (this.#layout.dirty !== 0) this.#markDirty(sink, address);
    this.records.pushIds(sink, key);
    this.#needId(sink, ids, () => {
      this.#callOfStore(sink, place, this.#targets.assigned);
    });
    this.#words.fill(sink, size, ids, address);
  }

  /** The ids of a store are on the stack, 0: it has none yet. `ids`: local that gets them. `assign` pushes those that it is assigned now. */
  #needId(sink: SnippetSink, ids: number, assign: () => void): void {
    sink.local(Op.LOCAL_TEE, ids);
    sink.plain(Op.I64_EQZ);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    assign();
    sink.local(Op.LOCAL_SET, ids);
    sink.end();
  }

  /** As `compareStore` in a function of its own, whose parameters and locals are named; `store` as in `followStore`. */
  compareCold(
    sink: SnippetSink,
    op: number,
    size: number,
    { whole, followed, value, store }: ColdStore,
  ): void {
    sink.local(Op.LOCAL_GET, whole);
    sink.access(loadBefore(op), 0, 0, 0);
    sink.local(Op.LOCAL_GET, value);
    writeComparison(sink, op, 0);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    this.#callOf(sink, size, followed, store, this.#targets.same);
    sink.end();
  }

  /** As `markStore`; counts the store too. `store`: local with what `SiteRecords.pushStore` pushes, `id`: an i64 local for the store's id. */
  followStore(sink: SnippetSink, size: number, place: SnippetAddress, store: number, id: number): void {
    const { arena, stores, recordShift } = this.#layout;
    if (this.#layout.dirty !== 0) this.#markDirty(sink, place);
    if (arena === 0) this.#addOne(sink, store, stores, recordShift);
    else this.#addOne(sink, store, 0, 0);
    this.records.pushIdsOf(sink, store);
    this.#needId(sink, id, () => {
      this.#callOf(sink, size, place, store, this.#targets.assigned);
    });
    this.#words.fill(sink, size, id, place);
  }

  /** As `testLoad`; counts the load too. */
  followLoad(sink: SnippetSink, size: number, place: SnippetAddress, number: number): void {
    this.#addOne(sink, number, this.#layout.loads, this.#layout.loadShift);
    this.#words.pushUnread(sink, size, place);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    pushAddress(sink, place);
    sink.local(Op.LOCAL_GET, number);
    sink.indexed(Op.CALL, this.#targets.fresh.get(size) as number);
    sink.end();
  }

  /** Adds one to the first counter of the record whose number a local holds. */
  #addOne(sink: SnippetSink, local: number, table: number, shift: number): void {
    for (let i = 0; i < 2; i++) {
      sink.local(Op.LOCAL_GET, local);
      if (shift === 0) continue;
      sink.i32(shift);
      sink.plain(Op.I32_SHL);
    }
    sink.access(Op.I64_LOAD, 3, this.#memory, table);
    sink.i64(1n);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, table);
  }

  /** The line of a store's first byte; the runtime looks a little behind each line. */
  #markDirty(sink: SnippetSink, address: SnippetAddress): void {
    let at = this.#layout.dirty;
    if (address.local < 0) {
      sink.i32(0);
      at += ((address.constant >>> 0) + address.displacement) >>> DIRTY_LINE_SHIFT;
    } else {
      pushAddress(sink, address);
      sink.i32(DIRTY_LINE_SHIFT);
      sink.plain(Op.I32_SHR_U);
    }
    sink.access(Op.I32_LOAD8_U, 0, this.#memory, at);
    sink.plain(Op.I32_EQZ);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    pushAddress(sink, address);
    sink.indexed(Op.CALL, this.#targets.markLineDirty);
    sink.end();
  }

  /** Behind a load: unless all of its bytes have been read before, their writers get the credit. */
  testLoad(sink: SnippetSink, place: Place, scratch: Scratch): void {
    const { size, key, site, address } = place;
    this.#words.pushUnread(sink, size, address, scratch);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    this.#words.markRead(sink, size, address, this.#layout.readMarks);
    if (this.#showsZeros) this.#readOrShown(sink, place, scratch);
    else {
      const id = scratch(I32, 1);
      this.#add(sink, this.records.freshAt(key, site));
      if (size > 1) this.#words.pushUniform(sink, size, scratch);
      if (size > 1) sink.open(Op.IF, NOTHING);
      this.#words.pushId(sink, size, scratch);
      sink.local(Op.LOCAL_TEE, id);
      this.#readUniform(sink, place, id);
      if (size > 1) {
        sink.plain(Op.ELSE);
        this.#callMixed(sink, place);
        sink.end();
      }
    }
    sink.end();
  }

  #callMixed(sink: SnippetSink, { size, address }: Place): void {
    pushAddress(sink, address);
    sink.indexed(Op.CALL, this.#targets.mixed.get(size) as number);
  }

  /** A load of bytes that have one id, in a local and on the stack, which is not that of read bytes. */
  #readUniform(sink: SnippetSink, place: Place, id: number): void {
    const { size, address } = place;
    // Overflowed bytes side by side have different ids: they are of one id only where there is one byte.
    const mayOverflow = size === 1;
    const end = mayOverflow ? ShadowIds.overflow : ShadowIds.invalid;
    // Zero is taken to the end where it is no store's.
    if (!this.#zeroIsValid) {
      sink.i32(-1);
      sink.plain(Op.I32_ADD);
    }
    sink.i32(this.#zeroIsValid ? end : end - 1);
    sink.plain(this.#zeroIsValid && !mayOverflow ? Op.I32_NE : Op.I32_LT_U);
    // What is invalid stays so: blocks that JavaScript has filled are read like this again and again.
    sink.open(Op.IF, NOTHING);
    this.#credit(sink, id, size);
    this.#words.fillRead(sink, size, address);
    if (mayOverflow) {
      sink.plain(Op.ELSE);
      sink.local(Op.LOCAL_GET, id);
      sink.i32(1);
      sink.plain(Op.I32_OR);
      sink.i32(ShadowIds.overflow | 1);
      sink.plain(Op.I32_EQ);
      sink.rarely();
      sink.open(Op.IF, NOTHING);
      this.#callMixed(sink, place);
      sink.end();
    }
    sink.end();
  }

  /** The store whose id a local has wrote `size` bytes that are read now; the local has no other use. */
  #credit(sink: SnippetSink, local: number, size: number): void {
    sink.local(Op.LOCAL_GET, local);
    sink.i32(Math.log2(READS_BYTES));
    sink.plain(Op.I32_SHL);
    sink.local(Op.LOCAL_TEE, local);
    sink.local(Op.LOCAL_GET, local);
    sink.access(Op.I64_LOAD, 3, this.#memory, this.#layout.reads);
    sink.i64(BigInt(size));
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, this.#layout.reads);
  }

  /** A load, of bytes not all read before, where zeros count as read that an opaque host has seen. */
  #readOrShown(sink: SnippetSink, place: Place, scratch: Scratch): void {
    const { size, key, site } = place;
    const id = scratch(I32, 1);
    // One id that is not zero is that of a store, a segment or invalid memory.
    this.#words.pushId(sink, size, scratch);
    sink.local(Op.LOCAL_TEE, id);
    if (size > 1) {
      sink.plain(Op.I32_EQZ);
      this.#words.pushUniform(sink, size, scratch);
      sink.plain(Op.I32_LT_U);
    }
    sink.open(Op.IF, NOTHING);
    this.#add(sink, this.records.freshAt(key, site));
    sink.local(Op.LOCAL_GET, id);
    this.#readUniform(sink, place, id);
    sink.plain(Op.ELSE);
    pushAddress(sink, place.address);
    this.records.pushLoad(sink, key);
    sink.indexed(Op.CALL, this.#targets.fresh.get(size) as number);
    sink.end();
  }

  /** Behind a loop: puts what its locals have counted into the records. */
  flushSilent(sink: SnippetSink, { key, site, silent }: Place): void {
    if (silent === undefined) return;
    const at = this.records.silentAt(key, site);
    this.records.pushBase(sink);
    sink.local(Op.LOCAL_GET, silent);
    this.records.pushBase(sink);
    sink.access(Op.I64_LOAD, 3, this.#memory, at);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, at);
    sink.i64(0n);
    sink.local(Op.LOCAL_SET, silent);
  }

  /** One more run of a block, whose counter is at `at` from the base of records. */
  countRun(sink: SnippetSink, at: number): void {
    this.#add(sink, at);
  }

  #add(sink: SnippetSink, at: number): void {
    this.records.pushBase(sink);
    this.records.pushBase(sink);
    sink.access(Op.I64_LOAD, 3, this.#memory, at);
    sink.i64(1n);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, at);
  }
}

/** How a store's operand is compared with what is there: the load that gets it, and the rest. */
interface Comparison {
  load: number;
  /** Between the two operands and the condition. */
  steps: readonly number[];
  /** Bits that count, for stores of a part of their operand. */
  mask?: number;
  isWide: boolean;
}

const COMPARISONS = new Map<number, Comparison>();
function compare(store: OpcodeName, load: OpcodeName, steps: readonly OpcodeName[], mask?: number): void {
  COMPARISONS.set(opcodeId(store), {
    load: opcodeId(load),
    steps: steps.map(opcodeId),
    isWide: steps[0] === "i64.xor",
    ...(mask === undefined ? {} : { mask }),
  });
}
compare("i32.store", "i32.load", ["i32.eq"]);
compare("i64.store", "i64.load", ["i64.eq"]);
compare("f32.store", "i32.load", ["i32.reinterpret_f32", "i32.eq"]);
compare("f64.store", "i64.load", ["i64.reinterpret_f64", "i64.eq"]);
compare("i32.store8", "i32.load8_u", ["i32.xor"], 0xff);
compare("i32.store16", "i32.load16_u", ["i32.xor"], 0xffff);
compare("i64.store8", "i64.load8_u", ["i64.xor"], 0xff);
compare("i64.store16", "i64.load16_u", ["i64.xor"], 0xffff);
compare("i64.store32", "i64.load32_u", ["i64.xor"], 0xffffffff);
compare("v128.store", "v128.load", ["i64x2.eq", "i64x2.all_true"]);
compare("v128.store8_lane", "i32.load8_u", ["i8x16.extract_lane_u", "i32.eq"]);
compare("v128.store16_lane", "i32.load16_u", ["i16x8.extract_lane_u", "i32.eq"]);
compare("v128.store32_lane", "i32.load", ["i32x4.extract_lane", "i32.eq"]);
compare("v128.store64_lane", "i64.load", ["i64x2.extract_lane", "i64.eq"]);

/** Whether a store can be followed inline. */
export function hasComparison(op: number): boolean {
  return COMPARISONS.has(op);
}

/** The load that gets what a store is about to replace. */
function loadBefore(store: number): number {
  return (COMPARISONS.get(store) as Comparison).load;
}

/** With what is there and the operand on the stack: whether the store (of lane `lane` of a vector) changes nothing. */
function writeComparison(sink: SnippetSink, store: number, lane: number): void {
  const { steps, mask, isWide } = COMPARISONS.get(store) as Comparison;
  for (const step of steps)
    if (IMMEDIATE_KIND[step] === ImmediateKind.Lane) sink.lane(step, lane);
    else if (step < 0x100) sink.plain(step);
    else sink.prefixed(step);
  if (mask === undefined) return;
  if (isWide) sink.i64(BigInt(mask));
  else sink.i32(mask);
  sink.plain(isWide ? Op.I64_AND : Op.I32_AND);
  sink.plain(isWide ? Op.I64_EQZ : Op.I32_EQZ);
}

const VALUE_TYPES: Readonly<Record<string, ValType>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
};

export function valueTypeOfStore(name: string): ValType {
  return VALUE_TYPES[name.slice(0, name.indexOf("."))];
}
