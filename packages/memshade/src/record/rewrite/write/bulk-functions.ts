import { I32, I64, memoryType, type OpcodeName, type WasmModule } from "../../../code/wasm/index.ts";
import type { MemoryListeners } from "../tool.ts";
import type { AppendedFunctions } from "./appended-functions.ts";
import { BodyBuilder } from "./body-builder.ts";

/**
 * Functions that replace bulk memory instructions on the followed memory. Each executes the instruction, which may
 * trap, and calls the tools' listeners with the ranges. Listeners of copies and fills are called before, but not if the
 * instruction would trap. A function is made on first use.
 */
export class BulkFunctions {
  readonly #module: WasmModule;
  readonly #appended: AppendedFunctions;
  readonly #memory: number;
  readonly #listeners: readonly MemoryListeners[];
  readonly #made = new Map<string, number>();

  constructor(
    module: WasmModule,
    appended: AppendedFunctions,
    memory: number,
    listeners: readonly MemoryListeners[],
  ) {
    this.#module = module;
    this.#appended = appended;
    this.#memory = memory;
    this.#listeners = listeners;
  }

  /**
   * Returns the function for `memory.copy destination source`, `memory.fill memory` or `memory.init segment memory`.
   * Returns −1 if none of its memories is the followed one, or if there are no listeners.
   */
  get(instruction: OpcodeName, first: number, second: number): number {
    const writes = instruction === "memory.init" ? second : first;
    const reads = instruction === "memory.copy" ? second : -1;
    if (writes !== this.#memory && reads !== this.#memory) return -1;
    if (this.#listeners.length === 0) return -1;
    const key = `${instruction} ${first} ${second}`;
    const existing = this.#made.get(key);
    if (existing !== undefined) return existing;
    const destination = this.#addressType(writes);
    const source = reads < 0 ? I32 : this.#addressType(reads);
    const fillsOwn = instruction === "memory.fill";
    // The length of a copy between memories of different address types has the narrower type.
    const length =
      instruction === "memory.init"
        ? I32
        : fillsOwn
          ? destination
          : destination === I64 && source === I64
            ? I64
            : I32;
    const type = this.#appended.typeIndex([destination, source, length], []);
    const types = { destination, source, length };
    const index = this.#appended.add(type, () => {
      const arrives = writes === this.#memory && reads !== this.#memory && !fillsOwn;
      const body = new BodyBuilder(arrives || length === I64 ? [I32, I32] : []);
      const within = this.#followsBoth(writes, reads);
      if (within && instruction !== "memory.init") this.#callBefore(body, fillsOwn, destination);
      if (arrives) this.#showPieces(body, reads < 0 ? { segment: first } : { memory: reads }, types);
      for (let i = 0; i < 3; i++) body.op("local.get", i);
      if (fillsOwn) body.op(instruction, first);
      else body.op(instruction, first, second);
      if (within && instruction === "memory.init")
        for (const { init } of this.#listeners)
          this.#callBelow4G(body, init, [destination, undefined, length]);
      if (!within)
        for (const { arrived = -1, left = -1 } of this.#listeners)
          if (writes === this.#memory) this.#callBelow4G(body, arrived, [destination, undefined, length]);
          else this.#callBelow4G(body, left, [undefined, source, length]);
      for (const listener of this.#listeners) {
        const touched = listener.touched?.();
        if (touched === undefined) continue;
        if (writes === this.#memory) this.#touch(body, touched, 0, destination, length);
        if (reads === this.#memory) this.#touch(body, touched, 1, source, length);
      }
      return body.finish();
    });
    this.#made.set(key, index);
    return index;
  }

  /** False for a copy between two memories. Tools then receive only the half in the followed memory. */
  #followsBoth(writes: number, reads: number): boolean {
    return writes === this.#memory && (reads < 0 || reads === this.#memory);
  }

  /** Calls listeners of a fill, or of a copy inside the followed memory, unless it would trap. */
  #callBefore(body: BodyBuilder, fills: boolean, type: number): void {
    if (this.#listeners.every(({ copy, fill }) => (fills ? fill : copy) < 0)) return;
    this.#pushFits(body, 0, type);
    if (!fills) {
      this.#pushFits(body, 1, type);
      body.op("i32.and");
    }
    body.open("if");
    if (fills) for (const { fill } of this.#listeners) this.#callBelow4G(body, fill, [type, I32, type]);
    else if (type === I32) for (const { copy } of this.#listeners) this.#call(body, copy, [type, type, type]);
    else {
      // Half of the copy may lie beyond the followed 4 GiB.
      pushBelow4G(body, 0, type, type);
      pushBelow4G(body, 1, type, type);
      body.op("i32.and").open("if");
      for (const { copy } of this.#listeners) this.#call(body, copy, [type, type, type]);
      body.op("else");
      this.#showPieces(body, { memory: this.#memory }, { destination: type, source: type, length: type });
      for (const { arrived = -1, left = -1 } of this.#listeners) {
        this.#callBelow4G(body, arrived, [type, undefined, type]);
        this.#callBelow4G(body, left, [undefined, type, type]);
      }
      body.end();
    }
    body.end();
  }

  #showPieces(body: BodyBuilder, from: PieceSource, types: OperandTypes): void {
    for (const listener of this.#listeners) showPieces(body, from, types, listener);
  }

  /**
   * Pushes 1 if the range at the operand `address` lies inside the followed memory, else 0. The third operand is its
   * length.
   */
  #pushFits(body: BodyBuilder, address: number, type: number): void {
    const wide = (local: number): BodyBuilder => pushWide(body, local, type);
    const size = (): void => {
      body.op("memory.size", this.#memory);
      if (type === I32) body.op("i64.extend_i32_u");
      body.i64(memoryType(this.#module, this.#memory).pageSizeLog2).op("i64.shl");
    };
    wide(2);
    size();
    body.op("i64.le_u");
    wide(address);
    size();
    wide(2).op("i64.sub").op("i64.le_u").op("i32.and");
  }

  /** Calls a listener with the operands that have a type. Skips ranges beyond 4 GiB. */
  #callBelow4G(body: BodyBuilder, listener: number, types: readonly (number | undefined)[]): void {
    if (listener < 0) return;
    const address = types[0] === undefined ? 1 : 0;
    const [type, length] = [types[address] as number, types[2] as number];
    const guarded = type === I64 || length === I64;
    if (guarded) {
      pushBelow4G(body, address, type, length);
      body.open("if");
    }
    this.#call(body, listener, types);
    if (guarded) body.end();
  }

  #call(body: BodyBuilder, listener: number, types: readonly (number | undefined)[]): void {
    if (listener < 0) return;
    types.forEach((type, operand) => {
      if (type === undefined) return;
      body.op("local.get", operand);
      if (type === I64) body.op("i32.wrap_i64");
    });
    body.op("call", listener);
  }

  /**
   * Calls a listener with the range at the operand `address`: 0 for the destination, 1 for the source, which was read.
   */
  #touch(body: BodyBuilder, listener: number, address: 0 | 1, type: number, length: number): void {
    const wide = type === I64 || length === I64;
    if (wide) {
      pushBelow4G(body, address, type, length);
      body.open("if");
    }
    body.op("local.get", address);
    if (type === I64) body.op("i32.wrap_i64");
    body.op("local.get", 2);
    if (length === I64) body.op("i32.wrap_i64");
    body.i32(address).op("call", listener);
    if (wide) body.end();
  }

  #addressType(memory: number): number {
    return memoryType(this.#module, memory).index64 ? I64 : I32;
  }
}

function pushWide(body: BodyBuilder, local: number, type: number): BodyBuilder {
  body.op("local.get", local);
  return type === I32 ? body.op("i64.extend_i32_u") : body;
}

/** Pushes 1 if a range inside its memory ends below 4 GiB, else 0. The third operand is its length. */
function pushBelow4G(body: BodyBuilder, address: number, type: number, length: number): void {
  pushWide(body, address, type);
  pushWide(body, 2, length).op("i64.add").i64(32).op("i64.shr_u").op("i64.eqz");
}

type PieceSource = { segment: number } | { memory: number };

interface OperandTypes {
  destination: number;
  source: number;
  length: number;
}

/**
 * Passes bytes that are about to enter the followed memory to a listener. Each piece is copied to the listener's memory
 * first. Parameters are destination, source and length; two locals follow. Traps where the instruction would.
 */
function showPieces(
  body: BodyBuilder,
  from: PieceSource,
  types: OperandTypes,
  { arrivingPiece, pieceBuffer }: MemoryListeners,
): void {
  if (arrivingPiece === undefined || arrivingPiece < 0 || pieceBuffer === undefined) return;
  const [destination, source, length, done, piece] = [0, 1, 2, 3, 4];
  const pushLow = (operand: number, type: number): void => {
    body.op("local.get", operand);
    if (type === I64) body.op("i32.wrap_i64");
  };
  body.i32(0).op("local.set", done).open("block");
  if (types.destination === I64) {
    pushBelow4G(body, destination, I64, types.length);
    body.op("i32.eqz").op("br_if", 0);
  }
  body.open("loop");
  pushLow(length, types.length);
  body.op("local.get", done).op("i32.sub").op("local.tee", piece);
  body.op("i32.eqz").op("br_if", 1);
  body.op("local.get", piece).i32(pieceBuffer.bytes);
  body.op("local.get", piece).i32(pieceBuffer.bytes).op("i32.lt_u").op("select").op("local.set", piece);
  body.i32(pieceBuffer.address).op("local.get", source).op("local.get", done);
  if (types.source === I64) body.op("i64.extend_i32_u").op("i64.add");
  else body.op("i32.add");
  body.op("local.get", piece);
  if ("segment" in from) body.op("memory.init", from.segment, pieceBuffer.memory);
  else body.op("memory.copy", pieceBuffer.memory, from.memory);
  pushLow(destination, types.destination);
  body.op("local.get", done).op("i32.add");
  body.op("local.get", piece).op("local.get", done).op("call", arrivingPiece);
  body.op("local.get", done).op("local.get", piece).op("i32.add").op("local.set", done);
  body.op("br", 0).end().end();
}
