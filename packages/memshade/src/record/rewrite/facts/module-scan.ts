import {
  ACCESS_KIND,
  AccessKind,
  type FunctionBody,
  IMMEDIATE_KIND,
  ImmediateKind,
  type OpcodeName,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import { MEMARG_HAS_MEMORY, MEMARG_ORDER } from "../../../code/wasm/memarg.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { grown } from "../../../ground/bytes/columns.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { readS32Leb, readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";

export const FunctionFact = {
  HasLoop: 1,
  /** Loads, stores, atomics or bulk memory instructions. */
  HasAccess: 2,
  HasCall: 4,
  HasIndirectCall: 8,
  HasIndirectTailCall: 16,
  /** Calls through tables, without calls by reference. */
  HasTableCall: 32,
  Grows: 64,
  /** `memory.copy` or `memory.fill` */
  Copies: 128,
  /** Code to which exceptions may branch. */
  Catches: 256,
  HasObjects: 512,
} as const;

/**
 * Facts about every defined function, collected in one pass over the code section. Lists of lists are columns: the
 * entries of function `i` are `column[first[i] … first[i + 1]]`.
 */
export interface ModuleScan {
  facts: Uint16Array;
  instructions: Uint32Array;
  /** Direct calls, repeats included. */
  callees: Int32Array;
  firstCallee: Int32Array;
  /** Possible addresses of static data: constants and displacements of accesses, repeats included. */
  addresses: Int32Array;
  firstAddress: Int32Array;
  /** Argument of a direct call that the address is, as a unique number per argument; 0 if none was recognized. */
  argumentOf: Int32Array;
  control: ControlFlow;
  /**
   * Locals assigned inside loops, in program order. Loop `l` assigns those from `assignedFirst[l]` to `assignedEnd[l]`.
   */
  assigned: Int32Array;
  assignedFirst: Int32Array;
  assignedEnd: Int32Array;
  /** Per global: number of functions that begin by subtracting from it, as a prologue does with the stack pointer. */
  prologues: Map<number, number>;
  references: Set<number>;
  /** Functions called directly inside loops. `hasIndirectCallInLoop`: indirect calls occur there, too. */
  calledInLoops: Set<number>;
  hasIndirectCallInLoop: boolean;
  hasTailCalls: boolean;
}

/** Returns the unique number of an argument: its callee, and how many arguments follow it. */
function argument(callee: number, behind: number): number {
  return callee * (MOST_BEHIND + 1) + behind + 1;
}
/** Limit of arguments that may follow; calls rarely have more. */
const MOST_BEHIND = 7;

/** Lowest address of static data in any toolchain's layout. Smaller constants are mostly plain numbers. */
export const LOWEST_ADDRESS = 1024;
/** Block type without parameters and results. */
const EMPTY = 0x40;

// Action of the scan for a first byte. Nine of ten instructions are of the first five kinds.
const Step = {
  Plain: 0,
  Index: 1,
  Assign: 2,
  Constant: 3,
  Memarg: 4,
  Opens: 5,
  Ends: 6,
  Floats: 7,
  Calls: 8,
  Arms: 9,
  Rest: 10,
} as const;

const STEP = new Uint8Array(0x100).fill(Step.Rest);
for (let byte = 0; byte < 0xfb; byte++) {
  const kind = IMMEDIATE_KIND[byte];
  if (kind === ImmediateKind.None) STEP[byte] = Step.Plain;
  else if (kind === ImmediateKind.Local || kind === ImmediateKind.Label || kind === ImmediateKind.Global)
    STEP[byte] = Step.Index;
  else if (kind === ImmediateKind.F32 || kind === ImmediateKind.F64) STEP[byte] = Step.Floats;
  else if (kind === ImmediateKind.Memarg) STEP[byte] = Step.Memarg;
}
function step(kind: number, ...names: OpcodeName[]): void {
  for (const name of names) STEP[opcodeId(name)] = kind;
}
step(Step.Assign, "local.set", "local.tee");
step(Step.Constant, "i32.const");
step(Step.Index, "i64.const");
step(Step.Opens, "block", "loop", "if", "try");
step(Step.Ends, "end");
step(Step.Arms, "else", "catch", "catch_all");
step(Step.Calls, "call", "return_call");

const FACT_OF = new Uint16Array(IMMEDIATE_KIND.length);
for (let id = 0; id < FACT_OF.length; id++)
  if (ACCESS_KIND[id] !== AccessKind.None && ACCESS_KIND[id] !== AccessKind.Notify)
    FACT_OF[id] = FunctionFact.HasAccess;
function fact(bits: number, ...names: OpcodeName[]): void {
  for (const name of names) FACT_OF[opcodeId(name)] |= bits;
}
fact(FunctionFact.HasAccess, "memory.copy", "memory.fill", "memory.init");
fact(FunctionFact.Copies, "memory.copy", "memory.fill");
fact(FunctionFact.Grows, "memory.grow");
fact(FunctionFact.HasCall, "call", "return_call");
fact(FunctionFact.HasCall | FunctionFact.HasIndirectCall, "call_indirect", "return_call_indirect");
fact(FunctionFact.HasCall | FunctionFact.HasIndirectCall, "call_ref", "return_call_ref");
fact(FunctionFact.HasIndirectTailCall, "return_call_indirect", "return_call_ref");
fact(FunctionFact.HasTableCall, "call_indirect");
fact(FunctionFact.HasLoop, "loop");
fact(FunctionFact.Catches, "try", "try_table");
for (let id: number = Op.STRUCT_NEW; id <= Op.ARRAY_INIT_ELEM; id++) FACT_OF[id] |= FunctionFact.HasObjects;

/** True if a function makes a tail call, by name or by reference. */
export function usesTailCalls({ facts, hasTailCalls }: ModuleScan): boolean {
  return hasTailCalls || facts.some((bits) => (bits & FunctionFact.HasIndirectTailCall) !== 0);
}

/**
 * Scans the code section once.
 *
 * @throws FormatError if it cannot be read
 */
export function scanModule(module: WasmModule): ModuleScan {
  const scanner = new Scanner(module);
  // Scans each body in a call of its own: engines optimize a frequently called function sooner and better than a
  // long-running loop.
  for (let i = 0; i < module.bodies.length; i++) scanner.scanBody(i);
  return scanner.finish();
}

class Scanner {
  readonly #bodies: readonly FunctionBody[];
  readonly #bytes: Uint8Array;
  readonly #facts: Uint16Array;
  readonly #instructions: Uint32Array;
  readonly #firstCallee: Int32Array;
  readonly #firstAddress: Int32Array;
  readonly #control: ControlFlowBuilder;
  readonly #prologues = new Map<number, number>();
  readonly #references = new Set<number>();
  readonly #calledInLoops = new Set<number>();
  #hasIndirectCallInLoop = false;
  #hasTailCalls = false;
  #callees = new Int32Array(4096);
  #calleeCount = 0;
  #addresses = new Int32Array(4096);
  #arguments = new Int32Array(4096);
  #addressCount = 0;
  #assigned = new Int32Array(4096);
  #assignedCount = 0;
  #assignedFirst = new Int32Array(1024);
  #assignedEnd = new Int32Array(1024);
  #loopCount = 0;
  #openLoops = 0;

  constructor({ bytes, bodies }: WasmModule) {
    this.#bytes = bytes;
    this.#bodies = bodies;
    this.#facts = new Uint16Array(bodies.length);
    this.#instructions = new Uint32Array(bodies.length);
    this.#firstCallee = new Int32Array(bodies.length + 1);
    this.#firstAddress = new Int32Array(bodies.length + 1);
    this.#control = new ControlFlowBuilder(bodies.length);
  }

  finish(): ModuleScan {
    return {
      facts: this.#facts,
      instructions: this.#instructions,
      callees: this.#callees.subarray(0, this.#calleeCount),
      firstCallee: this.#firstCallee,
      addresses: this.#addresses,
      firstAddress: this.#firstAddress,
      argumentOf: this.#arguments.subarray(0, this.#addressCount),
      control: this.#control.finish(),
      assigned: this.#assigned,
      assignedFirst: this.#assignedFirst,
      assignedEnd: this.#assignedEnd,
      prologues: this.#prologues,
      references: this.#references,
      calledInLoops: this.#calledInLoops,
      hasIndirectCallInLoop: this.#hasIndirectCallInLoop,
      hasTailCalls: this.#hasTailCalls,
    };
  }

  scanBody(defined: number): void {
    const bytes = this.#bytes;
    const { codeStart, end } = this.#bodies[defined];
    this.#readPrologue(codeStart, end);
    this.#openLoops = 0;
    let bits = 0;
    let seen = 0;
    let pos = codeStart;
    while (pos < end) {
      const op = bytes[pos++];
      seen++;
      switch (STEP[op]) {
        case 0: // Plain
          continue;
        case 1: // Index
          while (bytes[pos++] >= 0x80);
          continue;
        case 2: // Assign
          if (this.#openLoops > 0) this.#assign(readU32Leb(bytes, pos));
          while (bytes[pos++] >= 0x80);
          continue;
        case 3: // Constant
          // One-byte constants are below 64.
          if (bytes[pos] >= 0x80) {
            const value = readS32Leb(bytes, pos);
            while (bytes[pos++] >= 0x80);
            if (value >= LOWEST_ADDRESS) this.#address(value, this.#argumentAt(pos));
          } else pos++;
          continue;
        case 4: // Memarg: alignment (bit 6: a memory index follows), offset
          bits |= FunctionFact.HasAccess;
          if (bytes[pos] >= MEMARG_ORDER) {
            skipImmediates(bytes, pos, ImmediateKind.Memarg);
            const hasMemory = (readU32Leb(bytes, pos) & MEMARG_HAS_MEMORY) !== 0;
            pos = skipLeb32(bytes, pos);
            if (hasMemory) pos = skipLeb32(bytes, pos);
          } else pos++;
          if (bytes[pos] >= 0x80) {
            const value = fitsU32(bytes, pos) ? readU32Leb(bytes, pos) : 0;
            if (value >= LOWEST_ADDRESS) this.#address(value, 0);
            while (bytes[pos++] >= 0x80);
          } else pos++;
          continue;
        case 5: // Opens
          bits |= FACT_OF[op];
          this.#openBlock(op, pos - 1);
          if (bytes[pos] === EMPTY) pos++;
          else pos = skipImmediates(bytes, pos, ImmediateKind.BlockType);
          continue;
        case 6: // Ends
          this.#closeBlock(pos - 1);
          continue;
        case 7: // Floats
          pos += op === Op.F64_CONST ? 8 : 4;
          continue;
        case 8: // Calls
          bits |= FunctionFact.HasCall;
          if (op === Op.RETURN_CALL) this.#hasTailCalls = true;
          this.#call(readU32Leb(bytes, pos));
          while (bytes[pos++] >= 0x80);
          continue;
        case 9: // Arms
          this.#control.arm(pos - 1);
          if (op === Op.CATCH) pos = skipLeb32(bytes, pos);
          continue;
        default: {
          const start = pos - 1;
          const id = opcodeIdAt(bytes, start);
          pos = skipOpcode(bytes, start);
          bits |= FACT_OF[id];
          if (this.#openLoops > 0 && (FACT_OF[id] & FunctionFact.HasIndirectCall) !== 0)
            this.#hasIndirectCallInLoop = true;
          if (id === Op.REF_FUNC) this.#references.add(readU32Leb(bytes, pos));
          else if (id === Op.TRY_TABLE) this.#openBlock(id, start);
          else if (id === Op.DELEGATE) this.#closeBlock(start);
          pos = skipImmediates(bytes, pos, IMMEDIATE_KIND[id]);
        }
      }
    }
    if (pos !== end)
      throw new FormatError("truncated", end, "function body", "its last instruction goes on behind its end");
    // Only invalid code leaves blocks open.
    while (this.#control.innermost >= 0) this.#closeBlock(end);
    this.#facts[defined] = bits;
    this.#instructions[defined] = seen;
    this.#firstCallee[defined + 1] = this.#calleeCount;
    this.#firstAddress[defined + 1] = this.#addressCount;
    this.#control.endFunction(defined);
  }

  #assign(local: number): void {
    if (this.#assignedCount === this.#assigned.length)
      this.#assigned = grown(this.#assigned, this.#assignedCount * 2);
    this.#assigned[this.#assignedCount++] = local;
  }

  #address(value: number, argument: number): void {
    if (this.#addressCount === this.#addresses.length) {
      this.#addresses = grown(this.#addresses, this.#addressCount * 2);
      this.#arguments = grown(this.#arguments, this.#addressCount * 2);
    }
    this.#arguments[this.#addressCount] = argument;
    this.#addresses[this.#addressCount++] = value;
  }

  /** Returns the number of the argument pushed before `pos`, if only pushes follow until the call. */
  #argumentAt(pos: number): number {
    const bytes = this.#bytes;
    for (let behind = 0; behind <= MOST_BEHIND; behind++) {
      const op = bytes[pos];
      if (op === Op.CALL) return argument(readU32Leb(bytes, pos + 1), behind);
      if (op !== Op.I32_CONST && op !== Op.LOCAL_GET) return 0;
      pos = skipLeb32(bytes, pos + 1);
    }
    return 0;
  }

  #call(callee: number): void {
    if (this.#calleeCount === this.#callees.length)
      this.#callees = grown(this.#callees, this.#calleeCount * 2);
    this.#callees[this.#calleeCount++] = callee;
    if (this.#openLoops > 0) this.#calledInLoops.add(callee);
  }

  #openBlock(op: number, start: number): void {
    this.#control.open(op, start, op === Op.LOOP ? this.#openLoop() : -1);
  }

  #openLoop(): number {
    const loop = this.#loopCount++;
    if (loop === this.#assignedFirst.length) {
      this.#assignedFirst = grown(this.#assignedFirst, loop * 2);
      this.#assignedEnd = grown(this.#assignedEnd, loop * 2);
    }
    this.#assignedFirst[loop] = this.#assignedCount;
    this.#openLoops++;
    return loop;
  }

  /** Closes the innermost block. The last `end` closes the body itself. */
  #closeBlock(end: number): void {
    const loop = this.#control.close(end);
    if (loop < 0) return;
    this.#assignedEnd[loop] = this.#assignedCount;
    this.#openLoops--;
  }

  /** Records the global of `global.get g; const n; sub` at the start of a body. */
  #readPrologue(codeStart: number, end: number): void {
    const bytes = this.#bytes;
    if (bytes[codeStart] !== Op.GLOBAL_GET) return;
    const constant = skipLeb32(bytes, codeStart + 1);
    if (bytes[constant] !== Op.I32_CONST && bytes[constant] !== Op.I64_CONST) return;
    const sub = skipImmediates(bytes, constant + 1, IMMEDIATE_KIND[bytes[constant]]);
    if (sub >= end || (bytes[sub] !== Op.I32_SUB && bytes[sub] !== Op.I64_SUB)) return;
    const global = readU32Leb(bytes, codeStart + 1);
    this.#prologues.set(global, (this.#prologues.get(global) ?? 0) + 1);
  }
}

