import { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import { decodeLocals } from "../../wasm/decode.ts";
import { functionType } from "../../wasm/lookups.ts";
import * as Op from "../../wasm/op.generated.ts";
import { IMMEDIATE_KIND, OPCODE_NAME } from "../../wasm/opcodes.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "../../wasm/skip.ts";
import { F32, F64, I32, I64, V128, type ValType } from "../../wasm/types.ts";
import {
  type Address,
  type Constant,
  type FunctionCode,
  type Instruction,
  isAddress,
  isConstant,
  NONE,
  type Operation,
  type Source,
  type Value,
  valuesOf,
} from "../code.ts";
import type { ModuleContext } from "../module-context.ts";
import { type Lowering, loweringsById } from "../subset.ts";

/** Thrown for code that cannot be compiled. `offset`: bytes from the start of the module to the instruction. */
export class UnsupportedCode extends FormatError {
  readonly functionIndex: number;
  /** Name in the text format. */
  readonly instruction: string;

  constructor(functionIndex: number, offset: number, instruction: string, reason?: string) {
    const why = reason ?? "no machine code is made of it";
    super("unsupported", offset, "instruction", `${instruction} in function ${functionIndex}: ${why}`);
    this.name = "UnsupportedCode";
    this.functionIndex = functionIndex;
    this.instruction = instruction;
  }
}

export interface ControlFrame {
  kind: "body" | "block" | "loop" | "if" | "else";
  /** Target of branches: the end of the construct, or the beginning of a loop. */
  label: number;
  /** Values that branches to it set. */
  values: readonly Value[];
  results: readonly ValType[];
  height: number;
  used: boolean;
  /** Beginning of the `else` of an `if`, and the operands there. */
  otherwise: number;
  operands: readonly Entry[];
}

export type Rule = (body: BodyLowering, lowering: Lowering) => void;

/** Instructions that open a block, counted while unreachable code is skipped. */
const OPENING: readonly number[] = [Op.BLOCK, Op.LOOP, Op.IF];
const UNKNOWN_BLOCKS: readonly number[] = [Op.TRY, Op.TRY_TABLE];

/**
 * Pass over the body of a function: every instruction has a rule that changes the operand stack and appends
 * code.
 */
export class BodyLowering {
  readonly module: ModuleContext;
  readonly builder: CodeBuilder;
  readonly stack: OperandStack;
  readonly frames: ControlFrame[] = [];
  readonly reader: ByteReader;
  readonly results: readonly ValType[];
  reachable = true;
  /** Offset of the current instruction in the module, and its name. */
  offset = 0;
  instruction = "";

  constructor(module: ModuleContext, index: number) {
    const { wasm } = module;
    const body = wasm.bodies[index - wasm.importedFunctionCount];
    const { params, results } = functionType(wasm, index);
    this.module = module;
    this.reader = new ByteReader(wasm.bytes, body.codeStart, body.end);
    this.results = results;
    this.builder = new CodeBuilder(
      emptyFunction(index, module.exported.has(index), params),
      module.options.keepTraps === true,
    );
    this.stack = new OperandStack(this.builder);
    this.offset = body.start;
    for (const type of [...params, ...results]) this.checkType(type);
    if (results.length > 1) throw this.unsupported("several results");
    for (const { count, type } of decodeLocals(wasm, body)) {
      this.checkType(type);
      for (let i = 0; i < count; i++) this.#addLocal(type);
    }
    this.stack.locals = this.builder.code.vector.length;
  }

  get options(): ModuleContext["options"] {
    return this.module.options;
  }

  run(rules: Readonly<Record<string, Rule>>): FunctionCode {
    this.#open();
    const subset = loweringsById();
    let skipped = 0;
    while (this.frames.length > 0) {
      const { reader } = this;
      this.offset = reader.position;
      const id = opcodeIdAt(reader.bytes, this.offset);
      reader.position = skipOpcode(reader.bytes, this.offset);
      this.instruction = OPCODE_NAME[id] ?? "";
      if (!this.reachable && (skipped > 0 || (id !== Op.END && id !== Op.ELSE))) {
        if (UNKNOWN_BLOCKS.includes(id)) throw this.unsupported();
        if (OPENING.includes(id)) skipped++;
        else if (id === Op.END) skipped--;
        reader.position = skipImmediates(reader.bytes, reader.position, IMMEDIATE_KIND[id]);
        continue;
      }
      const lowering = subset.get(id);
      if (lowering === undefined) throw this.unsupported();
      rules[lowering.rule](this, lowering);
    }
    return this.builder.code;
  }

  unsupported(reason?: string): UnsupportedCode {
    return new UnsupportedCode(
      this.builder.code.index,
      this.offset,
      this.instruction || "function type",
      reason,
    );
  }

  checkType(type: ValType): void {
    if (type === F32 || type === F64) throw this.unsupported("it has floating-point numbers");
    if (type !== I32 && type !== I64 && type !== V128) throw this.unsupported("it has references");
  }

  #open(): void {
    const common = { label: NONE, values: [], height: 0, used: false, otherwise: NONE, operands: [] };
    this.frames.push({ kind: "body", results: this.results, ...common });
  }

  #addLocal(type: ValType): void {
    const { builder } = this;
    if (type === V128) builder.make("vector constant", [], { content: new Uint8Array(16) }, true);
    else builder.make("move", [ZERO], { wide: true });
  }
}

