import {
  readS32Leb,
  readS64Leb,
  readU32Leb,
  skipLeb32,
  writeS32Leb,
  writeS64Leb,
  writeU32Leb,
} from "../../bytes/leb128.ts";
import {
  type FunctionBody,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";
import { branchesOut, partsOfIf } from "../facts/block-parts.ts";
import { foldedBinary, foldedUnary, isNeutralRight } from "./folded-values.ts";

const SELECT = 0x1b;
/** What is folded takes three bytes and more, a constant up to 11. */
const MOST_GROWTH = 4;

/** A constant at the end of what is written; i64 ones are bigints. */
interface Constant {
  start: number;
  value: number | bigint;
}

/** An open block of the source. */
interface Control {
  /** Whether it is there in what is written. */
  isWritten: boolean;
  /** Where its code ends if not all of it was gone through: an `else` part that is never taken, −1: none. */
  skipTo: number;
}

/**
 * The module with bodies in which imported globals of known value, i32 all of them, decide what they can: constant expressions
 * are computed, and code that cannot run is left out. Indices are the same.
 *
 * @param values by imported global; no number: not known
 */
export function foldConstants(module: WasmModule, values: readonly unknown[]): WasmModule {
  const size = module.bodies.reduce((sum, { start, end }) => sum + end - start, 0);
  const bytes = new Uint8Array(module.bytes.length + size * MOST_GROWTH);
  bytes.set(module.bytes);
  let length = module.bytes.length;
  const bodies = module.bodies.map((body): FunctionBody => {
    const start = length;
    bytes.set(module.bytes.subarray(body.start, body.codeStart), start);
    const codeStart = start + body.codeStart - body.start;
    length = new Folding(module.bytes, body, values, bytes, codeStart).run();
    return { sizeStart: start, start, codeStart, end: length };
  });
  return { ...module, bytes, bodies };
}

/** Goes through a body once, writing what is left of it. */
class Folding {
  readonly #source: Uint8Array;
  readonly #body: FunctionBody;
  readonly #values: readonly unknown[];
  readonly #out: Uint8Array;
  #length: number;
  /** Constants side by side at the end of what is written: the operands on top of the stack. */
  #constants: Constant[] = [];
  readonly #controls: Control[] = [];

  constructor(
    source: Uint8Array,
    body: FunctionBody,
    values: readonly unknown[],
    out: Uint8Array,
    start: number,
  ) {
    this.#source = source;
    this.#body = body;
    this.#values = values;
    this.#out = out;
    this.#length = start;
  }

  /** @returns offset behind the last `end` */
  run(): number {
    const { codeStart, end } = this.#body;
    for (let pos = codeStart; pos < end; ) {
      const op = opcodeIdAt(this.#source, pos);
      const immediates = skipOpcode(this.#source, pos);
      const next = skipImmediates(this.#source, immediates, IMMEDIATE_KIND[op]);
      pos = this.#step(op, pos, immediates, next);
    }
    return this.#length;
  }

  /** @returns offset of the next instruction that may run */
  #step(op: number, pos: number, immediates: number, next: number): number {
    switch (op) {
      case Op.BLOCK:
      case Op.LOOP:
        this.#open(pos, next);
        return next;
      case Op.IF:
        return this.#if(pos, next);
      case Op.ELSE:
        return this.#else(pos, next);
      case Op.END:
        this.#end();
        return next;
      case Op.BR:
        this.#branch(Op.BR, immediates);
        return this.#live(next);
      case Op.BR_IF:
        return this.#branchIf(immediates, next);
      case Op.BR_TABLE:
        this.#branchTable(immediates);
        return this.#live(next);
      case Op.RETURN:
      case Op.UNREACHABLE:
        this.#copy(pos, next);
        return this.#live(next);
      default:
        if (!this.#fold(op, pos, immediates, next)) this.#copy(pos, next);
        return next;
    }
  }

  #copy(start: number, end: number): void {
    this.#out.set(this.#source.subarray(start, end), this.#length);
    this.#length += end - start;
    this.#constants.length = 0;
  }

  #open(pos: number, next: number): void {
    this.#copy(pos, next);
    this.#controls.push({ isWritten: true, skipTo: -1 });
  }

  #if(pos: number, next: number): number {
    const condition = this.#constants.at(-1);
    if (condition === undefined) {
      this.#open(pos, next);
      return next;
    }
    this.#takeBack(1);
    const { otherwise, end } = partsOfIf(this.#source, next);
    const isTaken = condition.value !== 0;
    if (!isTaken && otherwise < 0) return end + 1;
    const start = isTaken ? next : otherwise + 1;
    const last = isTaken && otherwise >= 0 ? otherwise : end;
    const isTarget = branchesOut(this.#source, start, last);
    if (isTarget) {
      this.#out[this.#length++] = Op.BLOCK;
      this.#copy(pos + 1, next);
    }
    this.#controls.push({ isWritten: isTarget, skipTo: last === end ? -1 : end });
    return start;
  }

  #else(pos: number, next: number): number {
    const { skipTo } = this.#controls[this.#controls.length - 1];
    if (skipTo >= 0) return skipTo;
    this.#copy(pos, next);
    return next;
  }

  #end(): void {
    const control = this.#controls.pop();
    if (control?.isWritten === false) return;
    this.#out[this.#length++] = Op.END;
    this.#constants.length = 0;
  }

  #branch(op: number, immediates: number): void {
    this.#out[this.#length++] = op;
    this.#label(readU32Leb(this.#source, immediates));
    this.#constants.length = 0;
  }

  #branchIf(immediates: number, next: number): number {
    const condition = this.#constants.at(-1);
    if (condition === undefined) {
      this.#branch(Op.BR_IF, immediates);
      return next;
    }
    this.#takeBack(1);
    if (condition.value === 0) return next;
    this.#branch(Op.BR, immediates);
    return this.#live(next);
  }

  #branchTable(immediates: number): void {
    this.#out[this.#length++] = Op.BR_TABLE;
    const count = readU32Leb(this.#source, immediates);
    this.#length = writeU32Leb(this.#out, this.#length, count);
    let at = skipLeb32(this.#source, immediates);
    for (let i = 0; i <= count; i++) {
      this.#label(readU32Leb(this.#source, at));
      at = skipLeb32(this.#source, at);
    }
    this.#constants.length = 0;
  }

  /** Writes the depth of a label that has that depth in the source. */
  #label(depth: number): void {
    let written = 0;
    for (let i = 1; i <= depth; i++) if (this.#controls[this.#controls.length - i]?.isWritten) written++;
    this.#length = writeU32Leb(this.#out, this.#length, written);
  }

  /** The next place that is not behind an instruction that never goes on: an `else` or `end` that is written. */
  #live(pos: number): number {
    let depth = 0;
    for (let at = pos; ; ) {
      const op = opcodeIdAt(this.#source, at);
      const next = skipImmediates(this.#source, skipOpcode(this.#source, at), IMMEDIATE_KIND[op]);
      if (IMMEDIATE_KIND[op] === ImmediateKind.BlockType) depth++;
      else if (op === Op.END && depth-- === 0) {
        if (this.#controls.at(-1)?.isWritten !== false) return at;
        this.#controls.pop();
        depth = 0;
      } else if (op === Op.ELSE && depth === 0) {
        const { isWritten, skipTo } = this.#controls[this.#controls.length - 1];
        if (skipTo < 0) return at;
        if (isWritten) return skipTo;
        this.#controls.pop();
        at = skipTo + 1;
        continue;
      }
      at = next;
    }
  }

  /** Takes the last constants out of what is written. */
  #takeBack(count: number): Constant[] {
    const taken = this.#constants.splice(-count);
    this.#length = taken[0].start;
    return taken;
  }

  /** Whether the instruction is done with. */
  #fold(op: number, pos: number, immediates: number, next: number): boolean {
    switch (op) {
      case Op.I32_CONST:
        this.#known(pos, next, readS32Leb(this.#source, immediates));
        return true;
      case Op.I64_CONST:
        this.#known(pos, next, readS64Leb(this.#source, immediates));
        return true;
      case Op.GLOBAL_GET: {
        const value = this.#values[readU32Leb(this.#source, immediates)];
        if (typeof value !== "number") return false;
        this.#known(pos, next, value | 0);
        return true;
      }
      case Op.DROP:
        if (this.#constants.length === 0) return false;
        this.#takeBack(1);
        return true;
      case SELECT:
        return this.#select();
      default:
        return this.#compute(op);
    }
  }

  /** An instruction that pushes a constant; it stays as it is written unless it can be taken back. */
  #known(start: number, end: number, value: number | bigint): void {
    const known = [...this.#constants, { start: this.#length, value }];
    this.#copy(start, end);
    this.#constants = known;
  }

  #push(value: number | bigint): void {
    this.#constants.push({ start: this.#length, value });
    if (typeof value === "bigint") {
      this.#out[this.#length++] = Op.I64_CONST;
      this.#length = writeS64Leb(this.#out, this.#length, value);
    } else {
      this.#out[this.#length++] = Op.I32_CONST;
      this.#length = writeS32Leb(this.#out, this.#length, value);
    }
  }

  #select(): boolean {
    const condition = this.#constants.at(-1);
    if (condition === undefined || this.#constants.length < 2) return false;
    if (condition.value !== 0) {
      this.#takeBack(2);
      return true;
    }
    if (this.#constants.length < 3) return false;
    const [, second] = this.#takeBack(3);
    this.#push(second.value);
    return true;
  }

  #compute(op: number): boolean {
    const right = this.#constants.at(-1);
    if (right === undefined) return false;
    const unary = foldedUnary(op, right.value);
    if (unary !== undefined) {
      this.#takeBack(1);
      this.#push(unary);
      return true;
    }
    if (isNeutralRight(op, right.value)) {
      this.#takeBack(1);
      return true;
    }
    const left = this.#constants.at(-2);
    const binary = left === undefined ? undefined : foldedBinary(op, left.value, right.value);
    if (binary === undefined) return false;
    this.#takeBack(2);
    this.#push(binary);
    return true;
  }
}
