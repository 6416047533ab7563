import { FormatError } from "../../bytes/errors.ts";
import { readS32Leb, readU32Leb, skipLeb32, skipLeb64 } from "../../bytes/leb128.ts";
import { type CallPlan, CallTreatment } from "../../contexts/call-plan.ts";
import { CounterGroups } from "../../tools/heap/pass/counter-groups.ts";
import { LoopAccumulators } from "../../tools/heap/pass/loop-accumulators.ts";
import { LoopSummary } from "../../tools/heap/pass/loop-summary.ts";
import { PointerRoots } from "../../tools/heap/pass/pointer-roots.ts";
import {
  ACCESS_KIND,
  AccessKind,
  functionCount,
  functionType,
  I32,
  IMMEDIATE_KIND,
  ImmediateKind,
  OPCODE_NAME,
  type OpcodeName,
  opcodeIdAt,
  POP_COUNT,
  PUSH_COUNT,
  skipImmediates,
  skipOpcode,
  UNKNOWN_OPCODE,
  unknownOpcode,
  type ValType,
  type WasmModule,
} from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";
import { forgetAssigned } from "../facts/loop-assignments.ts";
import type { ModuleScan } from "../facts/module-scan.ts";
import { type CodePart, follows, type ToolPass, type WalkState } from "../tool.ts";
import { InsertionKind, type Insertions } from "../write/insertions.ts";
import { extraLocal, noTemporaries, type Temporaries } from "../write/temporaries.ts";
import { followArithmetic } from "./arithmetic.ts";
import { blockArity } from "./block-arity.ts";
import { ControlStack } from "./control-stack.ts";
import { readDisplacement, skipDisplacement } from "./displacements.ts";
import { ACTION } from "./instruction-actions.ts";
import { NO_LOCAL, OperandStack } from "./operand-stack.ts";
import { CONSTANT, ValueClass, ValueNumbers } from "./value-numbers.ts";

export interface WalkOptions {
  /** The memory whose accesses are counted, and whether its addresses are i64. */
  memory: number;
  memory64: boolean;
  /** Global that holds the stack pointer, −1 if none is known. */
  stackPointer: number;
  /** Share counters at identical addresses only. */
  exact: boolean;
  /** Count stack and static addresses too. */
  includeStack: boolean;
  /** Insert the heap profiler's access counters. */
  counts: boolean;
  /** Tools that insert something too. */
  tools: readonly ToolPass[];
  /** Functions may get other types: code that nothing reaches, which is not looked at, would not fit them. */
  dropsUnreachable: boolean;
  /** Function to call instead of a bulk memory instruction, −1 to leave it alone; `part`: whose code it is. */
  bulkFunction(instruction: OpcodeName, first: number, second: number, part: CodePart): number;
}

/**
 * Walks function bodies once each, simulates the operand stack and value numbers, and lets the passes ask for
 * insertions: counters for accesses, frames around calls, replacements of bulk memory instructions.
 */
export class FunctionWalker {
  readonly #module: WasmModule;
  readonly #bytes: Uint8Array;
  readonly #insertions: Insertions;
  readonly calls: CallPlan;
  readonly #options: WalkOptions;
  readonly #values = new ValueNumbers();
  readonly #stack = new OperandStack();
  readonly #control = new ControlStack();
  readonly #counters: CounterGroups;
  readonly #loops: LoopSummary;
  readonly #roots: PointerRoots;
  readonly #accumulators: LoopAccumulators;
  readonly #scan: ModuleScan;
  readonly #arities: Uint32Array;
  readonly #tools: readonly ToolPass[];
  /** Whether some tool follows the allocator's own code. */
  readonly followsAllocator: boolean;
  /** Globals that some tool follows. */
  readonly followedGlobals: ReadonlySet<number>;
  /** Those that follow a part of the code. */
  readonly #toolsOf: Readonly<Record<CodePart, readonly ToolPass[]>>;
  readonly #state: WalkState;

  // The function being walked, and where the walk is in it.
  #index = 0;
  #end = 0;
  #part: CodePart = "program";
  #counts = false;
  #summarizes = false;
  /** Whether counters in loops may be gathered in locals. */
  #gathers = false;
  /** Last value numbers given before each of the open loops, innermost last. */
  readonly #valuesAtHeaders: number[] = [];
  #valuesAtHeader = 0;
  /** In a function with loops, what stands outside of them runs rarely. (64-bit addresses have no counting function.) */
  #outlines = false;
  /** Undefined where no tool listens: the heap profiler alone pays one comparison per access. */
  #listening: readonly ToolPass[] | undefined;
  #temporaries: Temporaries = noTemporaries();
  #prologue = -1;
  #openLoops = 0;
  #loopNumber = 0;
  #unreachable = false;

