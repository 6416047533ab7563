import {
  functionCount,
  functionType,
  IMMEDIATE_KIND,
  ImmediateKind,
  skipImmediates,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readS33Leb, readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import { armEnd, type ModuleScan } from "../facts/module-scan.ts";
import type { ToolPass, WalkState } from "../tool.ts";
import type { ControlStack } from "./control-stack.ts";
import type { OperandStack, ValueNumbers } from "./value-numbers.ts";

/**
 * Follows the structured blocks of a function: which open, end and are left. Calls the passes that listen to these
 * events.
 *
 * Methods for instructions take the offset of the opcode and the offset after the opcode. They return the offset after
 * the instruction.
 */
export class BlockWalk {
  readonly #state: WalkState;
  readonly #module: WasmModule;
  readonly #bytes: Uint8Array;
  readonly #stack: OperandStack;
  readonly #values: ValueNumbers;
  readonly #control: ControlStack;
  readonly #scan: ModuleScan;
  readonly #arities: Arities;
  /** Loops over 64-bit addresses are not followed as a whole. */
  readonly #memory64: boolean;
  #listeners!: Listeners;
  #end = 0;
  /** Number of the next block that opens. `#lastBlock`: number of the next function's first block. */
  #nextBlock = 0;
  #lastBlock = 0;
  unreachable = false;

  constructor(state: WalkState, scan: ModuleScan, arities: Arities, memory64: boolean) {
    this.#state = state;
    this.#module = state.module;
    this.#bytes = state.module.bytes;
    this.#stack = state.stack;
    this.#values = state.values;
    this.#control = state.control;
    this.#scan = scan;
    this.#arities = arities;
    this.#memory64 = memory64;
  }

  /** Begins the walk of a function whose instructions are at `[codeStart, end)`. */
  begin(listeners: Listeners, codeStart: number, end: number): void {
    const { module, control, function: index } = this.#state;
    const { first } = this.#scan.control;
    const defined = index - module.importedFunctionCount;
    this.#listeners = listeners;
    this.#end = end;
    this.#nextBlock = first[defined];
    this.#lastBlock = first[defined + 1];
    this.unreachable = false;
    control.top = -1;
    control.enter(Op.BLOCK, codeStart, 0, 0, functionType(module, index).results.length, 0);
  }

  /**
   * Returns the offset of the instruction that ends unreachable code. The operand stack of such code is polymorphic;
   * only the nesting of blocks matters.
   */
  skipUnreachable(from: number): number {
    const { control: flow } = this.#scan;
    const block = this.#control.block[this.#control.top];
    // The function's body ends with an `end` of its own.
    const to = block < 0 ? this.#end - 1 : armEnd(flow, block, from);
    while (this.#nextBlock < this.#lastBlock && flow.start[this.#nextBlock] < to) this.#nextBlock++;
    return to;
  }

  endBlock(position: number): void {
    for (const pass of this.#listeners.endBlock) pass.endBlock(position);
  }

  open(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const control = this.#control;
    const arity = blockArity(this.#module, pos);
    const params = arity >>> 16;
    if (op === Op.TRY_TABLE) this.#targetCatches(pos);
    const body = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    if (op === Op.IF) stack.depth--;
    for (const pass of this.#listeners.enterBlock) pass.enterBlock(start);
    if (op !== Op.BLOCK) this.endBlock(start);
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
    control.oneBlock[top] = params === 0 && !this.#memory64 ? 1 : 0;
    for (const pass of this.#listeners.enterLoop) pass.enterLoop(body);
    control.loopValues[top] = values.last;
  }

  /** Handles `else` or `catch`: ends an arm of the block, and begins another one. */
  otherArm(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const control = this.#control;
    const { top } = control;
    this.#joinPaths(start);
    control.opcode[top] = op;
    stack.depth = control.height[top];
    this.unreachable = false;
    const end = op === Op.CATCH ? skipLeb32(bytes, pos) : pos;
    if (op === Op.CATCH) stack.pushUnknown(this.#arities.ofTag(readU32Leb(bytes, pos)), end);
    else if (op === Op.ELSE) stack.pushUnknown(control.params[top], end);
    if (op !== Op.ELSE) for (const pass of this.#listeners.caught) pass.caught(end);
    return end;
  }

  /**
   * Ends a basic block at `position`. The following code may be reached without any event since the start of the
   * innermost block.
   */
  #joinPaths(position: number): void {
    const control = this.#control;
    const { top } = control;
    this.#values.forgetSince(control.startTime[top]);
    this.endBlock(position);
    for (const pass of this.#listeners.merge) pass.merge(control.start[top]);
  }

  close(op: number, start: number, pos: number): number {
    const stack = this.#stack;
    const control = this.#control;
    const listeners = this.#listeners;
    const end = op === Op.DELEGATE ? skipImmediates(this.#bytes, pos, IMMEDIATE_KIND[op]) : pos;
    const { top } = control;
    const opened = control.opcode[top];
    const isLoop = opened === Op.LOOP;
    const reached = !this.unreachable;
    const fallsThrough = reached && (isLoop || (opened === Op.BLOCK && control.targeted[top] === 0));
    if (isLoop) {
      const oneBlock = reached && control.oneBlock[top] === 1;
      for (const pass of listeners.leaveLoop) pass.leaveLoop(start, end, oneBlock);
    }
    if (!fallsThrough) {
      this.#joinPaths(start);
      stack.depth = control.height[top];
      stack.pushUnknown(control.results[top], end);
      if (top > 0) for (const pass of listeners.caught) pass.caught(end);
    }
    if (control.isPassed() && top > 0 && (isLoop || WITHOUT_CATCH.has(opened)))
      for (const pass of listeners.passBlock) pass.passBlock();
    if (top === 0 && reached) for (const pass of listeners.leave) pass.leave(start, op);
    this.unreachable = false;
    if (isLoop) this.#state.openLoops--;
    control.top--;
    return control.top < 0 ? this.#end : end;
  }

  leave(op: number, start: number, pos: number): number {
    for (const pass of this.#listeners.leave) pass.leave(start, op);
    this.#control.notOneBlock();
    if (op !== Op.UNREACHABLE) this.#control.mayLeave();
    this.unreachable = true;
    return skipImmediates(this.#bytes, pos, IMMEDIATE_KIND[op]);
  }

  /** Ends a basic block after a call. A tail call does not return. */
  called(tail: boolean, end: number): void {
    this.endBlock(end);
    this.unreachable = tail;
    this.#control.mayLeave();
    this.#control.notOneBlock();
  }

  /** Handles a branch with one label, conditional or not. */
  branch(op: number, start: number, pos: number): number {
    const bytes = this.#bytes;
    const stack = this.#stack;
    const isCast = op === Op.BR_ON_CAST || op === Op.BR_ON_CAST_FAIL;
    const label = readU32Leb(bytes, isCast ? pos + 1 : pos);
    const end = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    this.#mayLeave(label, start, op);
    this.#control.branch(label);
    if (op === Op.BR) {
      this.#control.notOneBlock();
      this.unreachable = true;
      return end;
    }
    stack.depth--;
    if (isCast || op === Op.BR_ON_NULL) stack.pushUnknown(1, end);
    this.endBlock(end);
    // A loop of one basic block has a single branch: its last instruction, back to the header.
    if (op !== Op.BR_IF || label !== 0 || bytes[end] !== Op.END) this.#control.notOneBlock();
    return end;
  }

  branchTable(start: number, pos: number): number {
    const bytes = this.#bytes;
    const count = readU32Leb(bytes, pos);
    let at = skipLeb32(bytes, pos);
    let outermost = 0;
    for (let i = 0; i <= count; i++) {
      const label = readU32Leb(bytes, at);
      if (label > outermost) outermost = label;
      this.#control.branch(label);
      at = skipLeb32(bytes, at);
    }
    this.#mayLeave(outermost, start, Op.BR_TABLE);
    this.#control.notOneBlock();
    this.unreachable = true;
    return at;
  }

  #mayLeave(label: number, start: number, op: number): void {
    if (label === this.#control.top) for (const pass of this.#listeners.leave) pass.leave(start, op);
  }

  /** Records branches of catch clauses. Encoding: block type, count, then (kind, [tag], label) each. */
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

/** Opcodes of blocks, or of their last arms, to which no exception leads. */
const WITHOUT_CATCH: ReadonlySet<number> = new Set([Op.BLOCK, Op.IF, Op.ELSE]);

const EMPTY = -64;

export class Arities {
  readonly #module: WasmModule;
  /** Result of `ofFunction` plus one; 0 if not computed yet. */
  readonly #arities: Uint32Array;

  constructor(module: WasmModule) {
    this.#module = module;
    this.#arities = new Uint32Array(functionCount(module));
  }

  /** Returns parameter count × 65,536 + result count of a function. */
  ofFunction(index: number): number {
    const cached = this.#arities[index];
    if (cached !== 0) return cached - 1;
    const { params, results } = functionType(this.#module, index);
    const arity = params.length * 0x10000 + results.length;
    this.#arities[index] = arity + 1;
    return arity;
  }

  ofTag(tag: number): number {
    const module = this.#module;
    let imported = -1;
    for (const entry of module.imports) {
      if (entry.kind !== "tag" || ++imported !== tag) continue;
      return paramCount(module, entry.typeIndex);
    }
    return paramCount(module, module.tags[tag - module.importedTagCount]?.typeIndex ?? -1);
  }
}

/** Returns parameter count × 65,536 + result count of the block type at `pos`. */
function blockArity(module: WasmModule, pos: number): number {
  const byte = module.bytes[pos];
  if (byte === 0x40) return 0;
  // Every other single byte with bit 6 set is one result, as are two-byte reference types.
  const index = byte < 0x40 ? byte : readS33Leb(module.bytes, pos);
  if (index < 0) return index === EMPTY ? 0 : 1;
  const type = module.types[index];
  return type?.kind === "func" ? type.params.length * 0x10000 + type.results.length : 0;
}

function paramCount(module: WasmModule, typeIndex: number): number {
  const type = module.types[typeIndex];
  return type?.kind === "func" ? type.params.length : 0;
}

type Listening<Event extends keyof ToolPass> = ToolPass & Required<Pick<ToolPass, Event>>;

/** Passes that follow a part of the code, by the events for which they have a method. */
export class Listeners {
  readonly access: readonly Listening<"access">[];
  readonly bulk: readonly Listening<"bulk">[];
  readonly enterBlock: readonly Listening<"enterBlock">[];
  readonly endBlock: readonly Listening<"endBlock">[];
  readonly enterLoop: readonly Listening<"enterLoop">[];
  readonly leaveLoop: readonly Listening<"leaveLoop">[];
  readonly passBlock: readonly Listening<"passBlock">[];
  readonly caught: readonly Listening<"caught">[];
  readonly merge: readonly Listening<"merge">[];
  readonly leave: readonly Listening<"leave">[];
  readonly setGlobal: readonly Listening<"setGlobal">[];
  readonly grow: readonly Listening<"grow">[];
  readonly object: readonly Listening<"object">[];
  readonly call: readonly Listening<"call">[];
  readonly end: readonly Listening<"end">[];
  readonly passes: readonly ToolPass[];

  constructor(passes: readonly ToolPass[]) {
    const to = <Event extends keyof ToolPass>(event: Event): readonly Listening<Event>[] =>
      passes.filter((pass): pass is Listening<Event> => pass[event] !== undefined);
    this.passes = passes;
    this.access = to("access");
    this.bulk = to("bulk");
    this.enterBlock = to("enterBlock");
    this.endBlock = to("endBlock");
    this.enterLoop = to("enterLoop");
    this.leaveLoop = to("leaveLoop");
    this.passBlock = to("passBlock");
    this.caught = to("caught");
    this.merge = to("merge");
    this.leave = to("leave");
    this.setGlobal = to("setGlobal");
    this.grow = to("grow");
    this.object = to("object");
    this.call = to("call");
    this.end = to("end");
  }
}

/** Clears the value numbers of all locals that a loop assigns. They may have any value at the loop header. */
function forgetAssigned(scan: ModuleScan, loop: number, values: ValueNumbers): void {
  const { assigned, assignedFirst, assignedEnd } = scan;
  for (let i = assignedFirst[loop]; i < assignedEnd[loop]; i++) values.localValue[assigned[i]] = 0;
}