/** True if an offset fits in 32 bits. Offsets of memory64 may take ten bytes, but static data lies below 4 GiB. */
function fitsU32(bytes: Uint8Array, position: number): boolean {
  for (let i = 0; i < 5; i++) if (bytes[position + i] < 0x80) return i < 4 || bytes[position + i] <= 0x0f;
  return false;
}

/**
 * Structured blocks of a module's functions in code order, as columns. A defined function `i` has the blocks from
 * `first[i]` to `first[i + 1]`. The body itself is no block; the parent of its outermost blocks is −1.
 */
interface ControlFlow {
  first: Int32Array;
  /** `block`, `loop`, `if`, `try` or `try_table`, and its offset. */
  opcode: Int32Array;
  start: Int32Array;
  /** Offset of the `end` or `delegate` that closes it. */
  end: Int32Array;
  parent: Int32Array;
  /** Number of the loop, an index of `ModuleScan.assignedFirst`; −1 for other blocks. */
  loop: Int32Array;
  /** Index of the block's second arm in the two columns below; −1 if it has only one arm. */
  arm: Int32Array;
  /** Offsets of `else`, `catch` and `catch_all`, and the next arm of the same block, −1 for its last. */
  armStart: Int32Array;
  nextArm: Int32Array;
}

/**
 * Returns the offset of the instruction that ends the arm of `block` at `position`: the start of the next arm, or the
 * end of the block.
 */
