import { RA_SIGN_STATE } from "../architecture.ts";
import { CFA_RULE, ROW_FLAG, RULE } from "../cfi/rule-sets.ts";
import type { UnwindTable } from "../tables/unwind-table.ts";
import { evaluateExpression } from "./expression.ts";
import type { Memory } from "./memory.ts";
import type { Registers } from "./registers.ts";

/** How an attempt to get to the caller ended. */
export type StepResult =
  /** The caller's registers are there. */
  | "stepped"
  /** Nobody called this: the return address is marked as undefined. */
  | "outermost"
  /** What the rules ask for cannot be read from memory. */
  | "memory"
  /** The rules need a register that is not known, or cannot be evaluated at all. */
  | "no-rule";

/** Bits above the 48 of a user address, where AArch64 keeps the signature of a signed pointer. */
export const DEFAULT_SIGNATURE_MASK = 0xffff_0000;

/** One frame, as a step sees it. */
export interface StepFrame {
  registers: Registers;
  /** The frame made a call and waits for it: what its callee may change is not known. False if it was interrupted. */
  isCaller: boolean;
  /** High half of the bits that a signed return address has more than an address. */
  signatureMask: number;
}

/** Gets from a frame to its caller by the rules of call frame information. */
export class RuleStep {
  /** CFA of the frame after a step; NaN before its rule was evaluated. */
  cfa = Number.NaN;
  /** The return address had a signature that was removed. */
  wasSigned = false;
  #low = 0;
  #high = 0;

  /** Evaluates set number `set` of a table in a frame, and writes the registers of its caller to `caller`. */
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

  /** Value of a register's rule, left in the two halves; false if it cannot be had. */
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
   * Behind a pop, compilers leave the rule of the slot in force. The slot then lies below the stack pointer, where copies
   * of stacks have nothing; the register has its value back already.
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
      // Still in the link register, which only a frame that has not called anybody can say. Elsewhere it would name
      // this frame's own place again, for ever.
      if (column !== target.linkRegister || isCaller) return "no-rule";
      if (!this.#take(registers, column)) return "no-rule";
    } else if (!this.#evaluate(table, rule, rules.words[at + 1], column, registers, memory)) {
      return rule === RULE.offset || rule === RULE.expression ? "memory" : "no-rule";
    }
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

/** Whether a rule set belongs to the trampoline behind a signal handler. */
export function isSignalFrame({ rules }: UnwindTable, set: number): boolean {
  return (rules.flags(set) & ROW_FLAG.signalFrame) !== 0;
}

export function copyRegister(from: Registers, to: Registers, register: number): void {
  if (from.known[register]) to.setHalves(register, from.low[register], from.high[register]);
  else to.forget(register);
}
