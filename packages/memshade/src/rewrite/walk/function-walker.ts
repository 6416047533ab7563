import { FormatError } from "../../bytes/errors.ts";
import { readS32Leb, readU32Leb, skipLeb32, skipLeb64 } from "../../bytes/leb128.ts";
import {
  functionCount,
  functionType,
  IMMEDIATE_KIND,
  ImmediateKind,
  OPCODE_NAME,
  type OpcodeName,
  opcodeIdAt,
  POP_COUNT,
  PUSH_COUNT,
  skipImmediates,
  UNKNOWN_OPCODE,
  unknownOpcode,
  type ValType,
  type WasmModule,
} from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";
import { armEnd } from "../facts/control-flow.ts";
import { forgetAssigned } from "../facts/loop-assignments.ts";
import type { ModuleScan } from "../facts/module-scan.ts";
import { type CodePart, follows, type ToolPass, type WalkState } from "../tool.ts";
import { InsertionKind, type Insertions, kindOfPass } from "../write/insertions.ts";
import { noTemporaries, type Temporaries } from "../write/temporaries.ts";
import { followArithmetic } from "./arithmetic.ts";
import { blockArity } from "./block-arity.ts";
import type { CallTargets } from "./call-targets.ts";
import { ControlStack } from "./control-stack.ts";
import { readDisplacement, skipDisplacement } from "./displacements.ts";
import { ACTION } from "./instruction-actions.ts";
import { Listeners } from "./listeners.ts";
import { NO_LOCAL, OperandStack } from "./operand-stack.ts";
import { CONSTANT, ValueClass, ValueNumbers } from "./value-numbers.ts";

export interface WalkOptions {
  /** The memory that is followed, and whether its addresses are i64. */
  memory: number;
  memory64: boolean;
  /** Global that holds the stack pointer, −1 if none is known. */
  stackPointer: number;
  /** The passes of the tools, in the order of their insertion kinds. */
  passes: readonly ToolPass[];
  /** Functions may get other types: code that nothing reaches, which is not looked at, would not fit them. */
  dropsUnreachable: boolean;
  /** Function to call instead of a bulk memory instruction, −1 to leave it alone; `part`: whose code it is. */
  bulkFunction(instruction: OpcodeName, first: number, second: number, part: CodePart): number;
}

/** A function body to walk. */
export interface WalkedFunction {
  index: number;
  /** Its instructions are at `[codeStart, end)`. */
  codeStart: number;
  end: number;
  /** Types of its parameters and locals. */
  locals: ArrayLike<ValType>;
  hasLoops: boolean;
  /** Says which tools follow it. */
  part: CodePart;
}

