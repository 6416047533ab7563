import { type FunctionBody, writeOpcodeInto } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { partitionPoint } from "../../../ground/bytes/columns.ts";
import {
  readU32Leb,
  sizeOfU32Leb,
  skipLeb32,
  writeS32Leb,
  writeS64Leb,
  writeU32Leb,
} from "../../../ground/bytes/leb128.ts";
import { MOST_LOCALS } from "../facts/function-locals.ts";
import type { Insertions } from "./insertions.ts";
import type { SnippetSink } from "./snippet-sink.ts";
import {
  extraLocals,
  noTemporaries,
  resolveLocal,
  spillTypes,
  type Temporaries,
  temporaryCount,
} from "./temporaries.ts";

/** Map of instrumented code: offsets in the file, and the corresponding offsets in the original code section. */
export interface CodePlaces {
  offsets: readonly number[];
  /** −1 if the code from here on has no original. */
  originals: readonly number[];
}

/** A piece that was written at `[start, end)` and must be moved to `at`. */
export interface LatePiece {
  start: number;
  end: number;
  at: number;
}

const I32 = 0x7f;
const I64 = 0x7e;
/** Limit of an insertion's size, bytes. */
export const LONGEST_SNIPPET = 384;
const HAS_MEMORY_INDEX = 0x40;
/** Size from which a view and a block copy are faster than copying byte by byte. */
const LONG_COPY = 80;
/** Limit of engines for a function's size, bytes. */
export const LARGEST_BODY = 7_654_321;
const COUNT_BYTES = 5;

export interface WriterOptions {
  memory64: boolean;
  capacity: number;
}

/** Writes function bodies, merged with their insertions, into a growing buffer. */
export class FunctionWriter implements SnippetSink {
  bytes: Uint8Array;
  /** Room for the number of bodies is left at the start. */
  length = COUNT_BYTES;
  /** Marks: offsets in `bytes`. `markPositions`: their positions in the module, −1 after the end of a marked body. */
  marks: number[] = [];
  readonly markPositions: number[] = [];
  rare: number[] = [];
  readonly #source: Uint8Array;
  readonly #insertions: Insertions;
  readonly #memory64: boolean;
  #ownLocals = 0;
  #temporaries: Temporaries = noTemporaries();

  constructor(source: Uint8Array, insertions: Insertions, { memory64, capacity }: WriterOptions) {
    this.#source = source;
    this.#insertions = insertions;
    this.#memory64 = memory64;
    this.bytes = new Uint8Array(capacity);
  }

  /** Marks the code written next as belonging to a position of the module; −1 for none. */
  mark(position: number): void {
    this.marks.push(this.length);
    this.markPositions.push(position);
  }

