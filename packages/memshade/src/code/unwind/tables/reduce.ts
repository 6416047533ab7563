import { RA_SIGN_STATE, type UnwindTarget } from "../architecture.ts";
import { ROW_FLAG, RuleSets } from "../cfi/rule-sets.ts";

/**
 * Registers whose rules a table keeps.
 *
 * - `"callee-saved"`: all that functions preserve; a debugger shows these. The default.
 * - `"three"`: program counter, stack pointer and frame pointer (on AArch64 the link register too), which is enough
 *   to walk a stack. More neighbouring entries become equal, and the dictionary smaller.
 */
export type KeptRegisters = "callee-saved" | "three";

const UNKNOWN = -1;

/** Dictionary with the rules of some registers only, filled as sets of the full dictionary are used. */
export class ReducedRules {
  readonly rules = new RuleSets();
  readonly #full: RuleSets;
  readonly #registers: KeptRegisters;
  readonly #target: UnwindTarget;
  readonly #walked: ReadonlySet<number | undefined>;
  /** Index in `rules` of each set of the full dictionary; negative for a set that was not used yet. */
  indices = new Int32Array(1 << 14).fill(UNKNOWN);

  constructor(full: RuleSets, target: UnwindTarget, registers: KeptRegisters) {
    this.#full = full;
    this.#registers = registers;
    this.#target = target;
    const { framePointer, stackPointer, linkRegister, pc, returnAddress } = target;
    this.#walked = new Set([framePointer, stackPointer, linkRegister, returnAddress, pc, RA_SIGN_STATE]);
  }

  indexOf(set: number): number {
    if (set >= this.indices.length) {
      const larger = new Int32Array(2 * set).fill(UNKNOWN);
      larger.set(this.indices);
      this.indices = larger;
    }
    if (this.indices[set] === UNKNOWN) this.indices[set] = this.#reduce(set);
    return this.indices[set];
  }

  #reduce(set: number): number {
    const column = this.#full.returnAddress(set);
    const { pc } = this.#target;
    // The caller of a signal handler's trampoline was interrupted, so all of its registers matter.
    const keepsAll =
      this.#registers === "callee-saved" || (this.#full.flags(set) & ROW_FLAG.signalFrame) !== 0;
    const keeps = keepsAll
      ? (register: number) => register <= pc || register === column || register === RA_SIGN_STATE
      : (register: number) => register === column || this.#walked.has(register);
    return this.rules.addReduced(this.#full, set, keeps);
  }
}
