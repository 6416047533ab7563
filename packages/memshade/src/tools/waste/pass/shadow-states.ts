import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import type { ValType } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { type HeldConstants, savedByHolding } from "./held-constants.ts";
import {
  pushAddress,
  pushHeld,
  pushId,
  type Scratch,
  type ShadowId,
  type SnippetAddress,
} from "./shadow-words.ts";
import type { WasteLayout } from "./waste-layout.ts";

const I32: ValType = 0x7f;
const I64: ValType = 0x7e;

/** Bytes that nobody has read have no sign; 1, 2 and 4 states side by side. */
const SIGNS = new Map([
  [1, 0x80n],
  [2, 0x8080n],
  [4, BigInt.asIntN(32, 0x80808080n)],
  [8, BigInt.asIntN(64, 0x8080808080808080n)],
]);
/** From the sign of a state to its lowest bit, and what makes a whole state of that bit. */
const SIGN_SHIFT = 7;
const WHOLE_STATE = 0xff;
const LOADS = new Map([
  [1, Op.I32_LOAD8_S],
  [2, Op.I32_LOAD16_S],
  [4, Op.I32_LOAD],
]);
const SPLATS = new Map([
  [2, Op.V128_LOAD16_SPLAT],
  [4, Op.V128_LOAD32_SPLAT],
  [8, Op.V128_LOAD64_SPLAT],
  [16, Op.V128_LOAD],
]);
/** Displacements from here on are added to the address: those of ids would not fit their memory. */
const LONGEST_DISPLACEMENT = 1 << 24;

/**
 * The shadow of an access of 1 to 16 bytes where ids have 32 bits: a state per byte at the byte's own address, and the ids
 * of unread bytes in a table. What states mean: `tools/waste/assembly/wide/bytes.ts`.
 */
export class ShadowStates {
  readonly #memory: number;
  readonly #writers: number;
  readonly #writersMemory: number;
  readonly #constants: HeldConstants;

  constructor(memory: number, layout: WasteLayout, constants: HeldConstants) {
    this.#constants = constants;
    this.#memory = memory;
    this.#writers = layout.writers;
    this.#writersMemory = layout.isSplit ? memory + 1 : memory;
  }

  /** Asks for all locals that a load of this size may need. */
  reserve(size: number, scratch: Scratch): void {
    if (size > 8) return;
    scratch(size === 8 ? I64 : I32, 0);
  }

  /** The signs of an access's states will be pushed so many times. */
  wantSigns(size: number, times: number): void {
    const [type, signs] = signsOf(size);
    this.#constants.want(type, signs, savedByHolding(signs) * times);
  }

  /** Pushes whether some byte was not read; keeps the states of up to 8 in `scratch` if it is given. */
  pushUnread(sink: SnippetSink, size: number, address: SnippetAddress, scratch?: Scratch): void {
    this.#pushStates(sink, size, address, scratch);
    if (size < 8) sink.i32(-1);
    else sink.i64(-1n);
    sink.plain(size < 8 ? Op.I32_NE : Op.I64_NE);
  }

  /** Pushes whether some byte is lost when it is written over. */
  pushUnsettled(sink: SnippetSink, size: number, address: SnippetAddress): void {
    this.#pushStates(sink, size, address);
    if (size === 1) {
      sink.i32(0);
      sink.plain(Op.I32_GE_S);
      return;
    }
    for (const op of size < 8 ? [Op.I32_AND, Op.I32_NE] : [Op.I64_AND, Op.I64_NE]) {
      this.#pushSigns(sink, size);
      sink.plain(op);
    }
  }

