// Random modules of the instructions that machine code supports. A seed gives one module, and every call terminates.
import { loweringsById } from "../../../src/code/aot/subset.ts";
import * as Op from "../../../src/code/wasm/op.generated.ts";
import { ACCESS_BYTES, OPCODES, PREFIX_BASE } from "../../../src/code/wasm/opcodes.ts";
import { I32, I64, V128, type ValType } from "../../../src/code/wasm/types.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { Choices } from "../../support/random-module.ts";

const TYPES: readonly ValType[] = [I32, I64, V128];
const NAMES: Readonly<Record<string, ValType>> = { i32: I32, i64: I64, v128: V128 };
const FUNCTIONS = 8;
/** Types that may be exported: JavaScript has no vectors. */
const isOutside = (type: ValType) => type !== V128;
const EMPTY = 0x40;
const NUMBERS = [
  0n,
  1n,
  2n,
  3n,
  7n,
  8n,
  31n,
  32n,
  63n,
  64n,
  255n,
  256n,
  0x7fffn,
  0x8000n,
  0xffffn,
  0x7fffffffn,
  0x80000000n,
];
const LARGE = [
  0xffffffffn,
  0x100000000n,
  0x7fffffffffffffffn,
  0x8000000000000000n,
  0xffffffffffffffffn,
  0x123456789abcdefn,
];

interface Simple {
  id: number;
  name: string;
  immediate: string;
  operands: readonly ValType[];
  bytes: number;
}

const [VALUES, EFFECTS] = sortInstructions();

/** Instructions of the subset without control flow, by result type; those without a result separately. */
function sortInstructions(): [Map<ValType, Simple[]>, Simple[]] {
  const values = new Map<ValType, Simple[]>(TYPES.map((type) => [type, []]));
  const effects: Simple[] = [];
  for (const [id, name, immediate, signature] of OPCODES) {
    if (!loweringsById().has(id) || !["None", "Lane", "Memarg", "MemargLane", "Shuffle"].includes(immediate))
      continue;
    const [left, right] = signature.split("->").map((side) => side.trim().split(" ").filter(Boolean));
    const operands = left.map((word) => (word === "addr" ? I32 : NAMES[word]));
    if (operands.includes(undefined as never) || left.length === 0) continue;
    const simple = { id, name, immediate, operands, bytes: ACCESS_BYTES[id] };
    if (right.length === 0) effects.push(simple);
    else values.get(NAMES[right[0]])?.push(simple);
  }
  return [values, effects];
}

interface Signature {
  params: ValType[];
  results: ValType[];
}

export interface RandomModule {
  bytes: Uint8Array;
  exports: { name: string; params: readonly ValType[]; result: ValType | undefined }[];
}

