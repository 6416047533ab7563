import { type OpcodeName, opcodeId, type ValType } from "../../wasm/index.ts";
import type { SnippetSink } from "../snippet-sink.ts";
import type { WasteLayout } from "./waste-layout.ts";

const LOCAL_GET = opcodeId("local.get");
const LOCAL_TEE = opcodeId("local.tee");
const CALL = opcodeId("call");
const IF = opcodeId("if");
const I32_ADD = opcodeId("i32.add");
const I32_SHL = opcodeId("i32.shl");
const I32_NE = opcodeId("i32.ne");
const I64_NE = opcodeId("i64.ne");
const I64_ADD = opcodeId("i64.add");
const I64_LOAD = opcodeId("i64.load");
const I64_STORE = opcodeId("i64.store");
const I32_LOAD = opcodeId("i32.load");
const I32_STORE = opcodeId("i32.store");
const I32_LOAD16_S = opcodeId("i32.load16_s");
const I32_STORE16 = opcodeId("i32.store16");
const V128_LOAD = opcodeId("v128.load");
const V128_STORE = opcodeId("v128.store");
const V128_NOT = opcodeId("v128.not");
const V128_AND = opcodeId("v128.and");
const V128_ANY_TRUE = opcodeId("v128.any_true");
const I16X8_SPLAT = opcodeId("i16x8.splat");
const I32X4_SPLAT = opcodeId("i32x4.splat");
const I32_STORE8 = opcodeId("i32.store8");
const I32_SHR_U = opcodeId("i32.shr_u");
const NOTHING = 0x40;
/** Pages of the table of what was written while an opaque host was not looking. */
const PAGE_SHIFT = 12;

/** Displacements above this are added to the address: the shadow's would not fit its memory. */
const LONGEST_DISPLACEMENT = 1 << 24;

/** How a store's operand is compared with what is there: the load that gets it, and the rest. */
interface Comparison {
  load: number;
  /** Between the two operands and the condition. */
  steps: readonly OpcodeName[];
  /** Bits that count, for stores of a part of their operand. */
  mask?: number;
}