export function armEnd(
  { arm, armStart, nextArm, end }: ControlFlow,
  block: number,
  position: number,
): number {
  for (let i = arm[block]; i >= 0; i = nextArm[i]) if (armStart[i] >= position) return armStart[i];
  return end[block];
}

class ControlFlowBuilder {
  readonly #first: Int32Array;
  #opcode = new Int32Array(1024);
  #start = new Int32Array(1024);
  #end = new Int32Array(1024);
  #parent = new Int32Array(1024);
  #loop = new Int32Array(1024);
  #arm = new Int32Array(1024);
  /** Last arm of an open block. */
  #lastArm = new Int32Array(1024);
  #armStart = new Int32Array(256);
  #nextArm = new Int32Array(256);
  #count = 0;
  #arms = 0;
  /** The innermost open block; −1 for the function's body. */
  innermost = -1;

  constructor(functions: number) {
    this.#first = new Int32Array(functions + 1);
  }

  open(opcode: number, start: number, loop: number): void {
    const block = this.#count++;
    if (block === this.#opcode.length) this.#grow();
    this.#opcode[block] = opcode;
    this.#start[block] = start;
    this.#parent[block] = this.innermost;
    this.#loop[block] = loop;
    this.#arm[block] = -1;
    this.innermost = block;
  }

  arm(start: number): void {
    const block = this.innermost;
    // Only invalid code has an arm outside of a block.
    if (block < 0) return;
    const arm = this.#arms++;
    if (arm === this.#armStart.length) {
      this.#armStart = grown(this.#armStart, arm * 2);
      this.#nextArm = grown(this.#nextArm, arm * 2);
    }
    this.#armStart[arm] = start;
    this.#nextArm[arm] = -1;
    if (this.#arm[block] < 0) this.#arm[block] = arm;
    else this.#nextArm[this.#lastArm[block]] = arm;
    this.#lastArm[block] = arm;
  }

  close(end: number): number {
    const block = this.innermost;
    if (block < 0) return -1;
    this.#end[block] = end;
    this.innermost = this.#parent[block];
    return this.#loop[block];
  }

  endFunction(defined: number): void {
    this.#first[defined + 1] = this.#count;
  }

  finish(): ControlFlow {
    return {
      first: this.#first,
      opcode: this.#opcode,
      start: this.#start,
      end: this.#end,
      parent: this.#parent,
      loop: this.#loop,
      arm: this.#arm,
      armStart: this.#armStart,
      nextArm: this.#nextArm,
    };
  }

  #grow(): void {
    const size = this.#opcode.length * 2;
    this.#opcode = grown(this.#opcode, size);
    this.#start = grown(this.#start, size);
    this.#end = grown(this.#end, size);
    this.#parent = grown(this.#parent, size);
    this.#loop = grown(this.#loop, size);
    this.#arm = grown(this.#arm, size);
    this.#lastArm = grown(this.#lastArm, size);
  }
}