/**
 * Walks function bodies once each, simulates the operand stack and value numbers, and tells the tools' passes what
 * happens; they ask for insertions. What no tool decides, it asks for itself: calls of functions that were moved.
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
  readonly #scan: ModuleScan;
  readonly #arities: Uint32Array;
  /** Whether some tool follows the allocator's own code. */
  readonly followsAllocator: boolean;
  /** Globals that some tool follows. */
  readonly followedGlobals: ReadonlySet<number>;
  /** Those that follow a part of the code. */
  readonly #listenersOf: Readonly<Record<CodePart, Listeners>>;
  readonly #state: WalkState;

  // The function being walked, and where the walk is in it.
  #index = 0;
  #end = 0;
  #part: CodePart = "program";
  #listeners: Listeners;
  /** Number of the block that opens next. */
  #nextBlock = 0;
  #unreachable = false;

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
    this.#scan = scan;
    this.#arities = new Uint32Array(functionCount(module));
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
  }

  /** Walks a function. Returns what the writer must add to its locals. */
  walk(walked: WalkedFunction): Temporaries {
    this.#begin(walked);
    this.#walk(walked.codeStart, walked.end);
    for (const tool of this.#listeners.end) tool.end();
    return this.#state.temporaries;
  }

  #begin({ index, codeStart, end, locals, hasLoops, part }: WalkedFunction): void {
    this.#index = index;
    this.#end = end;
    this.#part = part;
    this.#listeners = this.#listenersOf[part];
    this.#values.reset(locals.length);
    this.#stack.depth = 0;
    this.#control.top = -1;
    this.#control.enter(Op.BLOCK, codeStart, 0, 0, functionType(this.#module, index).results.length, 0);
    this.#nextBlock = this.#scan.control.first[index - this.#module.importedFunctionCount];
    this.#unreachable = false;
    const state = this.#state;
    state.function = index;
    state.locals = locals;
    state.temporaries = noTemporaries();
    state.hasLoops = hasLoops;
    state.openLoops = 0;
    const { passes } = this.#options;
    for (const pass of this.#listeners.passes) pass.begin(state, kindOfPass(passes.indexOf(pass)), codeStart);
  }

  /** The instructions that are most of all code; the others are for `#step`, so that this loop stays small. */
  #walk(codeStart: number, end: number): void {
    const bytes = this.#bytes;
    const values = this.#values;
    const stack = this.#stack;
    const { access: accessed, assignInLoop: assigned } = this.#listeners;
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
          if (this.#state.openLoops > 0)
            for (let i = 0; i < assigned.length; i++) assigned[i].assignInLoop(x, top);
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
          // Plain: whatever only moves operands
          pos = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
          stack.depth -= POP_COUNT[op];
          stack.pushUnknown(PUSH_COUNT[op], pos);
          continue;
        }
        default:
          pos = this.#step(op, start, pos);
          if (this.#unreachable) {
            const from = pos;
            pos = this.#skipUnreachable(pos);
            if (this.#options.dropsUnreachable && pos > from)
              this.#insertions.add(from, InsertionKind.Drop, pos - from);
          }
      }
    }
  }

  /**
   * Where the instruction is that ends code which nothing reaches. Its operand stack is polymorphic: only the nesting
   * matters.
   */
  #skipUnreachable(from: number): number {
    const { control: flow } = this.#scan;
    const block = this.#control.block[this.#control.top];
    // The function's body ends with an `end` of its own.
    const to = block < 0 ? this.#end - 1 : armEnd(flow, block, from);
    const last = flow.first[this.#index - this.#module.importedFunctionCount + 1];
    while (this.#nextBlock < last && flow.start[this.#nextBlock] < to) this.#nextBlock++;
    return to;
  }

  /** An instruction with control flow or an effect of its own; `pos` is behind its opcode. Returns the offset behind it. */
  #step(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    switch (op) {
      case Op.BLOCK:
      case Op.LOOP:
      case Op.IF:
      case Op.TRY:
      case Op.TRY_TABLE:
        return this.#open(op, start, pos);
      case Op.ELSE:
      case Op.CATCH:
      case Op.CATCH_ALL:
        return this.#otherArm(op, start, pos);
      case Op.END:
      case Op.DELEGATE:
        return this.#close(op, start, pos);
      case Op.BR:
      case Op.BR_IF:
      case Op.BR_ON_NULL:
      case Op.BR_ON_NON_NULL:
      case Op.BR_ON_CAST:
      case Op.BR_ON_CAST_FAIL:
        return this.#branch(op, start, pos);
      case Op.BR_TABLE:
        return this.#branchTable(start, pos);
      case Op.UNREACHABLE:
      case Op.RETURN:
      case Op.THROW:
      case Op.RETHROW:
      case Op.THROW_REF:
        for (const tool of this.#listeners.leave) tool.leave(start, op);
        this.#control.notOneBlock();
        if (op !== Op.UNREACHABLE) this.#control.mayLeave();
        this.#unreachable = true;
        return skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
      case Op.CALL:
      case Op.RETURN_CALL:
        return this.#call(op, start, pos);
      case Op.CALL_INDIRECT:
      case Op.RETURN_CALL_INDIRECT:
      case Op.CALL_REF:
      case Op.RETURN_CALL_REF:
        return this.#callUnknown(op, start, pos);
      case Op.STRUCT_NEW: {
        const type = this.#module.types[readU32Leb(bytes, pos)];
        const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
        stack.depth -= type?.kind === "struct" ? type.fields.length : 0;
        stack.pushUnknown(1, end);
        return end;
      }
      case Op.ARRAY_NEW_FIXED: {
        const count = readU32Leb(bytes, skipLeb32(bytes, pos));
        const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
        stack.depth -= count;
        stack.pushUnknown(1, end);
        return end;
      }
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
        for (const tool of this.#listeners.grow) tool.grow(readU32Leb(bytes, pos), start, end);
        return end;
      }
      case Op.MEMORY_COPY:
      case Op.MEMORY_FILL:
      case Op.MEMORY_INIT:
        return this.#bulk(op, start, pos);
      default:
        if (IMMEDIATE_KIND[op] === UNKNOWN_OPCODE) throw unknownOpcode(bytes, start);
        throw new FormatError("unsupported", start, "instruction", `${OPCODE_NAME[op]} is not supported`);
    }
  }

  #endBlock(position: number): void {
    for (const tool of this.#listeners.endBlock) tool.endBlock(position);
  }

  #open(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const control = this.#control;
    const arity = blockArity(this.#module, pos);
    const params = arity >>> 16;
    if (op === Op.TRY_TABLE) this.#targetCatches(pos);
    const body = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    if (op === Op.IF) stack.depth--;
    for (const tool of this.#listeners.enterBlock) tool.enterBlock(start);
    if (op !== Op.BLOCK) this.#endBlock(start);
    control.notOneBlock();
    control.enter(op, start, stack.depth - params, params, arity & 0xffff, this.#values.time);
    control.block[control.top] = this.#nextBlock++;
    if (op === Op.LOOP) this.#enterLoop(start, body, params);
    if (params > 0) {
      stack.depth -= params;
      stack.pushUnknown(params, body);
    }
    return body;
  }

  #enterLoop(start: number, body: number, params: number): void {
    const values = this.#values;
    const control = this.#control;
    const { top } = control;
    const loop = this.#scan.control.loop[control.block[top]];
    this.#state.loop = loop;
    forgetAssigned(this.#scan, loop, values);
    this.#state.openLoops++;
    control.loopStart[top] = start;
    control.loopBody[top] = body;
    // Loops over 64-bit addresses are not followed as a whole.
    control.oneBlock[top] = params === 0 && !this.#options.memory64 ? 1 : 0;
    for (const tool of this.#listeners.enterLoop) tool.enterLoop(body);
    control.loopValues[top] = values.last;
  }

  /** `else` or `catch`: the block's arm ends, and another one begins. */
  #otherArm(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const control = this.#control;
    const { top } = control;
    this.#joinPaths(start);
    control.opcode[top] = op;
    stack.depth = control.height[top];
    this.#unreachable = false;
    const end = op === Op.CATCH ? skipLeb32(bytes, pos) : pos;
    if (op === Op.CATCH) stack.pushUnknown(this.#tagParams(readU32Leb(bytes, pos)), end);
    else if (op === Op.ELSE) stack.pushUnknown(control.params[top], end);
    if (op !== Op.ELSE) for (const tool of this.#listeners.caught) tool.caught(end);
    return end;
  }

  /** A block ends at `position`; what follows may be reached past everything since the innermost one began. */
  #joinPaths(position: number): void {
    const control = this.#control;
    const { top } = control;
    this.#values.forgetSince(control.startTime[top]);
    this.#endBlock(position);
    for (const tool of this.#listeners.merge) tool.merge(control.start[top]);
  }

  #close(op: number, start: number, pos: number): number {
    const stack = this.#stack;
    const control = this.#control;
    const listeners = this.#listeners;
    const end = op === Op.DELEGATE ? skipImmediates(this.#bytes, pos, IMMEDIATE_KIND[op]) : pos;
    const { top } = control;
    const opened = control.opcode[top];
    const isLoop = opened === Op.LOOP;
    const reached = !this.#unreachable;
    const fallsThrough = reached && (isLoop || (opened === Op.BLOCK && control.targeted[top] === 0));
    if (isLoop) {
      const oneBlock = reached && control.oneBlock[top] === 1;
      for (const tool of listeners.leaveLoop) tool.leaveLoop(start, end, oneBlock, reached);
    }
    for (const tool of listeners.leaveBlock) tool.leaveBlock(end);
    if (!fallsThrough) {
      this.#joinPaths(start);
      stack.depth = control.height[top];
      stack.pushUnknown(control.results[top], end);
      if (top > 0) for (const tool of listeners.caught) tool.caught(end);
    }
    if (control.isPassed() && top > 0 && (isLoop || WITHOUT_CATCH.has(opened)))
      for (const tool of listeners.passBlock) tool.passBlock();
    if (top === 0 && reached) for (const tool of listeners.leave) tool.leave(start, op);
    this.#unreachable = false;
    if (isLoop) this.#state.openLoops--;
    control.top--;
    return control.top < 0 ? this.#end : end;
  }

  /** A branch with one label, always or sometimes taken. */
  #branch(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const isCast = op === Op.BR_ON_CAST || op === Op.BR_ON_CAST_FAIL;
    const label = readU32Leb(bytes, isCast ? pos + 1 : pos);
    const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    this.#mayLeave(label, start, op);
    this.#branchTo(label, start, op === Op.BR);
    if (op === Op.BR) {
      this.#control.notOneBlock();
      this.#unreachable = true;
      return end;
    }
    stack.depth--;
    if (isCast || op === Op.BR_ON_NULL) stack.pushUnknown(1, end);
    this.#endBlock(end);
    // A loop of one block has one branch: its last instruction, back to the header.
    if (op !== Op.BR_IF || label !== 0 || bytes[end] !== Op.END) this.#control.notOneBlock();
    return end;
  }

  #branchTable(start: number, pos: number): number {
    const bytes = this.#bytes;
    const count = readU32Leb(bytes, pos);
    let at = skipLeb32(bytes, pos);
    let outermost = 0;
    for (let i = 0; i <= count; i++) {
      const label = readU32Leb(bytes, at);
      if (label > outermost) outermost = label;
      this.#branchTo(label, start, false);
      at = skipLeb32(bytes, at);
    }
    this.#mayLeave(outermost, start, Op.BR_TABLE);
    this.#control.notOneBlock();
    this.#unreachable = true;
    return at;
  }

  /** The instruction at `start` branches `label` levels out, always or sometimes. */
  #branchTo(label: number, start: number, always: boolean): void {
    const control = this.#control;
    control.branch(label);
    for (const tool of this.#listeners.branchTo) tool.branchTo(control.top - label, start, always);
  }

  /** A branch `label` levels out at `start`. */
  #mayLeave(label: number, start: number, op: number): void {
    if (label === this.#control.top) for (const tool of this.#listeners.leave) tool.leave(start, op);
  }

  #call(op: number, start: number, pos: number): number {
    const callee = readU32Leb(this.#bytes, pos);
    const end = skipLeb32(this.#bytes, pos);
    const tail = op === Op.RETURN_CALL;
    for (const tool of this.#listeners.call) tool.call(callee, tail, start, end);
    const target = this.calls.target(this.#index, callee);
    if (target !== callee) {
      const replacement = tail ? InsertionKind.ReplaceByTailCall : InsertionKind.ReplaceByCall;
      this.#insertions.add(start, replacement, end - start, target);
    }
    const arity = this.#arityOf(callee);
    this.#called(arity >>> 16, arity & 0xffff, tail, end);
    return end;
  }

  /** A call through a table or a reference. */
  #callUnknown(op: number, start: number, pos: number): number {
    const type = this.#module.types[readU32Leb(this.#bytes, pos)];
    if (type?.kind !== "func") throw new FormatError("malformed", start, "call", "no such function type");
    const end = skipImmediates(this.#bytes, pos, IMMEDIATE_KIND[op]);
    const tail = op === Op.RETURN_CALL_INDIRECT || op === Op.RETURN_CALL_REF;
    for (const tool of this.#listeners.call) tool.call(-1, tail, start, end);
    this.#called(1 + type.params.length, type.results.length, tail, end);
    return end;
  }

  /** A call that ends at `end` takes so many operands and leaves so many results. */
  #called(operands: number, results: number, tail: boolean, end: number): void {
    this.#endBlock(end);
    this.#stack.depth -= operands;
    this.#stack.pushUnknown(results, end);
    this.#unreachable = tail;
    this.#control.mayLeave();
    this.#control.notOneBlock();
  }

  #bulk(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const first = readU32Leb(bytes, pos);
    const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    const second = op === Op.MEMORY_FILL ? 0 : readU32Leb(bytes, skipLeb32(bytes, pos));
    const { bulkFunction } = this.#options;
    const replacement = bulkFunction(OPCODE_NAME[op] as OpcodeName, first, second, this.#part);
    if (replacement >= 0) {
      for (const tool of this.#listeners.bulk) tool.bulk(op, first, second, start, end);
      this.#insertions.add(start, InsertionKind.ReplaceByCall, end - start, replacement);
    }
    this.#stack.depth -= 3;
    return end;
  }

  /** A tool may want a function to set the global; only the first one can have it. */
  #setGlobal(global: number, start: number, end: number): void {
    for (const tool of this.#listeners.setGlobal) {
      const target = tool.setGlobal(global, start, end);
      if (target < 0) continue;
      this.#insertions.add(start, InsertionKind.ReplaceByCall, end - start, target);
      return;
    }
  }

  /** Parameters × 65,536 + results of a function, looked up once. */
  #arityOf(index: number): number {
    const known = this.#arities[index];
    if (known !== 0) return known - 1;
    const { params, results } = functionType(this.#module, index);
    const arity = params.length * 0x10000 + results.length;
    this.#arities[index] = arity + 1;
    return arity;
  }

  #tagParams(tag: number): number {
    const module = this.#module;
    let imported = -1;
    for (const entry of module.imports) {
      if (entry.kind !== "tag" || ++imported !== tag) continue;
      return paramCount(module, entry.typeIndex);
    }
    return paramCount(module, module.tags[tag - module.importedTagCount]?.typeIndex ?? -1);
  }

  /** Catch clauses branch out of the block: block type, count, then (kind, [tag], label) each. */
  #targetCatches(pos: number): void {
    const bytes = this.#bytes;
    let at = skipImmediates(bytes, pos, ImmediateKind.BlockType);
    const count = readU32Leb(bytes, at);
    at = skipLeb32(bytes, at);
    for (let i = 0; i < count; i++) {
      const withTag = bytes[at++] < 2;
      if (withTag) at = skipLeb32(bytes, at);
      this.#control.branch(readU32Leb(bytes, at));
      at = skipLeb32(bytes, at);
    }
  }
}

/** Opcodes of blocks, or of their last arms, into which no exception leads. */
const WITHOUT_CATCH: ReadonlySet<number> = new Set([Op.BLOCK, Op.IF, Op.ELSE]);

function paramCount(module: WasmModule, typeIndex: number): number {
  const type = module.types[typeIndex];
  return type?.kind === "func" ? type.params.length : 0;
}