  constructor(
    module: WasmModule,
    scan: ModuleScan,
    insertions: Insertions,
    calls: CallPlan,
    options: WalkOptions,
  ) {
    this.#module = module;
    this.#bytes = module.bytes;
    this.#insertions = insertions;
    this.calls = calls;
    this.#options = options;
    this.#counters = new CounterGroups(insertions, this.#values, options.exact, options.includeStack);
    this.#loops = new LoopSummary(insertions, this.#counters, this.#values);
    this.#roots = new PointerRoots(this.#values);
    this.#accumulators = new LoopAccumulators(insertions, this.#counters, this.#roots);
    this.#scan = scan;
    this.#arities = new Uint32Array(functionCount(module));
    this.#tools = options.tools;
    const toolsOf = (part: CodePart) => options.tools.filter((tool) => follows(tool, part));
    this.#toolsOf = {
      program: options.tools,
      wrapper: toolsOf("wrapper"),
      allocator: toolsOf("allocator"),
    };
    this.followsAllocator = this.#toolsOf.allocator.length > 0;
    const globals = this.#tools.map(({ followedGlobal = -1 }) => followedGlobal);
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

  /**
   * Walks the instructions of `[codeStart, end)` in function `index`, whose parameters and locals have the types
   * `locals`; `part` says which tools follow it. Returns what the writer must add to the function's locals.
   */
  walk(
    index: number,
    codeStart: number,
    end: number,
    locals: ArrayLike<ValType>,
    hasLoops: boolean,
    part: CodePart,
  ): Temporaries {
    this.#begin(index, codeStart, end, locals, hasLoops, part);
    this.#walk(codeStart, end);
    if (this.#gathers) this.#accumulators.finish(this.#temporaries);
    const tools = this.#listening;
    const temporaries = this.#temporaries;
    if (tools !== undefined) for (const tool of tools) tool.end();
    if (this.#prologue >= 0 && !temporaries.frame) this.#insertions.kind[this.#prologue] = InsertionKind.None;
    return temporaries;
  }

  #begin(
    index: number,
    codeStart: number,
    end: number,
    locals: ArrayLike<ValType>,
    hasLoops: boolean,
    part: CodePart,
  ): void {
    const options = this.#options;
    this.#index = index;
    this.#end = end;
    this.#part = part;
    this.#temporaries = noTemporaries();
    const listening = this.#toolsOf[part];
    this.#listening = listening.length > 0 ? listening : undefined;
    this.#values.reset(locals.length);
    this.#counters.reset();
    this.#stack.depth = 0;
    this.#control.top = -1;
    this.#control.enter(Op.BLOCK, codeStart, 0, 0, functionType(this.#module, index).results.length, 0);
    this.#counts = part === "program" && options.counts;
    this.#summarizes = hasLoops && (this.#counts || this.#listening !== undefined) && !options.memory64;
    this.#gathers = hasLoops && this.#counts && !options.memory64 && !options.exact;
    if (this.#gathers) {
      this.#valuesAtHeaders.length = 0;
      this.#roots.reset(locals.length);
      this.#accumulators.reset();
    }
    this.#loops.locals = locals;
    this.#prologue = this.calls.hasFrames(index)
      ? this.#insertions.add(codeStart, InsertionKind.Prologue)
      : -1;
    if (this.#listening !== undefined)
      this.#beginTools(this.#listening, index, codeStart, locals, hasLoops, this.#temporaries);
    this.#outlines = hasLoops && !options.memory64;
    this.#counters.cold = this.#outlines;
    this.#openLoops = 0;
    this.#loopNumber = this.#scan.firstLoop[index - this.#module.importedFunctionCount];
    this.#unreachable = false;
  }

  /** The instructions that are most of all code; the others are for `#step`, so that this loop stays small. */
  #walk(codeStart: number, end: number): void {
    const bytes = this.#bytes;
    const values = this.#values;
    const stack = this.#stack;
    const counters = this.#counters;
    const temporaries = this.#temporaries;
    const tools = this.#listening;
    const counts = this.#counts;
    const { memory: countedMemory, stackPointer } = this.#options;
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
          if (memory === countedMemory) {
            if (counts) {
              const reads = ACCESS_KIND[op] === AccessKind.Store ? 0 : 1;
              counters.count(stack, address, displacement, reads, op, start, pos, temporaries);
            }
            if (tools !== undefined)
              for (const tool of tools) tool.access(op, address, displacement, start, pos);
          }
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
          if (this.#gathers && this.#openLoops > 0)
            this.#roots.assigned(x, stack.value[top], this.#valuesAtHeader);
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
            pos = this.#skipUnreachable(pos, end);
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
  #skipUnreachable(from: number, end: number): number {
    const bytes = this.#bytes;
    let depth = 0;
    let pos = from;
    while (pos < end) {
      const op = opcodeIdAt(bytes, pos);
      if (op === Op.END || op === Op.DELEGATE) {
        if (depth-- === 0) return pos;
      } else if (op === Op.ELSE || op === Op.CATCH || op === Op.CATCH_ALL) {
        if (depth === 0) return pos;
      } else if (op === Op.BLOCK || op === Op.LOOP || op === Op.IF || op === Op.TRY || op === Op.TRY_TABLE) {
        depth++;
        if (op === Op.LOOP) this.#loopNumber++;
      }
      pos = skipImmediates(bytes, skipOpcode(bytes, pos), IMMEDIATE_KIND[op]);
    }
    return pos;
  }

  /** An instruction with control flow or an effect of its own; `pos` is behind its opcode. Returns the offset behind it. */
  #step(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const module = this.#module;
    const values = this.#values;
    const stack = this.#stack;
    const control = this.#control;
    const counters = this.#counters;
    const options = this.#options;
    const temporaries = this.#temporaries;
    const tools = this.#listening;
    const kind = IMMEDIATE_KIND[op];
    switch (op) {
      case Op.BLOCK:
      case Op.LOOP:
      case Op.IF:
      case Op.TRY:
      case Op.TRY_TABLE: {
        const arity = blockArity(module, pos);
        const params = arity >>> 16;
        if (op === Op.TRY_TABLE) this.#targetCatches(pos);
        pos = skipImmediates(bytes, pos, kind);
        if (op === Op.TRY || op === Op.TRY_TABLE)
          if (tools !== undefined) for (const tool of tools) tool.branch?.(start, pos);
        if (op === Op.IF) stack.depth--;
        const before = counters.stretch;
        if (op !== Op.BLOCK) {
          counters.endBlock();
          if (tools !== undefined) for (const tool of tools) tool.endBlock(start);
        }
        control.notOneBlock();
        control.enter(op, start, stack.depth - params, params, arity & 0xffff, values.time);
        control.stretch[control.top] = before;
        control.groups[control.top] = counters.length;
        if (op === Op.LOOP) {
          const top = control.top;
          this.#state.loop = this.#loopNumber;
          forgetAssigned(this.#scan, this.#loopNumber++, values);
          this.#openLoops++;
          if (tools !== undefined) {
            this.#state.openLoops = this.#openLoops;
            for (const tool of tools) tool.enterLoop(pos);
          }
          counters.cold = false;
          control.loopStart[top] = start;
          control.loopBody[top] = pos;
          control.loopValues[top] = values.last;
          if (this.#gathers) {
            this.#valuesAtHeaders.push(values.last);
            this.#valuesAtHeader = values.last;
            this.#accumulators.enterLoop(control);
          }
          if (this.#summarizes && params === 0) control.firstCounter[top] = counters.length;
        }
        if (params > 0) {
          stack.depth -= params;
          stack.pushUnknown(params, pos);
        }
        return pos;
      }
      case Op.ELSE:
      case Op.CATCH:
      case Op.CATCH_ALL: {
        const top = control.top;
        values.forgetSince(control.startTime[top]);
        counters.endBlock();
        if (tools !== undefined) joinPaths(tools, start, control.start[top]);
        control.opcode[top] = op;
        stack.depth = control.height[top];
        this.#unreachable = false;
        if (op === Op.CATCH) {
          const tag = readU32Leb(bytes, pos);
          pos = skipLeb32(bytes, pos);
          stack.pushUnknown(this.#tagParams(tag), pos);
        } else if (op === Op.ELSE) stack.pushUnknown(control.params[top], pos);
        if (op !== Op.ELSE && tools !== undefined) for (const tool of tools) tool.caught?.(pos);
        return pos;
      }
      case Op.END:
      case Op.DELEGATE: {
        if (op === Op.DELEGATE) pos = skipImmediates(bytes, pos, kind);
        const top = control.top;
        const opened = control.opcode[top];
        const fallsThrough =
          !this.#unreachable && (opened === Op.LOOP || (opened === Op.BLOCK && control.targeted[top] === 0));
        if (opened === Op.LOOP) {
          const oneBlock = !this.#unreachable && control.firstCounter[top] >= 0;
          if (oneBlock) {
            if (this.#counts) this.#loops.summarize(control, pos, temporaries);
            // What follows must not join a counter that has just left the loop.
            counters.endBlock();
          }
          if (this.#gathers) {
            this.#accumulators.leaveLoop(control, pos, !this.#unreachable, this.#openLoops === 1);
            this.#valuesAtHeaders.pop();
            this.#valuesAtHeader = this.#valuesAtHeaders.at(-1) ?? 0;
          }
          if (tools !== undefined) for (const tool of tools) tool.leaveLoop?.(start, pos, oneBlock);
        }
        if (this.#gathers) this.#accumulators.leaveBlock(top, pos);
        if (!fallsThrough) {
          values.forgetSince(control.startTime[top]);
          counters.endBlock();
          if (tools !== undefined) joinPaths(tools, start, control.start[top]);
          stack.depth = control.height[top];
          stack.pushUnknown(control.results[top], pos);
          if (top > 0 && tools !== undefined) for (const tool of tools) tool.caught?.(pos);
        }
        const passed = control.isPassed();
        if (
          passed &&
          top > 0 &&
          (opened === Op.BLOCK || opened === Op.LOOP || opened === Op.IF || opened === Op.ELSE)
        )
          counters.resume(control.stretch[top], control.groups[top]);
        if (top === 0 && tools !== undefined && !this.#unreachable)
          for (const tool of tools) tool.leave?.(start);
        this.#unreachable = false;
        if (opened === Op.LOOP) {
          if (--this.#openLoops === 0) counters.cold = this.#outlines;
          this.#state.openLoops = this.#openLoops;
        }
        control.top--;
        return control.top < 0 ? this.#end : pos;
      }
      case Op.BR:
        if (tools !== undefined) this.#mayLeave(tools, readU32Leb(bytes, pos), start);
        this.#branch(readU32Leb(bytes, pos), start, true);
        pos = skipLeb32(bytes, pos);
        if (tools !== undefined) for (const tool of tools) tool.branch?.(start, pos);
        control.notOneBlock();
        this.#unreachable = true;
        return pos;
      case Op.BR_IF: {
        const label = readU32Leb(bytes, pos);
        if (tools !== undefined) this.#mayLeave(tools, label, start);
        this.#branch(label, start, false);
        pos = skipLeb32(bytes, pos);
        if (tools !== undefined) for (const tool of tools) tool.branch?.(start, pos);
        stack.depth--;
        counters.endBlock();
        if (tools !== undefined) for (const tool of tools) tool.endBlock(pos);
        // A loop of one block has one branch: its last instruction, back to the header.
        if (label !== 0 || bytes[pos] !== Op.END) control.notOneBlock();
        return pos;
      }
      case Op.BR_TABLE: {
        const count = readU32Leb(bytes, pos);
        pos = skipLeb32(bytes, pos);
        let outermost = 0;
        for (let i = 0; i <= count; i++) {
          const label = readU32Leb(bytes, pos);
          if (label > outermost) outermost = label;
          this.#branch(label, start, false);
          pos = skipLeb32(bytes, pos);
        }
        if (tools !== undefined) {
          this.#mayLeave(tools, outermost, start);
          for (const tool of tools) tool.branch?.(start, pos);
        }
        control.notOneBlock();
        this.#unreachable = true;
        return pos;
      }
      case Op.BR_ON_NULL:
      case Op.BR_ON_NON_NULL:
        if (tools !== undefined) this.#mayLeave(tools, readU32Leb(bytes, pos), start);
        this.#branch(readU32Leb(bytes, pos), start, false);
        pos = skipLeb32(bytes, pos);
        stack.depth--;
        if (tools !== undefined) for (const tool of tools) tool.branch?.(start, pos);
        if (op === Op.BR_ON_NULL) stack.pushUnknown(1, pos);
        counters.endBlock();
        if (tools !== undefined) for (const tool of tools) tool.endBlock(pos);
        control.notOneBlock();
        return pos;
      case Op.BR_ON_CAST:
      case Op.BR_ON_CAST_FAIL:
        if (tools !== undefined) this.#mayLeave(tools, readU32Leb(bytes, pos + 1), start);
        this.#branch(readU32Leb(bytes, pos + 1), start, false);
        pos = skipImmediates(bytes, pos, kind);
        if (tools !== undefined) for (const tool of tools) tool.branch?.(start, pos);
        stack.depth--;
        stack.pushUnknown(1, pos);
        counters.endBlock();
        if (tools !== undefined) for (const tool of tools) tool.endBlock(pos);
        control.notOneBlock();
        return pos;
      case Op.UNREACHABLE:
      case Op.RETURN:
      case Op.THROW:
      case Op.RETHROW:
      case Op.THROW_REF:
        pos = skipImmediates(bytes, pos, kind);
        if (tools !== undefined) for (const tool of tools) tool.leave?.(start);
        control.notOneBlock();
        if (op !== Op.UNREACHABLE) control.mayLeave();
        if (this.#openLoops > 0 && this.#gathers) {
          if (op === Op.RETURN) this.#accumulators.leaveFunction(start);
          else if (op !== Op.UNREACHABLE) this.#accumulators.obstacle();
        }
        this.#unreachable = true;
        return pos;
      case Op.CALL:
      case Op.RETURN_CALL: {
        const callee = readU32Leb(bytes, pos);
        pos = skipLeb32(bytes, pos);
        this.#frame(this.#index, callee, op === Op.RETURN_CALL, start, pos, temporaries);
        const target = this.calls.target(this.#index, callee);
        if (tools !== undefined)
          for (const tool of tools) {
            tool.call(callee, op === Op.RETURN_CALL, start, pos);
            tool.endBlock(pos);
          }
        if (target !== callee) {
          const replacement = op === Op.CALL ? InsertionKind.ReplaceByCall : InsertionKind.ReplaceByTailCall;
          this.#insertions.add(start, replacement, pos - start, target);
        }
        const arity = this.#arityOf(callee);
        stack.depth -= arity >>> 16;
        stack.pushUnknown(arity & 0xffff, pos);
        this.#unreachable = op === Op.RETURN_CALL;
        this.#accumulators.obstacle();
        control.mayLeave();
        counters.endBlock();
        control.notOneBlock();
        return pos;
      }
      case Op.CALL_INDIRECT:
      case Op.RETURN_CALL_INDIRECT:
      case Op.CALL_REF:
      case Op.RETURN_CALL_REF: {
        const type = module.types[readU32Leb(bytes, pos)];
        if (type?.kind !== "func") throw new FormatError("malformed", start, "call", "no such function type");
        pos = skipImmediates(bytes, pos, kind);
        const tail = op === Op.RETURN_CALL_INDIRECT || op === Op.RETURN_CALL_REF;
        this.#frame(this.#index, -1, tail, start, pos, temporaries);
        if (tools !== undefined)
          for (const tool of tools) {
            tool.call(-1, tail, start, pos);
            tool.endBlock(pos);
          }
        stack.depth -= 1 + type.params.length;
        stack.pushUnknown(type.results.length, pos);
        this.#unreachable = tail;
        this.#accumulators.obstacle();
        control.mayLeave();
        counters.endBlock();
        control.notOneBlock();
        return pos;
      }
      case Op.STRUCT_NEW: {
        const type = module.types[readU32Leb(bytes, pos)];
        pos = skipImmediates(bytes, pos, kind);
        stack.depth -= type?.kind === "struct" ? type.fields.length : 0;
        stack.pushUnknown(1, pos);
        return pos;
      }
      case Op.ARRAY_NEW_FIXED: {
        const count = readU32Leb(bytes, skipLeb32(bytes, pos));
        pos = skipImmediates(bytes, pos, kind);
        stack.depth -= count;
        stack.pushUnknown(1, pos);
        return pos;
      }
      case Op.GLOBAL_SET: {
        const global = readU32Leb(bytes, pos);
        pos = skipLeb32(bytes, pos);
        stack.depth--;
        if (tools !== undefined) this.#setGlobal(tools, global, start, pos);
        return pos;
      }
      case Op.MEMORY_GROW: {
        const memory = readU32Leb(bytes, pos);
        pos = skipLeb32(bytes, pos);
        stack.depth--;
        stack.pushUnknown(1, pos);
        if (tools !== undefined) for (const tool of tools) tool.grow(memory, start, pos);
        return pos;
      }
      case Op.MEMORY_COPY:
      case Op.MEMORY_FILL:
      case Op.MEMORY_INIT: {
        const first = readU32Leb(bytes, pos);
        const next = skipImmediates(bytes, pos, kind);
        const second = op === Op.MEMORY_FILL ? 0 : readU32Leb(bytes, skipLeb32(bytes, pos));
        const replacement =
          this.#part === "program" || tools !== undefined
            ? options.bulkFunction(OPCODE_NAME[op] as OpcodeName, first, second, this.#part)
            : -1;
        if (replacement >= 0) {
          if (tools !== undefined) for (const tool of tools) tool.bulk(op, first, second, start, next);
          this.#insertions.add(start, InsertionKind.ReplaceByCall, next - start, replacement);
        }
        pos = next;
        stack.depth -= 3;
        return pos;
      }
      default:
        if (kind === UNKNOWN_OPCODE) throw unknownOpcode(bytes, start);
        throw new FormatError("unsupported", start, "instruction", `${OPCODE_NAME[op]} is not supported`);
    }
  }

  #beginTools(
    tools: readonly ToolPass[],
    index: number,
    codeStart: number,
    locals: ArrayLike<ValType>,
    hasLoops: boolean,
    temporaries: Temporaries,
  ): void {
    const state = this.#state;
    state.function = index;
    state.locals = locals;
    state.temporaries = temporaries;
    state.hasLoops = hasLoops;
    state.openLoops = 0;
    for (const tool of tools)
      tool.begin(state, InsertionKind.FirstTool + this.#tools.indexOf(tool), codeStart);
  }

  /** The instruction at `start` branches `label` levels out, always or sometimes. */
  #branch(label: number, start: number, always: boolean): void {
    const control = this.#control;
    control.branch(label);
    if (this.#gathers && this.#openLoops > 0) this.#accumulators.branch(control.top - label, start, always);
  }

  /** A branch `label` levels out at `start`. */
  #mayLeave(tools: readonly ToolPass[], label: number, start: number): void {
    if (label === this.#control.top) for (const tool of tools) tool.leave?.(start);
  }

  /** A tool may want a function to set the global; only the first one can have it. */
  #setGlobal(tools: readonly ToolPass[], global: number, start: number, end: number): void {
    for (const tool of tools) {
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

  #frame(
    caller: number,
    callee: number,
    tail: boolean,
    start: number,
    end: number,
    temporaries: Temporaries,
  ): void {
    const treatment = this.calls.treatment(caller, callee, tail);
    if (treatment === CallTreatment.None) return;
    temporaries.frame = true;
    const insertions = this.#insertions;
    const site = this.calls.siteOf(start - this.#module.codePayloadStart);
    if (treatment === CallTreatment.Keep) insertions.add(start, InsertionKind.KeepFrame);
    else if (treatment === CallTreatment.KeepHost)
      insertions.add(start, InsertionKind.KeepHostFrame, callee < 0 ? 0 : 1);
    else if (treatment === CallTreatment.Push) insertions.add(start, InsertionKind.PushFrame, site);
    else {
      if (temporaries.hostWord < 0) temporaries.hostWord = extraLocal(temporaries, I32);
      const { hostWord } = temporaries;
      const outlined = this.#openLoops === 0;
      const before = outlined ? InsertionKind.PushHostFrameOutlined : InsertionKind.PushHostFrame;
      const leaves = callee < 0 ? 0 : 1;
      insertions.add(start, before, site, hostWord, leaves);
      const after = outlined ? InsertionKind.ReturnFromHostOutlined : InsertionKind.ReturnFromHost;
      insertions.add(end, after, hostWord, leaves);
    }
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

/** A block ends at `position`; what follows may be reached past everything since `since`. */
function joinPaths(tools: readonly ToolPass[], position: number, since: number): void {
  for (const tool of tools) {
    tool.endBlock(position);
    tool.merge?.(since);
  }
}

function paramCount(module: WasmModule, typeIndex: number): number {
  const type = module.types[typeIndex];
  return type?.kind === "func" ? type.params.length : 0;
}
