import {
  ACCESS_KIND,
  AccessKind,
  decodeLocals,
  type FuncType,
  funcTypeAt,
  functionType,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  POP_COUNT,
  PUSH_COUNT,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { readS32Leb, readS33Leb, readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import {
  ANY_PARAM,
  CONSTANT,
  computed,
  DISTANCE_SHIFT,
  either,
  fromCall,
  fromParam,
  MAXIMUM_DISTANCES,
  ORIGINS,
  type Origin,
  OTHER,
  PRODUCT,
  TRACKED,
} from "./origin.ts";

/*
 * Origins of call operands and of the result of a body: a small abstract interpretation of the structured control flow.
 * It distinguishes a function that passes its parameter to malloc and returns malloc's result from one that adds a
 * header to either.
 */

/** A value that is parameter `param` plus `offset` on every path. */
export interface Distance {
  param: number;
  offset: number;
}

export interface FollowedMemory {
  /** Functions that measure their argument, like `strlen`. Their results are computed from it. */
  lengths?: ReadonlySet<number> | undefined;
  /**
   * Global with the stack pointer; −1 if there is none. Values that unoptimized code keeps in its frame are followed.
   */
  stackPointer: number;
}

export interface CallSummary {
  /** −1: a call through a table or a reference, recorded if memory is followed */
  callee: number;
  operands: Origin[];
  /** per operand: its distance from a parameter, if known */
  distances: (Distance | undefined)[];
}

export interface BodySummary {
  calls: CallSummary[];
  indirectCalls: number;
  /** origins of result 0 over all exits; 0 for functions without result */
  result: Origin;
  stores: { address: Origin; value: Origin }[];
  bulk: boolean;
}

interface Label {
  opcode: number;
  height: number;
  parameters: number;
  results: number;
  loop: number;
  locals: Int32Array<ArrayBuffer> | undefined;
  values: Origin[];
  start: Int32Array;
  reachableElse: boolean;
  elseStack: Origin[];
}

const op = {
  unreachable: Op.UNREACHABLE,
  block: Op.BLOCK,
  loop: Op.LOOP,
  if: Op.IF,
  else: Op.ELSE,
  try: Op.TRY,
  tryTable: Op.TRY_TABLE,
  catch: Op.CATCH,
  catchAll: Op.CATCH_ALL,
  delegate: Op.DELEGATE,
  throw: Op.THROW,
  rethrow: Op.RETHROW,
  throwRef: Op.THROW_REF,
  end: Op.END,
  br: Op.BR,
  brIf: Op.BR_IF,
  brTable: Op.BR_TABLE,
  return: Op.RETURN,
  call: Op.CALL,
  returnCall: Op.RETURN_CALL,
  callIndirect: Op.CALL_INDIRECT,
  returnCallIndirect: Op.RETURN_CALL_INDIRECT,
  select: Op.SELECT,
  localGet: Op.LOCAL_GET,
  localSet: Op.LOCAL_SET,
  localTee: Op.LOCAL_TEE,
  i32Add: Op.I32_ADD,
  i32Sub: Op.I32_SUB,
  i32And: Op.I32_AND,
  globalGet: Op.GLOBAL_GET,
  i32Mul: Op.I32_MUL,
  i64Mul: Op.I64_MUL,
  memoryFill: Op.MEMORY_FILL,
  memoryCopy: Op.MEMORY_COPY,
} as const;
const TYPED_SELECT = 0x1c;
const MAXIMUM_PASSES = 6;
const MAXIMUM_LOCALS = 2000;
const MAXIMUM_SLOTS = 32;
/** Bit that replaces distances if memory is followed: the value is the address of the function's frame. */
const FRAME = 1 << DISTANCE_SHIFT;
const ALL_CALLS = 0b111111_111111 << 12;

/**
 * Summarizes one defined function. `tracked`: up to six callees whose results are followed; −1 means all calls through
 * tables. With `memory`, values are followed through the function's frame, and other loads count as constants. A value
 * computed from a call's result by more than addition then no longer counts as that result. Returns undefined if the
 * body contains unsupported instructions or does not type-check.
 */
export function summarizeBody(
  module: WasmModule,
  index: number,
  tracked: readonly number[],
  memory?: FollowedMemory,
): BodySummary | undefined {
  const body = module.bodies[index - module.importedFunctionCount];
  if (body === undefined) return undefined;
  const type = functionType(module, index);
  let localCount = type.params.length;
  for (const group of decodeLocals(module, body)) localCount += group.count;
  if (localCount > MAXIMUM_LOCALS) return undefined;
  const interpreter = new Interpreter(module, type, localCount, tracked, memory);
  for (let pass = 0; pass < MAXIMUM_PASSES; pass++) {
    const summary = interpreter.run(body.codeStart, body.end);
    if (summary === undefined) return undefined;
    if (!interpreter.loopsChanged) return isAsyncified(module) ? withoutRestoredValues(summary) : summary;
  }
  return undefined;
}

const asyncified = new WeakMap<WasmModule, boolean>();

function isAsyncified(module: WasmModule): boolean {
  return entryOf(asyncified, module, () =>
    module.exports.some(({ name }) => name === "asyncify_start_unwind"),
  );
}

/**
 * Removes loads that Asyncify adds. They restore locals from its own stack when a call is resumed. The restored value
 * is the saved one, so such a load is no further origin.
 */
function withoutRestoredValues(summary: BodySummary): BodySummary {
  const clean = (origin: Origin) => origin & ~OTHER || origin;
  for (const call of summary.calls) call.operands = call.operands.map(clean);
  summary.stores = summary.stores.map(({ address, value }) => ({
    address: clean(address),
    value: clean(value),
  }));
  summary.result = clean(summary.result);
  return summary;
}

class Interpreter {
  readonly #module: WasmModule;
  readonly #type: FuncType;
  readonly #localCount: number;
  readonly #tracked: readonly number[];
  /** State at each loop header, joined over the passes until nothing changes. */
  readonly #loopEntries: Int32Array[] = [];
  #locals = new Int32Array(0);
  #stack: Origin[] = [];
  #labels: Label[] = [];
  #dead = false;
  #summary!: BodySummary;
  readonly #distances: Distance[] = [];
  #constant: number | undefined;
  loopsChanged = false;

  readonly #memory: FollowedMemory | undefined;
  /** Followed offsets in the function's frame. The values at them are kept as further locals. */
  readonly #slots: number[] = [];

  constructor(
    module: WasmModule,
    type: FuncType,
    localCount: number,
    tracked: readonly number[],
    memory: FollowedMemory | undefined,
  ) {
    this.#module = module;
    this.#type = type;
    this.#localCount = localCount;
    this.#tracked = tracked;
    this.#memory = memory;
  }

  run(start: number, end: number): BodySummary | undefined {
    const { bytes } = this.#module;
    this.#locals = new Int32Array(this.#localCount + (this.#memory === undefined ? 0 : MAXIMUM_SLOTS));
    this.#locals.fill(CONSTANT, 0, this.#localCount);
    for (let i = 0; i < this.#type.params.length; i++) this.#locals[i] = fromParam(i);
    this.#stack = [];
    this.#labels = [];
    this.#dead = false;
    this.loopsChanged = false;
    this.#constant = undefined;
    this.#summary = { calls: [], indirectCalls: 0, result: 0, stores: [], bulk: false };
    this.#open(op.block, 0, this.#type.results.length, -1);
    let loop = 0;
    let deadDepth = 0;
    for (let position = start; position < end; ) {
      const id = opcodeIdAt(bytes, position);
      const kind = IMMEDIATE_KIND[id];
      const immediates = skipOpcode(bytes, position);
      position = skipImmediates(bytes, immediates, kind);
      const opens = kind === ImmediateKind.BlockType || kind === ImmediateKind.TryTable;
      const loopNumber = id === op.loop ? loop++ : -1;
      if (this.#dead) {
        if (opens) deadDepth++;
        else if (deadDepth > 0) {
          if (id === op.end || id === op.delegate) deadDepth--;
        } else if (id === op.end || id === op.delegate) this.#close();
        else if (id === op.else) this.#alternative();
        else if (id === op.catch || id === op.catchAll) this.#handler(id, immediates);
        continue;
      }
      if (opens) {
        const { params, results } = this.#blockType(immediates);
        if (id === op.if) this.#stack.pop();
        this.#open(id, params, results, loopNumber);
        continue;
      }
      if (!this.#step(id, kind, immediates)) return undefined;
    }
    return this.#labels.length === 0 ? this.#summary : undefined;
  }

  #blockType(position: number): { params: number; results: number } {
    const code = readS33Leb(this.#module.bytes, position);
    if (code >= 0) {
      const type = funcTypeAt(this.#module, code);
      return { params: type.params.length, results: type.results.length };
    }
    return { params: 0, results: code === -64 ? 0 : 1 };
  }

  #open(opcode: number, parameters: number, results: number, loop: number): void {
    if (loop >= 0) {
      const entry = this.#loopEntries[loop];
      if (entry === undefined) this.#loopEntries[loop] = this.#locals.slice();
      else {
        this.#join(entry, this.#locals);
        this.#locals = entry.slice();
      }
    }
    const height = Math.max(0, this.#stack.length - parameters);
    this.#labels.push({
      opcode,
      height,
      parameters,
      results,
      loop,
      locals: undefined,
      values: new Array<Origin>(results).fill(0),
      start: this.#locals.slice(),
      reachableElse: opcode === op.if,
      elseStack: this.#stack.slice(height),
    });
  }

  #join(into: Int32Array, from: Int32Array): boolean {
    let changed = false;
    for (let i = 0; i < into.length; i++) {
      const joined = either(into[i], from[i]);
      if (joined !== into[i]) {
        into[i] = joined;
        changed = true;
      }
    }
    return changed;
  }

  /** Joins the current state into the label `depth` levels out. The label's values are on top of the stack. */
  #reach(depth: number, fallsThrough = false): void {
    const label = this.#labels[this.#labels.length - 1 - depth];
    if (label === undefined) return;
    if (label.loop >= 0 && !fallsThrough) {
      if (this.#join(this.#loopEntries[label.loop], this.#locals)) this.loopsChanged = true;
      return;
    }
    if (label.locals === undefined) label.locals = this.#locals.slice();
    else this.#join(label.locals, this.#locals);
    const from = this.#stack.length - label.results;
    for (let i = 0; i < label.results; i++)
      label.values[i] = either(label.values[i], this.#stack[from + i] ?? OTHER);
  }

  #leave(): void {
    this.#dead = true;
  }

  #alternative(): void {
    const label = this.#labels[this.#labels.length - 1];
    if (label === undefined) return;
    if (!this.#dead) this.#reach(0, true);
    this.#locals = label.start.slice();
    this.#stack.length = label.height;
    this.#stack.push(...label.elseStack);
    label.reachableElse = false;
    this.#dead = false;
  }

  #handler(id: number, immediates: number): void {
    const label = this.#labels[this.#labels.length - 1];
    if (label === undefined) return;
    if (!this.#dead) this.#reach(0, true);
    // Any part of the guarded body may have run: keep the earlier origins, and add all others.
    this.#locals = label.start.map((value) => either(value, OTHER));
    this.#stack.length = label.height;
    if (id === op.catch) {
      const tag = readU32Leb(this.#module.bytes, immediates);
      const own = this.#module.tags[tag - this.#module.importedTagCount];
      const parameters = own === undefined ? 0 : funcTypeAt(this.#module, own.typeIndex).params.length;
      for (let i = 0; i < parameters; i++) this.#stack.push(OTHER);
    }
    this.#dead = false;
  }

  #close(): void {
    const label = this.#labels[this.#labels.length - 1];
    if (label === undefined) return;
    if (!this.#dead) this.#reach(0, true);
    if (label.reachableElse) {
      // An `if` without `else` passes its parameters through.
      if (label.locals === undefined) label.locals = label.start.slice();
      else this.#join(label.locals, label.start);
      label.elseStack.slice(0, label.results).forEach((value, i) => {
        label.values[i] = either(label.values[i], value);
      });
    }
    this.#labels.pop();
    this.#stack.length = Math.min(this.#stack.length, label.height);
    this.#dead = label.locals === undefined;
    if (label.locals !== undefined) {
      this.#locals = label.locals;
      this.#stack.push(...label.values);
    }
    if (this.#labels.length === 0 && this.#type.results.length > 0)
      this.#summary.result |= label.values[0] & ORIGINS;
  }

  #invoke(type: FuncType, callee: number): void {
    const values = this.#stack.splice(Math.max(0, this.#stack.length - type.params.length));
    if (callee < 0) this.#summary.indirectCalls++;
    if (callee >= 0 || this.#memory !== undefined) {
      const operands = values.map((value) => value & ORIGINS);
      this.#summary.calls.push({
        callee,
        operands,
        distances: values.map((value) => this.#distanceOf(value)),
      });
    }
    const slot = this.#tracked.indexOf(callee);
    const measured = this.#memory?.lengths?.has(callee) ? computed((values[0] ?? OTHER) & ORIGINS) : OTHER;
    type.results.forEach((_, i) => {
      this.#stack.push(slot >= 0 && i === 0 ? fromCall(slot) : measured);
    });
  }

  /** Interprets a reachable instruction that opens no block. Returns false if it is unsupported. */
  #step(id: number, kind: number, immediates: number): boolean {
    const module = this.#module;
    const stack = this.#stack;
    const locals = this.#locals;
    const summary = this.#summary;
    const { bytes } = module;
    const constant = this.#constant;
    this.#constant = undefined;
    switch (id) {
      case op.end:
      case op.delegate:
        this.#close();
        return true;
      case op.else:
        this.#alternative();
        return true;
      case op.catch:
      case op.catchAll:
        this.#handler(id, immediates);
        return true;
      case op.unreachable:
      case op.throw:
      case op.rethrow:
      case op.throwRef:
        this.#leave();
        return true;
      case op.br:
        this.#reach(readU32Leb(bytes, immediates));
        this.#leave();
        return true;
      case op.brIf:
        stack.pop();
        this.#reach(readU32Leb(bytes, immediates));
        return true;
      case op.brTable: {
        stack.pop();
        let position = skipLeb32(bytes, immediates);
        for (let count = readU32Leb(bytes, immediates); count >= 0; count--) {
          this.#reach(readU32Leb(bytes, position));
          position = skipLeb32(bytes, position);
        }
        this.#leave();
        return true;
      }
      case op.return:
        this.#reach(this.#labels.length - 1);
        this.#leave();
        return true;
      case op.call:
      case op.returnCall: {
        const callee = readU32Leb(bytes, immediates);
        this.#invoke(functionType(module, callee), callee);
        if (id === op.returnCall) {
          this.#reach(this.#labels.length - 1);
          this.#leave();
        }
        return true;
      }
      case op.callIndirect:
      case op.returnCallIndirect:
        stack.pop();
        this.#invoke(funcTypeAt(module, readU32Leb(bytes, immediates)), -1);
        if (id === op.returnCallIndirect) {
          this.#reach(this.#labels.length - 1);
          this.#leave();
        }
        return true;
      case op.select:
      case TYPED_SELECT: {
        stack.pop();
        const second = stack.pop() ?? OTHER;
        const first = stack.pop() ?? OTHER;
        stack.push(either(first, second));
        return true;
      }
      case op.localGet:
        stack.push(locals[readU32Leb(bytes, immediates)] ?? OTHER);
        return true;
      case op.localSet:
        locals[readU32Leb(bytes, immediates)] = stack.pop() ?? OTHER;
        return true;
      case op.localTee:
        locals[readU32Leb(bytes, immediates)] = stack[stack.length - 1] ?? OTHER;
        return true;
    }
    if (kind === ImmediateKind.I32) this.#constant = readS32Leb(bytes, immediates);
    if (constant !== undefined && (id === op.i32Add || id === op.i32Sub) && stack.length >= 2) {
      stack.pop();
      stack.push(this.#moved(stack.pop() ?? OTHER, id === op.i32Add ? constant : -constant));
      return true;
    }
    return this.#compute(id, kind, immediates, summary);
  }

  #distanceOf(value: number): Distance | undefined {
    const distanceNumber = this.#memory === undefined ? value >>> DISTANCE_SHIFT : 0;
    if (distanceNumber > 0) return this.#distances[distanceNumber - 1];
    for (let param = 0; param < TRACKED; param++) if (value === 1 << param) return { param, offset: 0 };
    return undefined;
  }

  #moved(value: number, by: number): number {
    if (this.#memory !== undefined && (value & FRAME) !== 0) return by < 0 ? value : OTHER;
    if ((value & ORIGINS) === CONSTANT || by === 0) return value;
    const origin = computed(value & ORIGINS);
    const from = this.#memory === undefined ? this.#distanceOf(value) : undefined;
    if (from === undefined) return origin;
    const offset = from.offset + by;
    if (offset === 0) return fromParam(from.param);
    let at = this.#distances.findIndex(
      (distance) => distance.param === from.param && distance.offset === offset,
    );
    if (at < 0) {
      if (this.#distances.length === MAXIMUM_DISTANCES) return origin;
      at = this.#distances.push({ param: from.param, offset }) - 1;
    }
    return origin | ((at + 1) << DISTANCE_SHIFT);
  }

  /**
   * Interprets constants, arithmetic, memory accesses, and every other instruction whose stack effect is in the opcode
   * table.
   */
  #compute(id: number, kind: number, immediates: number, summary: BodySummary): boolean {
    const stack = this.#stack;
    const pops = POP_COUNT[id];
    const pushes = PUSH_COUNT[id];
    if (pops < 0 || pushes < 0) return false;
    if (kind === ImmediateKind.I32 || kind === ImmediateKind.I64) {
      stack.push(CONSTANT);
      return true;
    }
    if (this.#memory !== undefined && this.#followMemory(id, immediates, this.#memory)) return true;
    const access = ACCESS_KIND[id];
    if (access > AccessKind.Store || id === op.memoryFill || id === op.memoryCopy) summary.bulk = true;
    const second = pops >= 2 ? (stack[stack.length - 1] ?? OTHER) & ORIGINS : 0;
    const first = pops >= 1 ? (stack[stack.length - Math.min(pops, 2)] ?? OTHER) & ORIGINS : 0;
    stack.length = Math.max(0, stack.length - pops);
    if (access === AccessKind.Store) summary.stores.push({ address: first, value: second });
    if (pushes === 0) return true;
    const isArithmetic = access === AccessKind.None && kind === ImmediateKind.None && pops > 0 && pops <= 2;
    if (!isArithmetic) {
      const other = this.#memory !== undefined && access === AccessKind.Load ? CONSTANT : OTHER;
      for (let i = 0; i < pushes; i++) stack.push(other);
      return true;
    }
    let origin =
      first === CONSTANT && (pops === 1 || second === CONSTANT)
        ? CONSTANT
        : computed(first) | computed(second);
    if (origin !== CONSTANT) origin &= ~CONSTANT;
    const isProduct = id === op.i32Mul || id === op.i64Mul;
    if (isProduct && (first & ANY_PARAM) !== 0 && (second & ANY_PARAM) !== 0) origin |= PRODUCT;
    if (this.#memory !== undefined && (origin & ALL_CALLS) !== 0) {
      const isDistance = id === op.i32Sub && (second & ALL_CALLS) !== 0;
      if (isDistance || (id !== op.i32Add && id !== op.i32Sub && id !== op.i32And)) origin = OTHER;
    }
    stack.push(origin);
    return true;
  }

  /** Follows the function's frame and the values in it. Returns false for any other instruction. */
  #followMemory(id: number, immediates: number, { stackPointer }: FollowedMemory): boolean {
    const module = this.#module;
    const stack = this.#stack;
    const { bytes } = module;
    if (id === op.globalGet) {
      const isFrame = readU32Leb(bytes, immediates) === stackPointer;
      stack.push(isFrame ? OTHER | FRAME : OTHER);
      return true;
    }
    const top = stack[stack.length - 1] ?? OTHER;
    const below = stack[stack.length - 2] ?? OTHER;
    if (id === op.i32Sub && (below & FRAME) !== 0) {
      stack.pop();
      return true;
    }
    const access = ACCESS_KIND[id];
    if (access !== AccessKind.Load && access !== AccessKind.Store) return false;
    const isStore = access === AccessKind.Store;
    if (((isStore ? below : top) & FRAME) === 0) return false;
    const offset = readU32Leb(bytes, skipLeb32(bytes, immediates));
    let slot = this.#slots.indexOf(offset);
    if (slot < 0 && this.#slots.length < MAXIMUM_SLOTS) slot = this.#slots.push(offset) - 1;
    if (slot < 0) return false;
    stack.pop();
    if (isStore) {
      stack.pop();
      this.#locals[this.#localCount + slot] = top;
    } else stack.push(this.#locals[this.#localCount + slot] || CONSTANT);
    return true;
  }
}
