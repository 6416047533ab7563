import { CFA_RULE, RULE } from "../cfi/rule-sets.ts";
import type { UnwindTable } from "../tables/unwind-table.ts";
import { isSignalFrame } from "./step.ts";

/**
 * Kinds of rules that need nothing but the stack pointer (sp) and the frame pointer (fp). With c the offset of the CFA, r
 * that of the return address and f that of the saved frame pointer, and *(a) the word at an address, a rule finds the
 * caller's registers.
 */
export const SMALL_RULE = {
  /** Anything else: to be done the long way. */
  other: 0,
  /** There is no caller. */
  outermost: 1,
  /** (pc, sp, fp) = (*(sp + c + r), sp + c, *(sp + c + f)); fp stays if f is `UNCHANGED` */
  stackPointer: 2,
  /** (pc, sp, fp) = (*(fp + c + r), fp + c, *(fp + c + f)); fp stays if f is `UNCHANGED` */
  framePointer: 3,
  /** No function is there. */
  uncovered: 4,
} as const;

/** In place of an offset: the frame pointer is unchanged. */
export const UNCHANGED = 0x7fff_ffff;

/** A rule in at most four numbers. */
export type SmallRule =
  | { readonly kind: typeof SMALL_RULE.other }
  | { readonly kind: typeof SMALL_RULE.outermost }
  | { readonly kind: typeof SMALL_RULE.uncovered }
  | {
      readonly kind: typeof SMALL_RULE.stackPointer | typeof SMALL_RULE.framePointer;
      /** c: bytes from the base register to the CFA. */
      readonly cfaOffset: number;
      /** r: where the return address is, from the CFA. */
      readonly returnOffset: number;
      /** f: where the frame pointer was saved, from the CFA; or `UNCHANGED`. */
      readonly framePointerOffset: number;
    };

const OTHER: SmallRule = { kind: SMALL_RULE.other };

/**
 * The rule at an address of an object (SVMA).
 *
 * @param isCaller the address lies in a call; the trampoline of a signal may begin one byte behind it
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
  // A rule of its own for the stack pointer is rare.
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
