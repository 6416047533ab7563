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
   * Functions that take an address, the size of the access, and the operand of `SiteRecords.pushStore`. `same` counts a
   * silent store; `assigned` assigns an id.
   */
  same: number;
  assigned: number;
  /**
   * Functions by the size of the access. They take an address and the operand of `SiteRecords.pushLoad`, for a load of
   * bytes that are not all read.
   */
  fresh: ReadonlyMap<number, number>;
  /** Functions by the size of the access, for a load that has been counted already. They take an address. */
  mixed: ReadonlyMap<number, number>;
  markLineDirty: number;
}

export interface Place {
  op: number;
  size: number;
  site: number;
  /** Key of the site for `SiteRecords`. */
  key: number;
  address: SnippetAddress;
  lane: number;
  /** i64 local that counts silent stores instead of the record, for a store in a loop that is handled as a whole. */
  silent: number | undefined;
  /** Local for a store's operand; `isHeld` is true if the local already has it. */
  value: { local: number; isHeld: boolean };
  ids: number;
}

/**
 * Locals of a function that replaces a store: the address as the instruction takes it, the operand, and the result of
 * `SiteRecords.setCold`.
 */
interface ColdStore {
  whole: number;
  /** The same address, as the shadow memory needs it. */
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
  /** True if memory that was never written holds zeros, so that a store of zeros is silent. */
  readonly #zeroIsValid: boolean;
  /** True if such memory counts as read once an opaque host was in control. */
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

  /** Requests the locals that a load needs. Must be called before the code whose snippets use them is written. */
  reserve({ op, size }: Place, scratch: Scratch): void {
    if (ACCESS_KIND[op] !== AccessKind.Store) this.#words.reserve(size, scratch);
  }

  /**
   * Inserted before a store, with its operand on top of the stack. Counts the store if the bytes in memory equal the
   * operand.
   */
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
      // Makes no call, since a call would cost the surrounding code its registers.
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

  #callOf(sink: SnippetSink, size: number, address: SnippetAddress, site: number, target: number): void {
    pushAddress(sink, address);
    sink.i32(size);
    sink.local(Op.LOCAL_GET, site);
    sink.indexed(Op.CALL, target);
  }

  /** Inserted after a store: its bytes get the store's id. */
  markStore(sink: SnippetSink, place: Place): void {
    const { size, key, address, ids } = place;
    if (this.#layout.dirty !== 0) this.#markDirty(sink, address);
    this.records.pushIds(sink, key);
    this.#needId(sink, ids, () => {
      this.#callOfStore(sink, place, this.#targets.assigned);
    });
    this.#words.fill(sink, size, ids, address);
  }

  /**
   * Keeps a store's ids, which are on the stack, in the local `ids`. If they are 0, `assign` pushes newly assigned
   * ones.
   */
  #needId(sink: SnippetSink, ids: number, assign: () => void): void {
    sink.local(Op.LOCAL_TEE, ids);
    sink.plain(Op.I64_EQZ);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    assign();
    sink.local(Op.LOCAL_SET, ids);
    sink.end();
  }

  /**
   * Does the work of `compareStore` in a function that replaces the store, with its parameters and locals. `store` is
   * as in `followStore`.
   */
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

  /**
   * Counts the store and does the work of `markStore`. `store`: local with the operand of `SiteRecords.pushStore`.
   * `id`: i64 local for the id.
   */
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

  /** Counts the load and does the work of `testLoad`. */
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

  /** Adds one to the first counter of the record whose number is in a local. */
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

  /** Marks the line of a store's first byte. The runtime also checks a few bytes after each dirty line. */
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

  /** Inserted after a load: credits the writers of its bytes unless all bytes were read before. */
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

  /** Handles a load of bytes with one id, which is in a local and on the stack, and is not the id of read bytes. */
  #readUniform(sink: SnippetSink, place: Place, id: number): void {
    const { size, address } = place;
    // Neighbouring overflowed bytes have different ids, so only a single byte can have the id alone.
    const mayOverflow = size === 1;
    const end = mayOverflow ? ShadowIds.overflow : ShadowIds.invalid;
    // Zero moves to the end of the range of ids if it is no valid id.
    if (!this.#zeroIsValid) {
      sink.i32(-1);
      sink.plain(Op.I32_ADD);
    }
    sink.i32(this.#zeroIsValid ? end : end - 1);
    sink.plain(this.#zeroIsValid && !mayOverflow ? Op.I32_NE : Op.I32_LT_U);
    // Invalid bytes stay invalid: blocks that JavaScript filled are read like this again and again.
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

  /** Adds `size` read bytes to the store whose id is in a local. Overwrites the local. */
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

  /** Handles a load of bytes that are not all read, if zeros that an opaque host has read count as read. */
  #readOrShown(sink: SnippetSink, place: Place, scratch: Scratch): void {
    const { size, key, site } = place;
    const id = scratch(I32, 1);
    // A single id other than zero is that of a store, a segment or invalid memory.
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

  /** Inserted after a loop: adds the count in its local to the record. */
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

/** Comparison of a store's operand with the bytes in memory. */
interface Comparison {
  load: number;
  /** Instructions from the two operands to the condition. */
  steps: readonly number[];
  /** Bits that are compared, for stores of a part of their operand. */
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

export function hasComparison(op: number): boolean {
  return COMPARISONS.has(op);
}

function loadBefore(store: number): number {
  return (COMPARISONS.get(store) as Comparison).load;
}

/** Pushes 1 if a store (of lane `lane` of a vector) changes nothing. The old bytes and the operand are on the stack. */
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