const COMPARISONS = new Map<number, Comparison>();
function compare(store: OpcodeName, load: OpcodeName, steps: readonly OpcodeName[], mask?: number): void {
  COMPARISONS.set(opcodeId(store), { load: opcodeId(load), steps, ...(mask === undefined ? {} : { mask }) });
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

/** Whether a store can be followed inline. */
export function hasComparison(op: number): boolean {
  return COMPARISONS.has(op);
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

/** An address inside a snippet: a local, or a constant where `local` is −1, plus a displacement. */
export interface SnippetAddress {
  local: number;
  /** The constant address, else 0. */
  constant: number;
  displacement: number;
}

export interface BriefTargets {
  same: number;
  /** By the size of the access: 1, 2, 4, 8, 16 bytes. */
  fresh: ReadonlyMap<number, number>;
}

/** Writes the instructions that follow plain loads and stores inline. Byte for byte: docs/architecture.md. */
export class BriefSnippets {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  readonly #targets: BriefTargets;

  constructor(layout: WasteLayout, memory: number, targets: BriefTargets) {
    this.#layout = layout;
    this.#memory = memory;
    this.#targets = targets;
  }

  /** Before a store, with its operand on top of the stack: counts it if the operand is there already. */
  compareStore(
    sink: SnippetSink,
    op: number,
    size: number,
    id: number,
    address: SnippetAddress,
    value: { local: number; isHeld: boolean },
  ): void {
    const comparison = COMPARISONS.get(op) as Comparison;
    if (!value.isHeld) sink.local(LOCAL_TEE, value.local);
    this.#address(sink, address);
    sink.access(comparison.load, 0, 0, address.displacement);
    sink.local(LOCAL_GET, value.local);
    for (const step of comparison.steps) {
      const id = opcodeId(step);
      if (id < 0x100) sink.plain(id);
      else sink.prefixed(id);
    }
    if (comparison.mask !== undefined) {
      const isWide = comparison.steps[0] === "i64.xor";
      if (isWide) sink.i64(BigInt(comparison.mask));
      else sink.i32(comparison.mask);
      sink.plain(opcodeId(isWide ? "i64.and" : "i32.and"));
      sink.plain(opcodeId(isWide ? "i64.eqz" : "i32.eqz"));
    }
    sink.open(IF, NOTHING);
    this.#wholeAddress(sink, address);
    sink.i32(size);
    sink.i32(id);
    sink.indexed(CALL, this.#targets.same);
    sink.end();
  }

  /** Behind a store: its bytes get the site's id. */
  markStore(sink: SnippetSink, size: number, id: number, address: SnippetAddress): void {
    const bytes = size << this.#layout.idShift;
    const isNarrow = this.#layout.idShift === 1;
    if (this.#layout.dirty !== 0) this.#markDirty(sink, address);
    for (let at = 0; at < bytes; at += 16) {
      const offset = this.#shadowAddress(sink, address) + at;
      if (bytes === 2) {
        sink.i32(id);
        sink.access(I32_STORE16, 1, this.#memory, offset);
      } else if (bytes === 4) {
        sink.i32(isNarrow ? Math.imul(id, 0x10001) : id);
        sink.access(I32_STORE, 1, this.#memory, offset);
      } else if (bytes === 8) {
        const wide = BigInt.asIntN(64, BigInt(id) * (isNarrow ? 0x0001000100010001n : 0x100000001n));
        sink.i64(wide);
        sink.access(I64_STORE, 1, this.#memory, offset);
      } else {
        sink.i32(id);
        sink.prefixed(isNarrow ? I16X8_SPLAT : I32X4_SPLAT);
        sink.access(V128_STORE, 1, this.#memory, offset);
      }
    }
  }

  /** The page of a store's first byte; the runtime looks a little behind each page. */
  #markDirty(sink: SnippetSink, address: SnippetAddress): void {
    let at = this.#layout.dirty;
    if (address.local < 0) {
      sink.i32(0);
      at += ((address.constant >>> 0) + address.displacement) >>> PAGE_SHIFT;
    } else {
      this.#wholeAddress(sink, address);
      sink.i32(PAGE_SHIFT);
      sink.plain(I32_SHR_U);
    }
    sink.i32(1);
    sink.access(I32_STORE8, 0, this.#memory, at);
  }

  /** Behind a load: calls the runtime unless all of its bytes have been read before. */
  testLoad(sink: SnippetSink, size: number, id: number, address: SnippetAddress): void {
    const bytes = size << this.#layout.idShift;
    const offset = this.#shadowAddress(sink, address);
    if (bytes === 2) {
      sink.access(I32_LOAD16_S, 1, this.#memory, offset);
      sink.i32(-1);
      sink.plain(I32_NE);
    } else if (bytes === 4) {
      sink.access(I32_LOAD, 1, this.#memory, offset);
      sink.i32(-1);
      sink.plain(I32_NE);
    } else if (bytes === 8) {
      sink.access(I64_LOAD, 1, this.#memory, offset);
      sink.i64(-1n);
      sink.plain(I64_NE);
    } else {
      sink.access(V128_LOAD, 1, this.#memory, offset);
      for (let at = 16; at < bytes; at += 16) {
        const next = this.#shadowAddress(sink, address) + at;
        sink.access(V128_LOAD, 1, this.#memory, next);
        sink.prefixed(V128_AND);
      }
      sink.prefixed(V128_NOT);
      sink.prefixed(V128_ANY_TRUE);
    }
    sink.open(IF, NOTHING);
    this.#wholeAddress(sink, address);
    sink.i32(id);
    sink.indexed(CALL, this.#targets.fresh.get(size) as number);
    sink.end();
  }

  /** One more run of the block that begins with a site. */
  countRun(sink: SnippetSink, site: number): void {
    const at = this.#layout.runs + site * 8;
    sink.i32(0);
    sink.i32(0);
    sink.access(I64_LOAD, 3, this.#memory, at);
    sink.i64(1n);
    sink.plain(I64_ADD);
    sink.access(I64_STORE, 3, this.#memory, at);
  }

  #address(sink: SnippetSink, { local, constant }: SnippetAddress): void {
    if (local < 0) sink.i32(constant);
    else sink.local(LOCAL_GET, local);
  }

  #wholeAddress(sink: SnippetSink, address: SnippetAddress): void {
    if (address.local < 0) {
      sink.i32(address.constant + address.displacement);
      return;
    }
    this.#address(sink, address);
    if (address.displacement === 0) return;
    sink.i32(address.displacement);
    sink.plain(I32_ADD);
  }

  /** Pushes the shadow address but for the constant that it returns. */
  #shadowAddress(sink: SnippetSink, address: SnippetAddress): number {
    const shift = this.#layout.idShift;
    if (address.local < 0) {
      sink.i32(0);
      return ((address.constant >>> 0) + address.displacement) * 2 ** shift;
    }
    const isShort = address.displacement < LONGEST_DISPLACEMENT;
    if (isShort) this.#address(sink, address);
    else this.#wholeAddress(sink, address);
    sink.i32(shift);
    sink.plain(I32_SHL);
    return isShort ? address.displacement << shift : 0;
  }
}
