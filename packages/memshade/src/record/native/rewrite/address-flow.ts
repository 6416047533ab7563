import { decode, FLOW, hasTarget, INSTRUCTION_POINTER, Instruction } from "../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS, RBP } from "../../../code/x64/index.ts";
import { type Code, type CodeFunction, endsPath } from "./code.ts";

/** Opcodes of `lea`, of `mov` to and from memory, and of `mov` of a constant to register 0. */
export const OPCODE = { lea: 0x8d, movTo: 0x89, movFrom: 0x8b, movConstant: 0xb8 } as const;
/** Opcodes of additions and subtractions, which keep a register an address. */
export const SUMS: ReadonlySet<number> = new Set([0x01, 0x83, 0x81]);

const instruction = new Instruction();
const bit = (register: number): number => (register >= 0 && register < 16 ? 1 << register : 0);

/**
 * Follows an address from its use back to the instruction that put it into a register. The search covers
 * straight code that only loops enter, and stack slots relative to rbp. Farther back, registers have other
 * uses.
 */
export class AddressFlow {
  readonly #code: Code;
  readonly #function: CodeFunction;
  readonly #sources: ReadonlySet<number>;
  /** Source of the address in each stack slot below the frame pointer. */
  #places: Map<number, number> | undefined;
  /** Targets of forward jumps in the function. */
  #joins: Set<number> | undefined;

  /** @param sources instructions of the function that put an address into a register */
  constructor(code: Code, codeFunction: CodeFunction, sources: ReadonlySet<number>) {
    this.#code = code;
    this.#function = codeFunction;
    this.#sources = sources;
  }

  /**
   * Returns the source of an address in a register before an instruction, possibly after arithmetic, or −1.
   */
  sourceOf(register: number, i: number): number {
    const code = this.#code;
    let wanted = register;
    for (let at = i - 1; at >= this.#function.first; at--) {
      if (this.#joinsAt(at + 1) || endsPath(code.flows[at])) return -1;
      const isCall = code.flows[at] === FLOW.call || code.flows[at] === FLOW.indirectCall;
      if (isCall && (KEPT_BY_CALLS & bit(wanted)) === 0) return -1;
      decode(code.bytes, code.offsets[at], instruction);
      if (isCall || (instruction.writes & bit(wanted)) === 0) continue;
      if (this.#sources.has(at)) return at;
      const from = movedFrom(wanted);
      if (from < 0) return this.#onStack();
      wanted = from;
    }
    return -1;
  }

  #joinsAt(i: number): boolean {
    const { offsets, flows, targets } = this.#code;
    if (this.#joins === undefined) {
      this.#joins = new Set();
      for (let at = this.#function.first; at < this.#function.last; at++)
        if (hasTarget(flows[at]) && flows[at] !== FLOW.call && targets[at] > offsets[at])
          this.#joins.add(targets[at]);
    }
    return this.#joins.has(offsets[i]);
  }

  /** Returns the source of the stack slot that the last decoded instruction loads from, or −1. */
  #onStack(): number {
    const { opcode, base, index, displacement } = instruction;
    if (opcode !== OPCODE.movFrom || base !== RBP.number || index >= 0 || displacement >= 0) return -1;
    if (this.#places === undefined) {
      const places = new Map<number, number>();
      this.#places = places;
      for (const at of this.#sources) {
        if (at + 1 >= this.#function.last) continue;
        decode(this.#code.bytes, this.#code.offsets[at], instruction);
        const put = instruction.writes;
        decode(this.#code.bytes, this.#code.offsets[at + 1], instruction);
        if (instruction.opcode !== OPCODE.movTo || instruction.base !== RBP.number || instruction.index >= 0)
          continue;
        if ((instruction.reads & put) !== 0) places.set(instruction.displacement, at);
      }
    }
    return this.#places.get(displacement) ?? -1;
  }
}

/** Returns the register from which the last decoded instruction copied or computed an address, or −1. */
function movedFrom(register: number): number {
  const { opcode, access, reads, base } = instruction;
  if (opcode === OPCODE.lea) return base < INSTRUCTION_POINTER ? base : -1;
  if (access !== 0) return -1;
  if (opcode === OPCODE.movTo || opcode === OPCODE.movFrom) return 31 - Math.clz32(reads & 0xffff);
  return SUMS.has(opcode) && (reads & bit(register)) !== 0 ? register : -1;
}