function emptyFunction(index: number, exported: boolean, params: readonly ValType[]): FunctionCode {
  return {
    index,
    exported,
    instructions: [],
    labels: 0,
    vector: params.map((type) => type === V128),
    parameters: params.map((_, i) => i),
    wideParameters: params.map((type) => type !== I32),
  };
}

const PLAIN: Omit<Instruction, "op" | "to" | "from"> = {
  wide: false,
  depth: 0,
  name: "",
  comparison: "cmp",
  condition: "e",
  bytes: 0,
  signed: false,
  label: 0,
  labels: [],
  number: 0,
  content: undefined,
  effect: false,
  kills: 0,
  killsVectors: false,
  late: false,
};

export class CodeBuilder {
  readonly code: FunctionCode;
  depth = 0;

  readonly #keepTraps: boolean;

  /** `keepTraps`: instructions that may trap are never removed. */
  constructor(code: FunctionCode, keepTraps: boolean) {
    this.code = code;
    this.#keepTraps = keepTraps;
  }

  newValue(vector = false): Value {
    return this.code.vector.push(vector) - 1;
  }

  newLabel(): number {
    return this.code.labels++;
  }

  get last(): Instruction | undefined {
    return this.code.instructions.at(-1);
  }

  takeLast(): Instruction {
    return this.code.instructions.pop() as Instruction;
  }

  add(op: Operation, to: Value, from: readonly Source[], more: Partial<Instruction> = {}): void {
    const { depth } = this;
    this.code.instructions.push({
      ...PLAIN,
      op,
      to,
      from,
      depth,
      effect: to === NONE || this.#mayTrap(op, from),
      ...more,
    });
  }

  #mayTrap(op: Operation, from: readonly Source[]): boolean {
    return this.#keepTraps && (op === "divide" || (op !== "lea" && from.some(isAddress)));
  }

  /** Appends an instruction like `add`, with a new value as its result, and returns the value. */
  make(op: Operation, from: readonly Source[], more: Partial<Instruction> = {}, vector = false): Value {
    const to = this.newValue(vector);
    this.add(op, to, from, more);
    return to;
  }
}

/** Comparison that is not needed as a number yet. */
export interface Comparison {
  kind: "comparison";
  comparison: Instruction["comparison"];
  condition: Instruction["condition"];
  wide: boolean;
  left: Source;
  right: Source;
}

/** Sum that is not needed as a value yet. A sum is computed with 64 or 32 bits; the upper ones are dropped then. */
export interface Sum {
  kind: "sum";
  wide: boolean;
  address: Address;
}

export type Entry = Value | Constant | Sum | Comparison;

/**
 * Operand stack while a body is lowered. Sums, constants and comparisons stay unevaluated until an instruction
 * needs a register. Most become part of that instruction. Every entry is used once, except entries that name a
 * local.
 */
class OperandStack {
  readonly #builder: CodeBuilder;
  readonly entries: Entry[] = [];
  locals = 0;

  constructor(builder: CodeBuilder) {
    this.#builder = builder;
  }

  get height(): number {
    return this.entries.length;
  }

  push(entry: Entry): void {
    this.entries.push(entry);
  }

