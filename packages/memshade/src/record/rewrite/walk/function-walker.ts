import {
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  ImmediateKind,
  OPCODE_NAME,
  type OpcodeName,
  opcodeId,
  opcodeIdAt,
  POP_COUNT,
  PUSH_COUNT,
  skipImmediates,
  UNKNOWN_OPCODE,
  unknownOpcode,
  type ValType,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { readS32Leb, readU32Leb, skipLeb32, skipLeb64 } from "../../../ground/bytes/leb128.ts";
import type { ModuleScan } from "../facts/module-scan.ts";
import { type CodePart, follows, type ToolPass, type WalkState } from "../tool.ts";
import { callOf, type Insertions, NOTHING } from "../write/insertions.ts";
import { noTemporaries, type Temporaries } from "../write/temporaries.ts";
import { Arities, BlockWalk, Listeners } from "./block-walk.ts";
import { ControlStack } from "./control-stack.ts";
import { readDisplacement, skipDisplacement } from "./displacements.ts";
import { CONSTANT, NO_LOCAL, OperandStack, ValueClass, ValueNumbers } from "./value-numbers.ts";

export interface CallTargets {
  /** Returns the function to call instead of `callee`, usually `callee` itself. */
  target(caller: number, callee: number): number;
}

export const SAME_TARGETS: CallTargets = { target: (_caller, callee) => callee };

export interface WalkOptions {
  /** The followed memory. `memory64`: its addresses are i64. */
  memory: number;
  memory64: boolean;
  /** Global that holds the stack pointer, −1 if unknown. */
  stackPointer: number;
  passes: readonly ToolPass[];
  /** Drops unreachable code, which is not walked. If functions may get other types, it would not fit them. */
  dropsUnreachable: boolean;
  /**
   * Returns the function to call instead of a bulk memory instruction, −1 to leave the instruction. `part`: part of the
   * code in which it is.
   */
  bulkFunction(instruction: OpcodeName, first: number, second: number, part: CodePart): number;
}

export interface WalkedFunction {
  index: number;
  codeStart: number;
  end: number;
  locals: ArrayLike<ValType>;
  hasLoops: boolean;
  /** Selects the tools that follow it. */
  part: CodePart;
}

/**
 * Walks each function body once. Simulates the operand stack and value numbers, and calls the tools' passes for events;
 * these add insertions. The walker itself redirects calls of functions that were moved.
 */
export class FunctionWalker {
  readonly #module: WasmModule;
  readonly #bytes: Uint8Array;
  readonly #insertions: Insertions;
  readonly calls: CallTargets;
  readonly #options: WalkOptions;
  readonly #values = new ValueNumbers();
  readonly #stack = new OperandStack();
  readonly #control = new ControlStack();
  readonly #arities: Arities;
  readonly #blocks: BlockWalk;
  readonly followsAllocator: boolean;
  readonly followedGlobals: ReadonlySet<number>;
  readonly #listenersOf: Readonly<Record<CodePart, Listeners>>;
  readonly #state: WalkState;

  #index = 0;
  #part: CodePart = "program";
  #listeners: Listeners;

  constructor(
    module: WasmModule,
    scan: ModuleScan,
    insertions: Insertions,
    calls: CallTargets,
    options: WalkOptions,
  ) {
    this.#module = module;
    this.#bytes = module.bytes;
    this.#insertions = insertions;
    this.calls = calls;
    this.#options = options;
    this.#arities = new Arities(module);
    const { passes } = options;
    const listenersOf = (part: CodePart) => new Listeners(passes.filter((pass) => follows(pass, part)));
    this.#listenersOf = {
      program: listenersOf("program"),
      wrapper: listenersOf("wrapper"),
      allocator: listenersOf("allocator"),
    };
    this.#listeners = this.#listenersOf.program;
    this.followsAllocator = this.#listenersOf.allocator.passes.length > 0;
    const globals = passes.map(({ followedGlobal = -1 }) => followedGlobal);
    this.followedGlobals = new Set(globals.filter((global) => global >= 0));
    this.#state = {
      module,
      insertions,
      stack: this.#stack,
      values: this.#values,
      control: this.#control,
      function: 0,
      locals: [],
      temporaries: noTemporaries(),
      hasLoops: false,
      openLoops: 0,
      loop: -1,
    };
    this.#blocks = new BlockWalk(this.#state, scan, this.#arities, options.memory64);
  }

  /** Walks a function. Returns the locals that the writer must add. */
  walk(walked: WalkedFunction): Temporaries {
    this.#begin(walked);
    this.#walk(walked.codeStart, walked.end);
    for (const pass of this.#listeners.end) pass.end();
    return this.#state.temporaries;
  }

  #begin({ index, codeStart, end, locals, hasLoops, part }: WalkedFunction): void {
    this.#index = index;
    this.#part = part;
    this.#listeners = this.#listenersOf[part];
    this.#values.reset(locals.length);
    this.#stack.depth = 0;
    const state = this.#state;
    state.function = index;
    state.locals = locals;
    state.temporaries = noTemporaries();
    state.hasLoops = hasLoops;
    state.openLoops = 0;
    this.#blocks.begin(this.#listeners, codeStart, end);
    for (const pass of this.#listeners.passes) pass.begin(state, codeStart);
  }

  /** Handles the most frequent instructions. All others are left to `#step`, so that this loop stays small. */
  #walk(codeStart: number, end: number): void {
    const bytes = this.#bytes;
    const values = this.#values;
    const stack = this.#stack;
    const blocks = this.#blocks;
    const { access: accessed } = this.#listeners;
    const { memory: followedMemory, stackPointer } = this.#options;
    let pos = codeStart;
    while (pos < end) {
      const start = pos;
      let op = bytes[pos++];
      if (op >= 0xfb && op <= 0xfe) {
        op = opcodeIdAt(bytes, start);
        pos = skipLeb32(bytes, pos);
      }
      switch (ACTION[op]) {
        case 0: // Compute: no immediates, one result
          stack.depth -= POP_COUNT[op];
          stack.pushResult(pos);
          continue;
        case 1: {
          // Access: alignment (bit 6: a memory index follows), offset, perhaps a lane
          const align = bytes[pos++];
          let memory = 0;
          if (align & 64) {
            memory = readU32Leb(bytes, pos);
            pos = skipLeb32(bytes, pos);
          }
          let displacement = bytes[pos];
          if (displacement < 128) pos++;
          else {
            displacement = readDisplacement(bytes, pos);
            pos = skipDisplacement(bytes, pos);
          }
          if (IMMEDIATE_KIND[op] === ImmediateKind.MemargLane) pos++;
          const address = stack.depth - POP_COUNT[op];
          if (memory === followedMemory)
            for (let i = 0; i < accessed.length; i++)
              accessed[i].access(op, address, displacement, start, pos);
          stack.depth = address;
          if (PUSH_COUNT[op] === 1) stack.pushResult(pos);
          continue;
        }
        case 2: {
          // LocalGet
          let x = bytes[pos];
          if (x < 128) pos++;
          else {
            x = readU32Leb(bytes, pos);
            pos = skipLeb32(bytes, pos);
          }
          stack.push(values.read(x), values.localOffset[x], pos, x, values.localTime[x]);
          continue;
        }
        case 3: {
          // Const
          const byte = bytes[pos];
          if (byte < 128) {
            pos++;
            stack.push(CONSTANT, (byte << 25) >> 25, pos, NO_LOCAL, 0);
            continue;
          }
          const next = skipLeb64(bytes, pos);
          // Longer i64 constants are no addresses.
          if (op === Op.I32_CONST || next - pos <= 4)
            stack.push(CONSTANT, readS32Leb(bytes, pos), next, NO_LOCAL, 0);
          else stack.pushResult(next);
          pos = next;
          continue;
        }
        case 4: {
          // LocalSet, LocalTee
          let x = bytes[pos];
          if (x < 128) pos++;
          else {
            x = readU32Leb(bytes, pos);
            pos = skipLeb32(bytes, pos);
          }
          const top = stack.depth - 1;
          values.assign(x, stack.value[top], stack.offset[top]);
          if (op === Op.LOCAL_SET) stack.depth = top;
          else {
            if (stack.value[top] === 0) stack.value[top] = values.read(x);
            stack.local[top] = x;
            stack.localTime[top] = values.localTime[x];
          }
          continue;
        }
        case 5:
          followArithmetic(op, pos, stack, values);
          continue;
        case 6: {
          // GlobalGet
          const global = readU32Leb(bytes, pos);
          pos = skipLeb32(bytes, pos);
          if (global === stackPointer)
            stack.push(values.fresh(ValueClass.Stack, NO_LOCAL), 0, pos, NO_LOCAL, 0);
          else stack.pushResult(pos);
          continue;
        }
        case 7: {
          // Plain: instructions that only move operands
          pos = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
          stack.depth -= POP_COUNT[op];
          stack.pushUnknown(PUSH_COUNT[op], pos);
          continue;
        }
        default:
          pos = this.#step(op, start, pos);
          if (blocks.unreachable) {
            const from = pos;
            pos = blocks.skipUnreachable(pos);
            if (this.#options.dropsUnreachable && pos > from) this.#insertions.replace(from, pos, NOTHING);
          }
      }
    }
  }

  /**
   * Handles an instruction with control flow or another effect. `pos` is the offset after its opcode. Returns the
   * offset after the instruction.
   */
  #step(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const blocks = this.#blocks;
    switch (op) {
      case Op.BLOCK:
      case Op.LOOP:
      case Op.IF:
      case Op.TRY:
      case Op.TRY_TABLE:
        return blocks.open(op, start, pos);
      case Op.ELSE:
      case Op.CATCH:
      case Op.CATCH_ALL:
        return blocks.otherArm(op, start, pos);
      case Op.END:
      case Op.DELEGATE:
        return blocks.close(op, start, pos);
      case Op.BR:
      case Op.BR_IF:
      case Op.BR_ON_NULL:
      case Op.BR_ON_NON_NULL:
      case Op.BR_ON_CAST:
      case Op.BR_ON_CAST_FAIL:
        return blocks.branch(op, start, pos);
      case Op.BR_TABLE:
        return blocks.branchTable(start, pos);
      case Op.UNREACHABLE:
      case Op.RETURN:
      case Op.THROW:
      case Op.RETHROW:
      case Op.THROW_REF:
        return blocks.leave(op, start, pos);
      case Op.CALL:
      case Op.RETURN_CALL:
        return this.#call(op, start, pos);
      case Op.CALL_INDIRECT:
      case Op.RETURN_CALL_INDIRECT:
      case Op.CALL_REF:
      case Op.RETURN_CALL_REF:
        return this.#callUnknown(op, start, pos);
      case Op.GLOBAL_SET: {
        const end = skipLeb32(bytes, pos);
        stack.depth--;
        this.#setGlobal(readU32Leb(bytes, pos), start, end);
        return end;
      }
      case Op.MEMORY_GROW: {
        const end = skipLeb32(bytes, pos);
        stack.depth--;
        stack.pushUnknown(1, end);
        for (const pass of this.#listeners.grow) pass.grow(readU32Leb(bytes, pos), start, end);
        return end;
      }
      case Op.MEMORY_COPY:
      case Op.MEMORY_FILL:
      case Op.MEMORY_INIT:
        return this.#bulk(op, start, pos);
      default:
        if (op >= Op.STRUCT_NEW && op <= Op.ARRAY_INIT_ELEM) return this.#object(op, start, pos);
        if (IMMEDIATE_KIND[op] === UNKNOWN_OPCODE) throw unknownOpcode(bytes, start);
        throw new FormatError("unsupported", start, "instruction", `${OPCODE_NAME[op]} is not supported`);
    }
  }

  #object(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const hasOperand = IMMEDIATE_KIND[op] !== ImmediateKind.None;
    const first = hasOperand ? readU32Leb(bytes, pos) : -1;
    const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    const behindFirst = hasOperand ? skipLeb32(bytes, pos) : end;
    const second = behindFirst < end ? readU32Leb(bytes, behindFirst) : -1;
    for (const pass of this.#listeners.object) pass.object(op, first, second, start, end);
    const type = this.#module.types[first];
    if (op === Op.STRUCT_NEW) stack.depth -= type?.kind === "struct" ? type.fields.length : 0;
    else if (op === Op.ARRAY_NEW_FIXED) stack.depth -= second;
    else stack.depth -= POP_COUNT[op];
    const results = PUSH_COUNT[op];
    if (results > 0) stack.pushUnknown(results, end);
    return end;
  }

  #call(op: number, start: number, pos: number): number {
    const callee = readU32Leb(this.#bytes, pos);
    const end = skipLeb32(this.#bytes, pos);
    const tail = op === Op.RETURN_CALL;
    for (const pass of this.#listeners.call) pass.call(callee, tail, start, end);
    const target = this.calls.target(this.#index, callee);
    if (target !== callee) this.#insertions.replace(start, end, callOf(target, op));
    const arity = this.#arities.ofFunction(callee);
    this.#called(arity >>> 16, arity & 0xffff, tail, end);
    return end;
  }

  #callUnknown(op: number, start: number, pos: number): number {
    const type = this.#module.types[readU32Leb(this.#bytes, pos)];
    if (type?.kind !== "func") throw new FormatError("malformed", start, "call", "no such function type");
    const end = skipImmediates(this.#bytes, pos, IMMEDIATE_KIND[op]);
    const tail = op === Op.RETURN_CALL_INDIRECT || op === Op.RETURN_CALL_REF;
    for (const pass of this.#listeners.call) pass.call(-1, tail, start, end);
    this.#called(1 + type.params.length, type.results.length, tail, end);
    return end;
  }

  #called(operands: number, results: number, tail: boolean, end: number): void {
    this.#blocks.called(tail, end);
    this.#stack.depth -= operands;
    this.#stack.pushUnknown(results, end);
  }

  #bulk(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const first = readU32Leb(bytes, pos);
    const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    const second = op === Op.MEMORY_FILL ? 0 : readU32Leb(bytes, skipLeb32(bytes, pos));
    const { bulkFunction } = this.#options;
    const replacement = bulkFunction(OPCODE_NAME[op] as OpcodeName, first, second, this.#part);
    if (replacement >= 0) {
      for (const pass of this.#listeners.bulk) pass.bulk(op, first, second, start, end);
      this.#insertions.replace(start, end, callOf(replacement));
    }
    this.#stack.depth -= 3;
    return end;
  }

  /** Lets a pass replace `global.set` by a call. The first pass that returns a function wins. */
  #setGlobal(global: number, start: number, end: number): void {
    for (const pass of this.#listeners.setGlobal) {
      const target = pass.setGlobal(global, start, end);
      if (target < 0) continue;
      this.#insertions.replace(start, end, callOf(target));
      return;
    }
  }
}

/** Action of the walk for an instruction. All instructions not named here only move operands. */
const Action = {
  Compute: 0,
  Access: 1,
  LocalGet: 2,
  Const: 3,
  LocalSet: 4,
  Arithmetic: 5,
  GlobalGet: 6,
  Plain: 7,
  Other: 8,
} as const;

const ACTION = new Uint8Array(IMMEDIATE_KIND.length);
for (let id = 0; id < ACTION.length; id++) {
  const access = ACCESS_KIND[id];
  const computes = IMMEDIATE_KIND[id] === ImmediateKind.None && PUSH_COUNT[id] === 1;
  ACTION[id] = computes ? Action.Compute : Action.Plain;
  if (IMMEDIATE_KIND[id] === UNKNOWN_OPCODE) ACTION[id] = Action.Other;
  else if (access !== AccessKind.None && access !== AccessKind.Notify) ACTION[id] = Action.Access;
  else if (POP_COUNT[id] < 0 || PUSH_COUNT[id] < 0) ACTION[id] = Action.Other;
}
function act(action: number, ...names: OpcodeName[]): void {
  for (const name of names) ACTION[opcodeId(name)] = action;
}
act(Action.LocalGet, "local.get");
act(Action.LocalSet, "local.set", "local.tee");
act(Action.GlobalGet, "global.get");
act(Action.Const, "i32.const", "i64.const");
act(Action.Arithmetic, "i32.add", "i32.sub", "i32.and", "i32.shl", "i32.mul", "i64.add", "i64.sub");
act(Action.Other, "unreachable", "return", "throw", "rethrow", "throw_ref", "br", "br_if", "br_table");
act(Action.Other, "memory.copy", "memory.fill", "memory.init", "br_on_null", "br_on_non_null");
act(Action.Other, "global.set", "memory.grow");
act(Action.Other, "br_on_cast", "br_on_cast_fail");
for (let id: number = Op.STRUCT_NEW; id <= Op.ARRAY_INIT_ELEM; id++) ACTION[id] = Action.Other;

/**
 * Pops the operands of an addition, subtraction, multiplication, shift or conjunction, and pushes the known facts of
 * its result: base and offset, a sum or product, or a stack address. `pos` is the offset after the instruction.
 */
function followArithmetic(op: number, pos: number, stack: OperandStack, values: ValueNumbers): void {
  const right = stack.depth - 1;
  const left = right - 1;
  stack.depth = left;
  const rightIsConstant = stack.value[right] === CONSTANT;
  if (op === Op.I32_AND) {
    // An aligned stack pointer is still a stack address.
    const aligned = rightIsConstant && values.classes[stack.value[left]] === ValueClass.Stack;
    stack.push(aligned ? values.fresh(ValueClass.Stack, NO_LOCAL) : 0, 0, pos, NO_LOCAL, 0);
    return;
  }
  if (op === Op.I32_SHL || op === Op.I32_MUL) {
    const constant = stack.offset[right];
    const factor = op === Op.I32_MUL ? constant : 1 << constant;
    if (rightIsConstant) {
      if (stack.value[left] === 0) stack.value[left] = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.push(values.product(stack, left, factor), 0, pos, NO_LOCAL, 0);
    } else stack.push(0, 0, pos, NO_LOCAL, 0);
    return;
  }
  const subtracts = op === Op.I32_SUB || op === Op.I64_SUB;
  if (rightIsConstant) {
    const base = stack.value[left] || values.fresh(ValueClass.Unknown, NO_LOCAL);
    const constant = subtracts ? -stack.offset[right] : stack.offset[right];
    stack.push(base, (stack.offset[left] + constant) | 0, pos, NO_LOCAL, 0);
  } else if (!subtracts && stack.value[left] === CONSTANT) {
    const base = stack.value[right] || values.fresh(ValueClass.Unknown, NO_LOCAL);
    stack.push(base, (stack.offset[right] + stack.offset[left]) | 0, pos, NO_LOCAL, 0);
  } else if (op === Op.I32_ADD && stack.value[left] !== 0 && stack.value[right] !== 0)
    stack.push(values.sum(stack, left), 0, pos, NO_LOCAL, 0);
  else stack.push(0, 0, pos, NO_LOCAL, 0);
}
