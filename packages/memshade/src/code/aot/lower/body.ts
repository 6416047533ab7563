import { ByteReader } from "../../../ground/bytes/reader.ts";
import { decodeLocals } from "../../wasm/decode/code.ts";
import { functionType } from "../../wasm/lookups.ts";
import * as Op from "../../wasm/op.generated.ts";
import { IMMEDIATE_KIND, OPCODE_NAME } from "../../wasm/opcodes.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "../../wasm/skip.ts";
import { F32, F64, I32, I64, V128, type ValType } from "../../wasm/types.ts";
import { type FunctionCode, NONE, type Value } from "../code.ts";
import type { ModuleContext } from "../module-context.ts";
import { type Lowering, loweringsById } from "../subset.ts";
import { UnsupportedCode } from "../unsupported.ts";
import { CodeBuilder } from "./builder.ts";
import { type Entry, OperandStack, ZERO } from "./stack.ts";

/** A block that is open. */
export interface ControlFrame {
  kind: "body" | "block" | "loop" | "if" | "else";
  /** Target of branches: the end of the construct, or the beginning of a loop. */
  label: number;
  /** Values that branches to it set. */
  values: readonly Value[];
  results: readonly ValType[];
  /** Entries of the operand stack below it. */
  height: number;
  /** Whether something branches to its end. */
  used: boolean;
  /** Beginning of the `else` of an `if`, and the operands there. */
  otherwise: number;
  operands: readonly Entry[];
}

/** Lowers an instruction. */
export type Rule = (body: BodyLowering, how: Lowering) => void;

/** Blocks that begin and end where nothing runs. */
const OPENING: readonly number[] = [Op.BLOCK, Op.LOOP, Op.IF];
const UNKNOWN_BLOCKS: readonly number[] = [Op.TRY, Op.TRY_TABLE];

/** One pass over the body of a function: every instruction has a rule that changes the operand stack and appends code. */
export class BodyLowering {
  readonly module: ModuleContext;
  readonly builder: CodeBuilder;
  readonly stack: OperandStack;
  readonly frames: ControlFrame[] = [];
  readonly reader: ByteReader;
  readonly results: readonly ValType[];
  reachable = true;
  /** Offset of the present instruction in the module, and its name. */
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
      const how = subset.get(id);
      if (how === undefined) throw this.unsupported();
      rules[how.rule](this, how);
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

  /** The function's body as a block: a branch to it returns. */
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