  /** Pushes whether no byte of the access is invalid, where zero is no invalid id. */
  pushNoneInvalid(sink: SnippetSink, size: number, address: SnippetAddress): void {
    const offset = this.#push(sink, address);
    if (size === 1) {
      sink.access(Op.I32_LOAD8_U, 0, this.#memory, offset);
      sink.i32(0x80);
      sink.plain(Op.I32_NE);
      return;
    }
    sink.access(SPLATS.get(size) as number, 0, this.#memory, offset);
    sink.i32(-0x80);
    sink.prefixed(Op.I8X16_SPLAT);
    sink.prefixed(Op.I8X16_EQ);
    sink.prefixed(Op.V128_ANY_TRUE);
    sink.plain(Op.I32_EQZ);
  }

  /** Up to 8 bytes with the states in `scratch` are read: all but the invalid ones. Without a branch. */
  readStates(sink: SnippetSink, size: number, address: SnippetAddress, scratch: Scratch): void {
    const isWide = size === 8;
    const states = scratch(isWide ? I64 : I32, 0);
    const offset = this.#push(sink, address);
    sink.local(Op.LOCAL_GET, states);
    sink.local(Op.LOCAL_GET, states);
    if (isWide) sink.i64(-1n);
    else sink.i32(-1);
    sink.plain(isWide ? Op.I64_XOR : Op.I32_XOR);
    this.#pushSigns(sink, size);
    sink.plain(isWide ? Op.I64_AND : Op.I32_AND);
    // The sign of each that is unread, and all bits below it.
    if (isWide) sink.i64(BigInt(SIGN_SHIFT));
    else sink.i32(SIGN_SHIFT);
    sink.plain(isWide ? Op.I64_SHR_U : Op.I32_SHR_U);
    if (isWide) sink.i64(BigInt(WHOLE_STATE));
    else sink.i32(WHOLE_STATE);
    sink.plain(isWide ? Op.I64_MUL : Op.I32_MUL);
    sink.plain(isWide ? Op.I64_OR : Op.I32_OR);
    sink.access(this.#storeOf(size), 0, this.#memory, offset);
  }

  /** All bytes of an access are unread, and a store's. */
  fill(sink: SnippetSink, size: number, id: ShadowId, address: SnippetAddress): void {
    for (let at = 0; at < size; at += 8) {
      const offset = this.#push(sink, address);
      if (size < 8) sink.i32(0);
      else sink.i64(0n);
      sink.access(this.#storeOf(size), 0, this.#memory, offset + at);
    }
    for (let at = 0; at < size; at += 4) {
      const offset = this.#push(sink, address, 2) + this.#writers + at * 4;
      if (size === 1) pushId(sink, id);
      else pushTwice(sink, id, size > 2);
      const store = size === 1 ? Op.I32_STORE : size === 2 ? Op.I64_STORE : Op.V128_STORE;
      sink.access(store, 0, this.#writersMemory, offset);
    }
  }

  #storeOf(size: number): number {
    return size === 1
      ? Op.I32_STORE8
      : size === 2
        ? Op.I32_STORE16
        : size === 4
          ? Op.I32_STORE
          : Op.I64_STORE;
  }

  #pushSigns(sink: SnippetSink, size: number): void {
    const [type, signs] = signsOf(size);
    this.#constants.push(sink, type, signs);
  }

  /** Pushes the states of up to 8 bytes, with their sign; of 16 bytes what both halves have in common. */
  #pushStates(sink: SnippetSink, size: number, address: SnippetAddress, scratch?: Scratch): void {
    const offset = this.#push(sink, address);
    sink.access(LOADS.get(size) ?? Op.I64_LOAD, 0, this.#memory, offset);
    if (scratch !== undefined && size <= 8) sink.local(Op.LOCAL_TEE, scratch(size === 8 ? I64 : I32, 0));
    if (size < 16) return;
    const second = this.#push(sink, address);
    sink.access(Op.I64_LOAD, 0, this.#memory, second + 8);
    sink.plain(Op.I64_AND);
  }

  /** Pushes the address of states, or, with a shift, of ids in their table, but for the constant that it returns. */
  #push(sink: SnippetSink, address: SnippetAddress, shift = 0): number {
    if (address.local < 0) {
      sink.i32(0);
      return ((address.constant >>> 0) + address.displacement) * 2 ** shift;
    }
    const isShort = address.displacement < LONGEST_DISPLACEMENT;
    if (isShort) pushHeld(sink, address);
    else pushAddress(sink, address);
    if (shift > 0) {
      sink.i32(shift);
      sink.plain(Op.I32_SHL);
    }
    return isShort ? address.displacement << shift : 0;
  }
}

/** The signs of as many states side by side as an access has, up to 8: of 16 bytes both halves are looked at together. */
function signsOf(size: number): [ValType, bigint] {
  return [size < 8 ? I32 : I64, SIGNS.get(Math.min(size, 8)) as bigint];
}

/** An id twice in an i64, or four times in a vector. */
function pushTwice(sink: SnippetSink, id: ShadowId, inVector: boolean): void {
  const twice = 0x100000001n;
  if (typeof id === "object" && "ids" in id) {
    sink.local(Op.LOCAL_GET, id.ids);
    sink.i64(BigInt(id.plus) * twice);
    sink.plain(Op.I64_ADD);
    if (inVector) sink.prefixed(Op.I64X2_SPLAT);
    return;
  }
  if (inVector) {
    pushId(sink, id);
    sink.prefixed(Op.I32X4_SPLAT);
  } else if (typeof id === "number") sink.i64(BigInt.asIntN(64, BigInt(id) * twice));
  else {
    sink.local(Op.LOCAL_GET, id.local);
    sink.plain(Op.I64_EXTEND_I32_U);
    sink.i64(twice);
    sink.plain(Op.I64_MUL);
  }
}
