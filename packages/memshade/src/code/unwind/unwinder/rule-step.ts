import { RA_SIGN_STATE } from "../architecture.ts";
import { DW_OP } from "../cfi/constants.ts";
import { CFA_RULE, ROW_FLAG, RULE } from "../cfi/rule-sets.ts";
import type { UnwindTable } from "../tables/unwind-table.ts";
import type { Memory } from "./memory.ts";
import type { Registers } from "./registers.ts";

export type StepResult =
  | "stepped"
  /** The frame has no caller: its return address is marked as undefined. */
  | "outermost"
  /** Memory that the rules need cannot be read. */
  | "memory"
  /** The rules need an unknown register, or cannot be evaluated at all. */
  | "no-rule";

/** Bits above the 48 of a user address, where AArch64 keeps the signature of a signed pointer. */
export const DEFAULT_SIGNATURE_MASK = 0xffff_0000;

interface StepFrame {
  registers: Registers;
  /**
   * True if the frame made a call: registers that the callee may change are unknown then. False if it was
   * interrupted.
   */
  isCaller: boolean;
  /** High half of the bits in which a signed return address differs from an address. */
  signatureMask: number;
}

export class RuleStep {
  /** CFA of the frame after a step; NaN before its rule was evaluated. */
  cfa = Number.NaN;
  /** True if the return address had a signature, which was removed. */
  wasSigned = false;
  #low = 0;
  #high = 0;

  run(table: UnwindTable, set: number, frame: StepFrame, memory: Memory, caller: Registers): StepResult {
    const { rules, target } = table;
    const { registers } = frame;
    this.wasSigned = false;
    const missing = this.#computeCfa(table, set, registers, memory);
    if (missing !== undefined) return missing;

    caller.known.fill(0);
    for (const register of target.calleeSaved) copyRegister(registers, caller, register);
    caller.setAddress(target.stackPointer, this.cfa);
    const { words } = rules;
    const column = rules.returnAddress(set);
    const end = rules.starts[set + 1];
    for (let at = rules.starts[set] + 3; at < end; at += 2) {
      const register = words[at] >>> 8;
      if (register > target.pc) continue;
      if (this.#evaluate(table, words[at] & 0xff, words[at + 1], register, registers, memory))
        caller.setHalves(register, this.#low, this.#high);
      else if (this.#keepsValue(words[at] & 0xff, frame)) copyRegister(registers, caller, register);
      else caller.forget(register);
    }
    return this.#recoverPc(table, set, column, frame, memory, caller);
  }

  #computeCfa(
    { rules, expressions }: UnwindTable,
    set: number,
    registers: Registers,
    memory: Memory,
  ): StepResult | undefined {
    this.cfa = Number.NaN;
    switch (rules.cfaRule(set)) {
      case CFA_RULE.register:
        this.cfa = registers.address(rules.cfaRegister(set)) + rules.cfaOperand(set);
        break;
      case CFA_RULE.expression: {
        const program = expressions[rules.cfaOperand(set)];
        const value = evaluateExpression(program, registers, memory, undefined);
        if (value === undefined) return "memory";
        this.cfa = Number(value);
        break;
      }
    }
    const isAddress = this.cfa >= 0 && this.cfa < 2 ** 53;
    if (!isAddress) this.cfa = Number.NaN;
    return isAddress ? undefined : "no-rule";
  }

  /** Evaluates a register's rule into the two halves; returns false if its value is unavailable. */
  #evaluate(
    table: UnwindTable,
    rule: number,
    operand: number,
    register: number,
    registers: Registers,
    memory: Memory,
  ): boolean {
    switch (rule) {
      case RULE.same:
        return this.#take(registers, register);
      case RULE.offset:
        return this.#read(memory, this.cfa + operand);
      case RULE.valOffset:
        return this.#setAddress(this.cfa + operand);
      case RULE.register:
        return this.#take(registers, operand);
      case RULE.expression: {
        const address = evaluateExpression(table.expressions[operand], registers, memory, this.cfa);
        return address !== undefined && this.#read(memory, Number(address));
      }
      case RULE.valExpression: {
        const value = evaluateExpression(table.expressions[operand], registers, memory, this.cfa);
        if (value === undefined) return false;
        this.#low = Number(value & 0xffff_ffffn);
        this.#high = Number(value >> 32n);
        return true;
      }
      default:
        return false;
    }
  }

  #take({ known, low, high }: Registers, register: number): boolean {
    if (!known[register]) return false;
    this.#low = low[register];
    this.#high = high[register];
    return true;
  }

