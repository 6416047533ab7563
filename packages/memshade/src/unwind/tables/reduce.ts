import { RA_SIGN_STATE, type UnwindTarget } from "../architecture.ts";
import { ROW_FLAG, RuleSets } from "../cfi/rule-sets.ts";

/**
 * Which registers a table keeps rules for.
 *
 * - `"callee-saved"`: all that functions give back; what a debugger shows. The default.
 * - `"three"`: program counter, stack pointer and frame pointer (on AArch64 the link register too), which is what it
 *   takes to walk a stack. Equal neighbours become more, the dictionary smaller.
 */
export type KeptRegisters = "callee-saved" | "three";

/**
 * A dictionary with the rules of some registers only, and where each set of the full one is in it.
 *
 * @param uses rows per set, if known: sets that only stood between two instructions are left out
 */
export function reduce(
  full: RuleSets,
  target: UnwindTarget,
  registers: KeptRegisters,
  uses?: Uint32Array,
): { rules: RuleSets; setOf: Uint16Array | Uint32Array } {
  const { framePointer, stackPointer, linkRegister, pc, returnAddress } = target;
  const walked = new Set([framePointer, stackPointer, linkRegister, returnAddress, pc, RA_SIGN_STATE]);
  const rules = new RuleSets();
  const setOf = full.count > 0xffff ? new Uint32Array(full.count) : new Uint16Array(full.count);
  for (let set = 0; set < full.count; set++) {
    if (uses !== undefined && uses[set] === 0) continue;
    const column = full.returnAddress(set);
    // The caller of a signal handler's trampoline was interrupted: all of its registers matter.
    const keepAll = registers === "callee-saved" || (full.flags(set) & ROW_FLAG.signalFrame) !== 0;
    const keep = keepAll
      ? (register: number) => register <= pc || register === column || register === RA_SIGN_STATE
      : (register: number) => register === column || walked.has(register);
    setOf[set] = rules.addReduced(full, set, keep);
  }
  return { rules, setOf };
}