  pop(): Entry {
    return this.entries.pop() as Entry;
  }

  popValue(): Value {
    return this.value(this.pop());
  }

  popPlain(): Value | Constant {
    return this.plain(this.pop());
  }

  popArguments(count: number): Source[] {
    return Array.from({ length: count }, () => this.popPlain()).reverse();
  }

  plain(entry: Entry): Value | Constant {
    return typeof entry === "object" && entry.kind === "constant" ? entry : this.value(entry);
  }

  value(entry: Entry): Value {
    if (typeof entry === "number") return entry;
    const to = this.#builder.newValue();
    this.into(to, entry);
    return to;
  }

  into(to: Value, entry: Entry): void {
    const builder = this.#builder;
    if (typeof entry === "number") {
      if (entry !== to) builder.add("move", to, [entry], { wide: true });
    } else if (entry.kind === "constant") builder.add("move", to, [entry], { wide: true });
    else if (entry.kind === "sum") builder.add("lea", to, [entry.address], { wide: entry.wide });
    else {
      const { from, ...comparison } = this.condition(entry);
      builder.add("compare", to, from, comparison);
    }
  }

  /**
   * Returns the operand `b` of an instruction of `bytes`. If the value was just loaded and the load can be
   * removed, the operand is the load's place.
   */
  fused(entry: Entry, bytes: number): Source {
    const source = this.plain(entry);
    const { last } = this.#builder;
    const loads =
      last?.op === "load" && last.bytes === bytes && isAddress(last.from[0]) && this.isResult(source);
    return loads && last.wide === (bytes === 8) ? this.#builder.takeLast().from[0] : source;
  }

  condition(entry: Entry): { from: Source[] } & Pick<Instruction, "comparison" | "condition" | "wide"> {
    if (typeof entry === "number" || entry.kind !== "comparison")
      return { from: [this.value(entry), ZERO], comparison: "cmp", condition: "ne", wide: false };
    const { comparison, condition, wide, left, right } = entry;
    if (comparison !== "cmp") return { from: [left, right], comparison, condition, wide };
    const { last } = this.#builder;
    const ofBits =
      last?.op === "arithmetic" && last.name === "and" && last.wide === wide && this.isResult(left);
    if (ofBits && isConstant(right) && right.value === 0n && (condition === "e" || condition === "ne"))
      return { from: [...this.#builder.takeLast().from], comparison: "test", condition, wide };
    const bytes = wide ? 8 : 4;
    const fusedRight = typeof right === "number" ? this.fused(right, bytes) : right;
    const fusedLeft = isAddress(fusedRight) || typeof left !== "number" ? left : this.fused(left, bytes);
    return { from: [fusedLeft, fusedRight], comparison, condition, wide };
  }

  /** Stores an entry in `to`. If the last instruction computed the entry, the instruction writes to `to` directly. */
  give(to: Value, entry: Entry): void {
    if (this.isResult(entry)) (this.#builder.last as Instruction).to = to;
    else this.into(to, entry);
  }

  /** True if only the last instruction's result is meant and nothing else uses it. */
  isResult(entry: Entry | Source): boolean {
    return typeof entry === "number" && entry >= this.locals && this.#builder.last?.to === entry;
  }

  /** Copies entries that mean the current content of `local` to registers of their own, before the local changes. */
  keep(local: Value): void {
    this.#copy((value) => value === local);
  }

  keepLocals(): void {
    this.#copy((value) => value < this.locals);
  }

  #copy(concerned: (value: Value) => boolean): void {
    this.entries.forEach((entry, i) => {
      if (!valuesOfEntry(entry).some(concerned)) return;
      if (typeof entry !== "number") this.entries[i] = this.value(entry);
      else
        this.entries[i] = this.#builder.make(
          "move",
          [entry],
          { wide: true },
          this.#builder.code.vector[entry],
        );
    });
  }
}

export const ZERO: Constant = { kind: "constant", value: 0n };

function valuesOfEntry(entry: Entry): readonly Value[] {
  if (typeof entry === "number") return entry === NONE ? [] : [entry];
  if (entry.kind === "constant") return [];
  return entry.kind === "sum" ? valuesOf(entry.address) : [...valuesOf(entry.left), ...valuesOf(entry.right)];
}