  copyBody(body: FunctionBody): void {
    this.#reserve(body.end - body.sizeStart);
    this.bytes.set(this.#source.subarray(body.sizeStart, body.end), this.length);
    this.length += body.end - body.sizeStart;
  }

  /** Writes a complete body, given without its size. */
  writeBody(content: Uint8Array): void {
    this.#reserve(content.length + 5);
    this.length = writeU32Leb(this.bytes, this.length, content.length);
    this.bytes.set(content, this.length);
    this.length += content.length;
  }

  /**
   * Moves the pieces written last to their positions among the earlier bytes. Positions ascend; the pieces have no
   * marks or unlikely branches.
   */
  moveBack(pieces: readonly LatePiece[]): void {
    if (pieces.length === 0) return;
    const begin = pieces[0].start;
    const late = this.bytes.slice(begin, this.length);
    const places = pieces.map(({ at }) => at);
    // Distances by which bytes move, by number of preceding pieces.
    const shifts = [0];
    for (const { start, end } of pieces) shifts.push(shifts.at(-1)! + end - start);
    let to = begin;
    for (let index = pieces.length - 1; index >= 0; index--) {
      const { at, start, end } = pieces[index];
      this.bytes.copyWithin(at + shifts[index + 1], at, to);
      this.bytes.set(late.subarray(start - begin, end - begin), at + shifts[index]);
      to = at;
    }
    // A mark at a piece's position belongs to the end of the preceding body.
    const moved = (offset: number): number =>
      offset + shifts[partitionPoint(0, places.length, (index) => places[index] < offset)];
    this.marks = this.marks.map(moved);
    this.rare = this.rare.map(moved);
  }

  /** All bodies written so far, each after its length; a view of `bytes`. */
  get bodies(): Uint8Array {
    return this.bytes.subarray(COUNT_BYTES, this.length);
  }

  /**
   * Returns the payload of a code section with `count` bodies, a view of `bytes`. Marks and unlikely branches become
   * offsets in it.
   */
  finish(count: number): Uint8Array {
    const start = COUNT_BYTES - sizeOfU32Leb(count);
    writeU32Leb(this.bytes, start, count);
    this.marks = this.marks.map((offset) => offset - start);
    this.rare = this.rare.map((offset) => offset - start);
    return this.bytes.subarray(start, this.length);
  }

  /**
   * Writes a body with the current insertions. `ownLocals` counts its parameters and locals.
   *
   * @returns false if engines would reject the result; the body is then copied unchanged
   */
  writeRewritten(body: FunctionBody, ownLocals: number, temporaries: Temporaries): boolean {
    if (ownLocals + temporaryCount(temporaries) > MOST_LOCALS) {
      this.copyBody(body);
      return false;
    }
    const source = this.#source;
    const insertions = this.#insertions;
    this.#reserve(body.end - body.sizeStart + (insertions.length + 1) * LONGEST_SNIPPET + 64);
    const noLocals = body.codeStart === body.start + 1;
    this.#ownLocals = ownLocals + (temporaries.moreParameter && noLocals ? 1 : 0);
    this.#temporaries = temporaries;
    // The size precedes the body but is known last. Leave room for a likely size, and move the body if the guess was
    // wrong.
    const sizeAt = this.length;
    const contentAt = sizeAt + sizeOfU32Leb((body.end - body.start) * 2);
    const firstMark = this.marks.length;
    const firstRare = this.rare.length;
    this.length = contentAt;
    this.#writeLocals(body);

    const order = insertions.order();
    const { length, insertion, replaces } = insertions;
    let from = body.codeStart;
    for (let i = 0; i < length; i++) {
      const index = order[i];
      const at = insertions.positionOf(index);
      this.#copy(source, from, at);
      from = at + replaces[index];
      insertion[index].write(this);
    }
    this.#copy(source, from, body.end);

    const size = this.length - contentAt;
    if (size > LARGEST_BODY) {
      this.length = sizeAt;
      this.marks.length = firstMark;
      this.markPositions.length = firstMark;
      this.rare.length = firstRare;
      this.copyBody(body);
      return false;
    }
    const start = sizeAt + sizeOfU32Leb(size);
    if (start !== contentAt) {
      this.bytes.copyWithin(start, contentAt, this.length);
      this.length += start - contentAt;
      for (let i = firstMark; i < this.marks.length; i++) this.marks[i] += start - contentAt;
      for (let i = firstRare; i < this.rare.length; i++) this.rare[i] += start - contentAt;
    }
    if (this.marks.length > firstMark) this.mark(-1);
    writeU32Leb(this.bytes, sizeAt, size);
    return true;
  }

  #writeLocals(body: FunctionBody): void {
    const source = this.#source;
    const { addresses, loops, moreParameter } = this.#temporaries;
    const spills = spillTypes(this.#temporaries);
    let groups = readU32Leb(source, body.start);
    let groupsAt = skipLeb32(source, body.start);
    const first = moreParameter && groups > 0 ? readU32Leb(source, groupsAt) : 0;
    if (first === 1) {
      groups--;
      groupsAt = skipLeb32(source, groupsAt) + 1;
    }
    const extra = extraLocals(this.#temporaries);
    const plain = temporaryCount(this.#temporaries) > 0;
    const added = (plain ? 1 : 0) + (addresses > 0 ? 1 : 0) + spills.length + extra.length;
    this.length = writeU32Leb(this.bytes, this.length, groups + added);
    if (first > 1) {
      this.length = writeU32Leb(this.bytes, this.length, first - 1);
      groupsAt = skipLeb32(source, groupsAt);
    }
    this.#copy(source, groupsAt, body.codeStart);
    if (plain) {
      this.length = writeU32Leb(this.bytes, this.length, 2 + loops);
      this.bytes[this.length++] = I32;
    }
    if (addresses > 0) {
      this.length = writeU32Leb(this.bytes, this.length, addresses);
      this.bytes[this.length++] = this.#memory64 ? I64 : I32;
    }
    for (const type of spills) {
      this.bytes[this.length++] = 2;
      this.bytes[this.length++] = type;
    }
    for (const type of extra) {
      this.bytes[this.length++] = 1;
      this.bytes[this.length++] = type;
    }
  }

  plain(opcode: number): void {
    this.#byte(opcode);
  }

  prefixed(id: number): void {
    this.length = writeOpcodeInto(this.bytes, this.length, id);
  }

  lane(id: number, lane: number): void {
    this.prefixed(id);
    this.#byte(lane);
  }

  indexed(opcode: number, index: number): void {
    this.#op(opcode, index);
  }

  local(opcode: number, symbol: number): void {
    this.#op(opcode, this.#local(symbol));
  }

  i32(value: number): void {
    this.#const(value | 0);
  }

  i64(value: bigint | number): void {
    this.#byte(Op.I64_CONST);
    this.length =
      typeof value === "number"
        ? writeS32Leb(this.bytes, this.length, value)
        : writeS64Leb(this.bytes, this.length, value);
  }

  access(id: number, alignment: number, memory: number, displacement: number): void {
    this.length = writeOpcodeInto(this.bytes, this.length, id);
    this.#byte(memory === 0 ? alignment : alignment | HAS_MEMORY_INDEX);
    if (memory !== 0) this.#index(memory);
    this.#index(displacement);
  }

  open(opcode: number, result: number): void {
    this.#byte(opcode);
    this.#byte(result);
  }

  openTyped(opcode: number, typeIndex: number): void {
    this.#byte(opcode);
    this.length = writeS32Leb(this.bytes, this.length, typeIndex);
  }

  rarely(): void {
    this.rare.push(this.length);
  }

  end(): void {
    this.#byte(Op.END);
  }

  #local(symbol: number): number {
    return resolveLocal(symbol, this.#ownLocals, this.#temporaries);
  }

  #op(opcode: number, index: number): void {
    this.bytes[this.length++] = opcode;
    this.#index(index);
  }

  #index(value: number): void {
    if (value >>> 7 === 0) this.bytes[this.length++] = value;
    else this.length = writeU32Leb(this.bytes, this.length, value);
  }

  #byte(value: number): void {
    this.bytes[this.length++] = value;
  }

  #const(value: number): void {
    this.bytes[this.length++] = Op.I32_CONST;
    if (value >= -64 && value < 64) this.bytes[this.length++] = value & 0x7f;
    else this.length = writeS32Leb(this.bytes, this.length, value);
  }

  #copy(source: Uint8Array, from: number, to: number): void {
    const count = to - from;
    if (count <= 0) return;
    const bytes = this.bytes;
    let at = this.length;
    if (count < LONG_COPY) for (let i = from; i < to; i++) bytes[at++] = source[i];
    else bytes.set(source.subarray(from, to), at);
    this.length += count;
  }

  #reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const bytes = new Uint8Array(Math.max(this.bytes.length * 1.5, this.length + count));
    bytes.set(this.bytes.subarray(0, this.length));
    this.bytes = bytes;
  }
}
