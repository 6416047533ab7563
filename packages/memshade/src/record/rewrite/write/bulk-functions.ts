import { I32, I64, memoryType, type OpcodeName, type WasmModule } from "../../../code/wasm/index.ts";
import type { MemoryListeners } from "../tool.ts";
import type { AppendedFunctions } from "./appended-functions.ts";
import { BodyBuilder } from "./body-builder.ts";

/**
 * Functions that stand for bulk memory instructions on the followed memory: they do the work, which may trap, and tell the
 * tools of the ranges. Tools hear of copies and fills before they happen, but not of those that trap. Made when first asked for.
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
   * The function for `memory.copy destination source`, `memory.fill memory` or `memory.init segment memory`; −1 if
   * none of its memories is the followed one, or nobody listens.
   */
  get(instruction: OpcodeName, first: number, second: number): number {
    const writes = instruction === "memory.init" ? second : first;
    const reads = instruction === "memory.copy" ? second : -1;
    if (writes !== this.#memory && reads !== this.#memory) return -1;
    if (this.#listeners.length === 0) return -1;
    const key = `${instruction} ${first} ${second}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const destination = this.#addressType(writes);
    const source = reads < 0 ? I32 : this.#addressType(reads);
    const fillsOwn = instruction === "memory.fill";
    // A copy between memories of different address types takes the narrower one as its length.
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
      if (within && instruction !== "memory.init") this.#tellBefore(body, fillsOwn, destination);
      if (arrives) this.#showPieces(body, reads < 0 ? { segment: first } : { memory: reads }, types);
      for (let i = 0; i < 3; i++) body.op("local.get", i);
      if (fillsOwn) body.op(instruction, first);
      else body.op(instruction, first, second);
      if (within && instruction === "memory.init")
        for (const { init } of this.#listeners) this.#tell(body, init, [destination, undefined, length]);
      if (!within)
        for (const { arrived = -1, left = -1 } of this.#listeners)
          if (writes === this.#memory) this.#tell(body, arrived, [destination, undefined, length]);
          else this.#tell(body, left, [undefined, source, length]);
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

  /** Otherwise a copy is between two memories, of which tools are told the half that is in theirs. */
  #followsBoth(writes: number, reads: number): boolean {
    return writes === this.#memory && (reads < 0 || reads === this.#memory);
  }

  /** Tells of a fill, or of a copy inside the followed memory, unless it is about to trap. */
  #tellBefore(body: BodyBuilder, fills: boolean, type: number): void {
    if (this.#listeners.every(({ copy, fill }) => (fills ? fill : copy) < 0)) return;
    this.#pushFits(body, 0, type);
    if (!fills) {
      this.#pushFits(body, 1, type);
      body.op("i32.and");
    }
    body.open("if");
    if (fills) for (const { fill } of this.#listeners) this.#tell(body, fill, [type, I32, type]);
    else if (type === I32) for (const { copy } of this.#listeners) this.#call(body, copy, [type, type, type]);
    else {
      // One half may lie where nothing is followed.
      pushBelow4G(body, 0, type, type);
      pushBelow4G(body, 1, type, type);
      body.op("i32.and").open("if");
      for (const { copy } of this.#listeners) this.#call(body, copy, [type, type, type]);
      body.op("else");
      this.#showPieces(body, { memory: this.#memory }, { destination: type, source: type, length: type });
      for (const { arrived = -1, left = -1 } of this.#listeners) {
        this.#tell(body, arrived, [type, undefined, type]);
        this.#tell(body, left, [undefined, type, type]);
      }
      body.end();
    }
    body.end();
  }

  #showPieces(body: BodyBuilder, from: PieceSource, types: OperandTypes): void {
    for (const listener of this.#listeners) showPieces(body, from, types, listener);
  }

  /** Pushes whether as many bytes of the followed memory as the third operand says begin at the operand `address`. */
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

  /** Calls a listener with the operands that have a type. It is not told of ranges beyond 4 GiB. */
  #tell(body: BodyBuilder, listener: number, types: readonly (number | undefined)[]): void {
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

  /** Tells of the range at the operand `address`: 0 for the destination, 1 for the source, which was read. */
  #touch(body: BodyBuilder, listener: number, address: 0 | 1, type: number, length: number): void {
    const wide = type === I64 || length === I64;
    if (wide) {
      // Ranges that reach beyond 4 GiB are not followed.
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

/** Pushes an operand as an i64. */
function pushWide(body: BodyBuilder, local: number, type: number): BodyBuilder {
  body.op("local.get", local);
  return type === I32 ? body.op("i64.extend_i32_u") : body;
}

/** Pushes whether a range that is inside its memory ends below 4 GiB; its length is the third operand. */
function pushBelow4G(body: BodyBuilder, address: number, type: number, length: number): void {
  pushWide(body, address, type);
  pushWide(body, 2, length).op("i64.add").i64(32).op("i64.shr_u").op("i64.eqz");
}

/** What comes into the followed memory: bytes of a segment, or of a memory. */
type PieceSource = { segment: number } | { memory: number };

/** Value types of the three operands. */
interface OperandTypes {
  destination: number;
  source: number;
  length: number;
}

/**
 * Shows a listener what is about to come into the followed memory: piece by piece, each of them put into the listener's memory
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