  #read(memory: Memory, address: number): boolean {
    if (!memory.readWord(address)) return false;
    this.#low = memory.low;
    this.#high = memory.high;
    return true;
  }

  #setAddress(address: number): boolean {
    if (!(address >= 0)) return false;
    this.#low = address % 2 ** 32;
    this.#high = address / 2 ** 32;
    return true;
  }

  /**
   * After a pop, compilers leave the rule of the slot in force. The slot is then below the stack pointer, where
   * copies of stacks have no content. The register already has its old value again.
   */
  #keepsValue(rule: number, { registers, isCaller }: StepFrame): boolean {
    return rule === RULE.offset && !isCaller && this.cfa >= registers.address(registers.target.stackPointer);
  }

  #recoverPc(
    table: UnwindTable,
    set: number,
    column: number,
    { registers, isCaller, signatureMask }: StepFrame,
    memory: Memory,
    caller: Registers,
  ): StepResult {
    const { rules, target } = table;
    const at = rules.find(set, column);
    const rule = at < 0 ? 0 : rules.words[at] & 0xff;
    if (rule === RULE.undefined) return "outermost";
    if (rule === 0 || rule === RULE.same) {
      // The return address is still in the link register, which holds only for a frame that has not made a call. In
      // other frames the link register would lead to this frame again, endlessly.
      if (column !== target.linkRegister || isCaller) return "no-rule";
      if (!this.#take(registers, column)) return "no-rule";
    } else if (!this.#evaluate(table, rule, rules.words[at + 1], column, registers, memory))
      return rule === RULE.offset || rule === RULE.expression ? "memory" : "no-rule";
    if (target.linkRegister !== undefined) {
      const signState = rules.find(set, RA_SIGN_STATE);
      const isSigned = signState >= 0 && (rules.words[signState + 1] & 1) !== 0;
      if (isSigned || (this.#high & signatureMask) !== 0) {
        this.wasSigned = true;
        this.#high = (this.#high & ~signatureMask) >>> 0;
      }
      if (column === target.linkRegister) caller.setHalves(column, this.#low, this.#high);
    }
    caller.setHalves(target.pc, this.#low, this.#high);
    return "stepped";
  }
}

export function isSignalFrame({ rules }: UnwindTable, set: number): boolean {
  return (rules.flags(set) & ROW_FLAG.signalFrame) !== 0;
}

function copyRegister(from: Registers, to: Registers, register: number): void {
  if (from.known[register]) to.setHalves(register, from.low[register], from.high[register]);
  else to.forget(register);
}

/**
 * Kinds of rules that need only the stack pointer (sp) and the frame pointer (fp). c is the offset of the CFA, r
 * that of the return address, f that of the saved frame pointer, and *(a) the word at an address.
 */
export const SMALL_RULE = {
  /** Any other rule, which needs the general path. */
  other: 0,
  outermost: 1,
  /** (pc, sp, fp) = (*(sp + c + r), sp + c, *(sp + c + f)); fp stays if f is `UNCHANGED` */
  stackPointer: 2,
  /** (pc, sp, fp) = (*(fp + c + r), fp + c, *(fp + c + f)); fp stays if f is `UNCHANGED` */
  framePointer: 3,
  uncovered: 4,
} as const;

/** Value in place of an offset if the frame pointer is unchanged. */
export const UNCHANGED = 0x7fff_ffff;

type SmallRule =
  | { readonly kind: typeof SMALL_RULE.other }
  | { readonly kind: typeof SMALL_RULE.outermost }
  | { readonly kind: typeof SMALL_RULE.uncovered }
  | {
      readonly kind: typeof SMALL_RULE.stackPointer | typeof SMALL_RULE.framePointer;
      /** c: bytes from the base register to the CFA. */
      readonly cfaOffset: number;
      /** r: offset of the return address from the CFA. */
      readonly returnOffset: number;
      /** f: offset of the saved frame pointer from the CFA, or `UNCHANGED`. */
      readonly framePointerOffset: number;
    };

const OTHER: SmallRule = { kind: SMALL_RULE.other };

/**
 * Returns the rule at an address of an object (SVMA).
 *
 * @param isCaller true if the address is inside a call; a signal trampoline may begin one byte after it
 */
export function smallRuleAt(table: UnwindTable, address: number, isCaller: boolean): SmallRule {
  const set = table.find(address);
  if (set !== 0 && isSignalFrame(table, set)) return OTHER;
  if (isCaller) {
    const next = table.find(address + 1);
    if (next !== 0 && isSignalFrame(table, next)) return OTHER;
  }
  return set === 0 ? { kind: SMALL_RULE.uncovered } : smallRuleOf(table, set);
}

function smallRuleOf({ rules: sets, target }: UnwindTable, set: number): SmallRule {
  const { words } = sets;
  const column = sets.returnAddress(set);
  const returnAddress = sets.find(set, column);
  if (column !== target.returnAddress || returnAddress < 0 || target.wordSize !== 8) return OTHER;
  const returnRule = words[returnAddress] & 0xff;
  if (returnRule === RULE.undefined) return { kind: SMALL_RULE.outermost };
  if (returnRule !== RULE.offset || sets.cfaRule(set) !== CFA_RULE.register) return OTHER;
  const base = sets.cfaRegister(set);
  if (base !== target.stackPointer && base !== target.framePointer) return OTHER;
  if (sets.find(set, target.stackPointer) >= 0) return OTHER;
  const framePointer = sets.find(set, target.framePointer);
  const framePointerRule = framePointer < 0 ? RULE.same : words[framePointer] & 0xff;
  if (framePointerRule !== RULE.same && framePointerRule !== RULE.offset) return OTHER;
  return {
    kind: base === target.stackPointer ? SMALL_RULE.stackPointer : SMALL_RULE.framePointer,
    cfaOffset: sets.cfaOperand(set),
    returnOffset: words[returnAddress + 1],
    framePointerOffset: framePointerRule === RULE.same ? UNCHANGED : words[framePointer + 1],
  };
}

const MAX_STEPS = 1000;
const MAX_DEPTH = 64;

/**
 * Evaluates a DWARF expression of call frame information (DWARF 5, 2.5 and 6.4.2), a stack machine on 64-bit words.
 *
 * @param cfa pushed first, for rules of registers; undefined for the CFA's own expression
 * @returns the word on top of the stack; undefined if a needed value is unknown or the program is damaged
 */
function evaluateExpression(
  program: Uint8Array,
  registers: Registers,
  memory: Memory,
  cfa: number | undefined,
): bigint | undefined {
  return new ExpressionMachine(program, registers, memory).run(cfa);
}

const OPERATIONS: Readonly<Record<number, (machine: ExpressionMachine) => void>> = {
  [DW_OP.addr]: (machine) => machine.push(machine.constant(machine.registers.target.wordSize, false)),
  [DW_OP.const1u]: (machine) => machine.push(machine.constant(1, false)),
  [DW_OP.const1s]: (machine) => machine.push(machine.constant(1, true)),
  [DW_OP.const2u]: (machine) => machine.push(machine.constant(2, false)),
  [DW_OP.const2s]: (machine) => machine.push(machine.constant(2, true)),
  [DW_OP.const4u]: (machine) => machine.push(machine.constant(4, false)),
  [DW_OP.const4s]: (machine) => machine.push(machine.constant(4, true)),
  [DW_OP.const8u]: (machine) => machine.push(machine.constant(8, false)),
  [DW_OP.const8s]: (machine) => machine.push(machine.constant(8, true)),
  [DW_OP.constu]: (machine) => machine.push(machine.leb(false)),
  [DW_OP.consts]: (machine) => machine.push(machine.leb(true)),
  [DW_OP.bregx]: (machine) => machine.pushRegister(Number(machine.leb(false)), machine.leb(true)),
  [DW_OP.deref]: (machine) => machine.dereference(machine.registers.target.wordSize),
  [DW_OP.deref_size]: (machine) => machine.dereference(Number(machine.constant(1, false))),
  [DW_OP.dup]: (machine) => machine.pick(0),
  [DW_OP.over]: (machine) => machine.pick(1),
  [DW_OP.pick]: (machine) => machine.pick(Number(machine.constant(1, false))),
  [DW_OP.drop]: (machine) => void machine.pop(),
  [DW_OP.swap]: (machine) => machine.rotate(2),
  [DW_OP.rot]: (machine) => machine.rotate(3),
  [DW_OP.skip]: (machine) => machine.branch(true),
  [DW_OP.bra]: (machine) => machine.branch(machine.pop() !== 0n),
  [DW_OP.plus_uconst]: (machine) => machine.push(machine.pop() + machine.leb(false)),
  [DW_OP.neg]: (machine) => machine.push(-machine.pop()),
  [DW_OP.not]: (machine) => machine.push(~machine.pop()),
  [DW_OP.abs]: (machine) => {
    const value = signed(machine.pop());
    machine.push(value < 0n ? -value : value);
  },
  [DW_OP.and]: binary((left, right) => left & right),
  [DW_OP.or]: binary((left, right) => left | right),
  [DW_OP.xor]: binary((left, right) => left ^ right),
  [DW_OP.plus]: binary((left, right) => left + right),
  [DW_OP.minus]: binary((left, right) => left - right),
  [DW_OP.mul]: binary((left, right) => left * right),
  [DW_OP.div]: binary((left, right) => (right === 0n ? undefined : signed(left) / signed(right))),
  [DW_OP.mod]: binary((left, right) => (right === 0n ? undefined : left % right)),
  [DW_OP.shl]: binary((left, right) => (right < 64n ? left << right : 0n)),
  [DW_OP.shr]: binary((left, right) => (right < 64n ? left >> right : 0n)),
  [DW_OP.shra]: binary((left, right) => signed(left) >> (right < 64n ? right : 63n)),
  [DW_OP.eq]: comparison((left, right) => left === right),
  [DW_OP.ne]: comparison((left, right) => left !== right),
  [DW_OP.ge]: comparison((left, right) => left >= right),
  [DW_OP.gt]: comparison((left, right) => left > right),
  [DW_OP.le]: comparison((left, right) => left <= right),
  [DW_OP.lt]: comparison((left, right) => left < right),
  [DW_OP.nop]: () => {},
};

function signed(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

/**
 * The topmost entry is the right operand. An undefined result means that the operation is undefined for these
 * operands.
 */
function binary(calculate: (left: bigint, right: bigint) => bigint | undefined) {
  return (machine: ExpressionMachine): void => {
    const right = machine.pop();
    const result = calculate(machine.pop(), right);
    if (result === undefined) machine.fail();
    else machine.push(result);
  };
}

function comparison(holds: (left: bigint, right: bigint) => boolean) {
  return binary((left, right) => (holds(signed(left), signed(right)) ? 1n : 0n));
}

class ExpressionMachine {
  readonly registers: Registers;
  readonly #program: Uint8Array;
  readonly #memory: Memory;
  readonly #stack: bigint[] = [];
  #position = 0;
  #failed = false;

  constructor(program: Uint8Array, registers: Registers, memory: Memory) {
    this.#program = program;
    this.registers = registers;
    this.#memory = memory;
  }

  run(cfa: number | undefined): bigint | undefined {
    if (cfa !== undefined) this.push(BigInt(cfa));
    for (let steps = 0; this.#position < this.#program.length; steps++) {
      if (steps >= MAX_STEPS) return undefined;
      this.#step(this.#program[this.#position++]);
      if (this.#failed) return undefined;
    }
    return this.#stack.at(-1);
  }

  #step(op: number): void {
    if (op >= DW_OP.lit0 && op <= DW_OP.lit31) this.push(BigInt(op - DW_OP.lit0));
    else if (op >= DW_OP.breg0 && op <= DW_OP.breg31) this.pushRegister(op - DW_OP.breg0, this.leb(true));
    else if (OPERATIONS[op] === undefined) this.fail();
    else OPERATIONS[op](this);
  }

  fail(): void {
    this.#failed = true;
  }

  push(value: bigint): void {
    if (this.#stack.length >= MAX_DEPTH) this.fail();
    else this.#stack.push(BigInt.asUintN(64, value));
  }

  pop(): bigint {
    const value = this.#stack.pop();
    if (value === undefined) this.fail();
    return value ?? 0n;
  }

  pick(depth: number): void {
    const value = this.#stack.at(-1 - depth);
    if (value === undefined) this.fail();
    else this.push(value);
  }

  rotate(count: number): void {
    const top = this.pop();
    if (this.#stack.length < count - 1) this.fail();
    else this.#stack.splice(this.#stack.length - (count - 1), 0, top);
  }

  constant(size: number, isSigned: boolean): bigint {
    const at = this.#position;
    this.#position += size;
    if (this.#position > this.#program.length) {
      this.fail();
      return 0n;
    }
    let value = 0n;
    for (let i = size - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#program[at + i]);
    return isSigned ? BigInt.asIntN(8 * size, value) : value;
  }

  leb(isSigned: boolean): bigint {
    let value = 0n;
    let shift = 0n;
    for (let count = 0; count < 10; count++) {
      const byte = this.#program[this.#position++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      shift += 7n;
      if (byte < 0x80) return isSigned && byte & 0x40 ? value - (1n << shift) : value;
    }
    this.fail();
    return 0n;
  }

  pushRegister(register: number, offset: bigint): void {
    const value = this.registers.get(register);
    if (value === undefined) this.fail();
    else this.push(value + offset);
  }

  dereference(size: number): void {
    const address = this.pop();
    const isReadable = size >= 1 && size <= 8 && address < 2n ** 53n && !this.#failed;
    if (!isReadable || !this.#memory.readWord(Number(address))) {
      this.fail();
      return;
    }
    const word = (BigInt(this.#memory.high) << 32n) | BigInt(this.#memory.low);
    this.push(BigInt.asUintN(8 * size, word));
  }

  branch(taken: boolean): void {
    const distance = Number(this.constant(2, true));
    if (!taken) return;
    this.#position += distance;
    if (this.#position < 0 || this.#position > this.#program.length) this.fail();
  }
}