export function randomCode(seed: number): RandomModule {
  const choices = new Choices(seed);
  const signatures = Array.from({ length: FUNCTIONS }, (): Signature => {
    const many = choices.chance(15) ? 9 : 4;
    const params = Array.from({ length: choices.below(many + 1) }, () =>
      choices.of([I32, I32, I64, I64, V128]),
    );
    return { params, results: choices.chance(85) ? [choices.of([I32, I64, I32, I64, V128])] : [] };
  });
  const bodies = signatures.map((_, i) => new BodyWriter(choices, signatures, i).write());
  const exported = [...signatures.entries()].filter(([, { params, results }]) =>
    [...params, ...results].every(isOutside),
  );
  const bytes = new ByteWriter().bytes([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  const section = (id: number, content: (writer: ByteWriter) => void) => bytes.u8(id).sized(content);
  section(1, (writer) => {
    writer.u32Leb(signatures.length);
    for (const { params, results } of signatures)
      writer.u8(0x60).vector(Uint8Array.from(params)).vector(Uint8Array.from(results));
  });
  section(3, (writer) => writer.vector(Uint8Array.from(signatures.keys())));
  section(5, (writer) => writer.bytes([1, 0, 1]));
  section(6, (writer) => {
    writer.u32Leb(3);
    writer.bytes([I32, 1, Op.I32_CONST, 5, Op.END]);
    writer.bytes([I64, 1, Op.I64_CONST, 0x7b, Op.END]);
    writer.bytes([V128, 1, 0xfd, 12, ...Array.from({ length: 16 }, (_, i) => i * 15), Op.END]);
  });
  section(7, (writer) => {
    writer
      .u32Leb(exported.length + 1)
      .name("memory")
      .bytes([2, 0]);
    for (const [i] of exported) writer.name(`f${i}`).u8(0).u32Leb(i);
  });
  section(10, (writer) => {
    writer.u32Leb(bodies.length);
    for (const body of bodies) writer.vector(body);
  });
  return {
    bytes: bytes.finish(),
    exports: exported.map(([i, { params, results }]) => ({ name: `f${i}`, params, result: results[0] })),
  };
}

export function randomNumber(choices: Choices): bigint {
  const number = choices.of(choices.chance(70) ? NUMBERS : LARGE);
  return choices.chance(40) ? BigInt.asUintN(64, -number) : number;
}

class BodyWriter {
  readonly #choices: Choices;
  readonly #signatures: readonly Signature[];
  readonly #index: number;
  readonly #out = new ByteWriter();
  readonly #locals: ValType[];
  /** Operand types that branches to each open block carry. */
  readonly #labels: (readonly ValType[])[] = [];
  /** Locals that count the rounds of loops; nothing else writes to them. */
  readonly #counters: number[] = [];
  #budget = 90;

  constructor(choices: Choices, signatures: readonly Signature[], index: number) {
    this.#choices = choices;
    this.#signatures = signatures;
    this.#index = index;
    const { params } = signatures[index];
    this.#locals = [...params, ...TYPES, ...Array.from({ length: 4 }, () => choices.of(TYPES))];
    for (let i = 0; i < 3; i++) this.#counters.push(this.#locals.push(I32) - 1);
  }

  write(): Uint8Array {
    const { params, results } = this.#signatures[this.#index];
    const own = this.#locals.slice(params.length);
    this.#out.u32Leb(own.length);
    for (const type of own) this.#out.u32Leb(1).u8(type);
    this.#labels.push(results);
    for (let i = this.#choices.below(8); i >= 0; i--) this.#statement(3);
    if (results.length > 0) this.#value(results[0], 5);
    this.#out.u8(Op.END);
    return this.#out.finish();
  }

  #op(id: number): this {
    const prefix = [0xfe, 0xfd, 0xfc].find((one) => id >= PREFIX_BASE[one] && PREFIX_BASE[one] !== 0);
    const chosen = id < 0x100 ? undefined : id >= 0x400 ? 0xfe : id >= 0x200 ? 0xfd : prefix;
    if (chosen === undefined) this.#out.u8(id);
    else this.#out.u8(chosen).u32Leb(id - PREFIX_BASE[chosen]);
    return this;
  }

  #constant(type: ValType): void {
    const number = randomNumber(this.#choices);
    if (type === I32) this.#out.u8(Op.I32_CONST).s32Leb(Number(BigInt.asIntN(32, number)));
    else if (type === I64) this.#out.u8(Op.I64_CONST).s64Leb(BigInt.asIntN(64, number));
    else
      this.#out.bytes([
        0xfd,
        12,
        ...Array.from({ length: 16 }, () => this.#choices.of([0, 1, 255, 128, 127, 77])),
      ]);
  }

  #local(type: ValType): number | undefined {
    const fitting = [...this.#locals.keys()].filter(
      (i) => this.#locals[i] === type && !this.#counters.includes(i),
    );
    return fitting.length === 0 ? undefined : this.#choices.of(fitting);
  }

  #value(type: ValType, depth: number): void {
    const choices = this.#choices;
    const leaf = depth <= 0 || this.#budget-- <= 0;
    const kind = leaf ? choices.below(2) : choices.below(16);
    const local = this.#local(type);
    if (kind === 0 || (kind === 1 && local === undefined)) {
      this.#constant(type);
      return;
    }
    if (kind <= 3 && local !== undefined) {
      this.#out.u8(Op.LOCAL_GET).u32Leb(local);
      return;
    }
    if (kind === 4 && local !== undefined) {
      this.#value(type, depth - 1);
      this.#out.u8(Op.LOCAL_TEE).u32Leb(local);
    } else if (kind === 5) this.#block(type, depth);
    else if (kind === 6) this.#if([type], depth);
    else if (kind === 7) {
      this.#value(type, depth - 1);
      this.#value(type, depth - 1);
      this.#value(I32, depth - 2);
      this.#out.u8(Op.SELECT);
    } else if (kind === 8) this.#out.u8(Op.GLOBAL_GET).u32Leb(TYPES.indexOf(type));
    else if (kind === 9 && this.#call([type], depth)) return;
    else this.#simple(choices.of(VALUES.get(type) as Simple[]), depth);
  }

  #simple(simple: Simple, depth: number): void {
    const choices = this.#choices;
    const { id, name, immediate, operands, bytes } = simple;
    const access = immediate.startsWith("Memarg");
    const atomic = name.includes("atomic");
    operands.forEach((type, i) => {
      this.#value(type, depth - 1);
      if (!access || i > 0) return;
      // Most accesses stay in bounds. Atomic ones are aligned, because unaligned ones trap in wasm only.
      if (atomic) this.#out.u8(Op.I32_CONST).s32Leb(0x7ff8).u8(Op.I32_AND);
      else if (choices.chance(95))
        this.#out
          .u8(Op.I32_CONST)
          .s32Leb(choices.of([0xfff, 0x7fff, 63]))
          .u8(Op.I32_AND);
    });
    this.#op(id);
    const lanes = /^[if](\d+)/.exec(name)?.[1];
    const lane = name.startsWith("v128") ? 16 / bytes : 128 / Number(lanes);
    if (access) {
      this.#out.u32Leb(atomic ? Math.log2(bytes) : 0);
      this.#out.u32Leb(
        atomic
          ? 8 * choices.below(4)
          : choices.of([0, 0, 4, 8, 17, 1000, choices.chance(2) ? 0x80000000 : 64]),
      );
    }
    if (immediate === "Lane" || immediate === "MemargLane") this.#out.u8(choices.below(lane));
    if (immediate === "Shuffle") for (let i = 0; i < 16; i++) this.#out.u8(choices.below(32));
  }

  #block(type: ValType, depth: number): void {
    this.#out.u8(Op.BLOCK).u8(type);
    this.#labels.push([type]);
    for (let i = this.#choices.below(3); i > 0; i--) this.#statement(depth - 2);
    this.#value(type, depth - 1);
    if (this.#choices.chance(50)) {
      this.#value(I32, depth - 2);
      this.#out.u8(Op.BR_IF).u32Leb(0);
      if (this.#choices.chance(30)) {
        const local = this.#local(type);
        if (local !== undefined) this.#out.u8(Op.LOCAL_SET).u32Leb(local).u8(Op.LOCAL_GET).u32Leb(local);
      }
    }
    this.#labels.pop();
    this.#out.u8(Op.END);
  }

  #if(types: readonly ValType[], depth: number): void {
    this.#value(I32, depth - 1);
    this.#out.u8(Op.IF).u8(types[0] ?? EMPTY);
    this.#labels.push(types);
    for (const part of [0, 1]) {
      if (part === 1 && types.length === 0 && this.#choices.chance(50)) break;
      if (part === 1) this.#out.u8(Op.ELSE);
      for (let i = this.#choices.below(3); i > 0; i--) this.#statement(depth - 2);
      for (const type of types) this.#value(type, depth - 1);
    }
    this.#labels.pop();
    this.#out.u8(Op.END);
  }

  /** A call of an earlier function with these results, if there is one. */
  #call(results: readonly ValType[], depth: number): boolean {
    const fitting = [...this.#signatures.keys()].filter(
      (i) => i < this.#index && `${this.#signatures[i].results}` === `${results}`,
    );
    if (fitting.length === 0) return false;
    const callee = this.#choices.of(fitting);
    for (const type of this.#signatures[callee].params) this.#value(type, depth - 2);
    this.#out.u8(Op.CALL).u32Leb(callee);
    return true;
  }

  #statement(depth: number): void {
    const choices = this.#choices;
    if (this.#budget-- <= 0) return;
    const type = choices.of(TYPES);
    switch (choices.below(12)) {
      case 0:
        this.#if([], depth);
        return;
      case 1:
        this.#loop(depth);
        return;
      case 2:
        this.#leave(depth);
        return;
      case 3:
        this.#value(type, depth);
        this.#out.u8(Op.GLOBAL_SET).u32Leb(TYPES.indexOf(type));
        return;
      case 4:
        if (!this.#call([], depth)) this.#out.u8(Op.NOP);
        return;
      case 5:
        this.#bulk(depth);
        return;
      case 6:
        this.#update();
        return;
      case 7:
      case 8:
        this.#simple(choices.of(EFFECTS), depth);
        return;
      case 9:
        this.#value(type, depth);
        this.#out.u8(Op.DROP);
        return;
      default: {
        const local = this.#local(type);
        if (local === undefined) return;
        this.#value(type, depth + 1);
        this.#out.u8(Op.LOCAL_SET).u32Leb(local);
      }
    }
  }

  #loop(depth: number): void {
    const counter = this.#counters.pop();
    if (counter === undefined) return;
    this.#counters.push(counter);
    const reserved = this.#counters.indexOf(counter);
    this.#out.u8(Op.I32_CONST).s32Leb(this.#choices.below(5)).u8(Op.LOCAL_SET).u32Leb(counter);
    this.#out.u8(Op.BLOCK).u8(EMPTY).u8(Op.LOOP).u8(EMPTY);
    // Branches to the loop itself would never end.
    this.#labels.push([], UNREACHED);
    this.#out.u8(Op.LOCAL_GET).u32Leb(counter).u8(Op.I32_EQZ).u8(Op.BR_IF).u32Leb(1);
    this.#out
      .u8(Op.LOCAL_GET)
      .u32Leb(counter)
      .u8(Op.I32_CONST)
      .s32Leb(1)
      .u8(Op.I32_SUB)
      .u8(Op.LOCAL_SET)
      .u32Leb(counter);
    const others = this.#counters.splice(reserved, 1);
    const hidden = this.#locals[counter];
    this.#locals[counter] = 0;
    for (let i = this.#choices.below(3); i >= 0; i--) this.#statement(depth - 1);
    this.#locals[counter] = hidden;
    this.#counters.push(...others);
    this.#out.u8(Op.BR).u32Leb(0).u8(Op.END).u8(Op.END);
    this.#labels.length -= 2;
  }

  #leave(depth: number): void {
    const choices = this.#choices;
    const open = this.#labels.map((types, i) => ({ types, label: this.#labels.length - 1 - i }));
    const { types, label } = choices.of(open.filter((one) => one.types !== UNREACHED));
    const kind = choices.below(4);
    if (kind < 3) {
      for (const type of types) this.#value(type, depth - 1);
      this.#value(I32, depth - 1);
      this.#out.u8(Op.BR_IF).u32Leb(label);
      for (const _ of types) this.#out.u8(Op.DROP);
      return;
    }
    const alike = open.filter((one) => `${one.types}` === `${types}` && one.types !== UNREACHED);
    this.#out.u8(Op.BLOCK).u8(EMPTY);
    this.#labels.push([]);
    this.#value(I32, depth - 1);
    this.#out.u8(Op.BR_IF).u32Leb(0);
    for (const type of types) this.#value(type, depth - 1);
    this.#value(I32, depth - 1);
    this.#out.u8(Op.BR_TABLE);
    const targets = Array.from({ length: 1 + choices.below(4) }, () => choices.of(alike).label + 1);
    this.#out.u32Leb(targets.length - 1);
    for (const target of targets) this.#out.u32Leb(target);
    this.#out.u8(Op.END);
    this.#labels.pop();
  }

  /** Adds to a word in memory, in the form of one read-modify-write instruction. */
  #update(): void {
    const choices = this.#choices;
    const wide = choices.chance(50);
    const pointer = this.#local(I32);
    const other = this.#local(wide ? I64 : I32);
    if (pointer === undefined || other === undefined) return;
    const offset = choices.of([0, 8, 100]);
    this.#out
      .u8(Op.LOCAL_GET)
      .u32Leb(pointer)
      .u8(Op.I32_CONST)
      .s32Leb(0xff)
      .u8(Op.I32_AND)
      .u8(Op.LOCAL_SET)
      .u32Leb(pointer);
    this.#out.u8(Op.LOCAL_GET).u32Leb(pointer).u8(Op.LOCAL_GET).u32Leb(pointer);
    this.#out
      .u8(wide ? Op.I64_LOAD : Op.I32_LOAD)
      .u8(0)
      .u32Leb(offset);
    if (choices.chance(50)) this.#constant(wide ? I64 : I32);
    else this.#out.u8(Op.LOCAL_GET).u32Leb(other);
    this.#out.u8(
      choices.of(wide ? [Op.I64_ADD, Op.I64_SUB, Op.I64_XOR] : [Op.I32_ADD, Op.I32_SUB, Op.I32_OR]),
    );
    this.#out
      .u8(wide ? Op.I64_STORE : Op.I32_STORE)
      .u8(0)
      .u32Leb(offset);
  }

  #bulk(depth: number): void {
    for (const mask of [0x3fff, this.#choices.of([0x3fff, 63]), 127]) {
      this.#value(I32, depth - 1);
      this.#out.u8(Op.I32_CONST).s32Leb(mask).u8(Op.I32_AND);
    }
    if (this.#choices.chance(50)) this.#out.bytes([0xfc, 11, 0]);
    else this.#out.bytes([0xfc, 10, 0, 0]);
  }
}

const UNREACHED: readonly ValType[] = [-1];
