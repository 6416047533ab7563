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
  none: 0,
  /** There is no caller. */
  outermost: 1,
  /** (pc, sp, fp) = (*(sp + c + r), sp + c, *(sp + c + f)); fp stays if f is `UNCHANGED` */
  stackPointer: 2,
  /** (pc, sp, fp) = (*(fp + c + r), fp + c, *(fp + c + f)); fp stays if f is `UNCHANGED` */
  framePointer: 3,
} as const;

/** In place of an offset: the frame pointer is unchanged. */
export const UNCHANGED = 0x7fff_ffff;

/** A rule in four numbers. One object is read into again and again, so that no rule allocates. */
export class SmallRule {
  /** `SMALL_RULE` */
  kind: number = SMALL_RULE.none;
  /** Whether there is any rule. */
  isCovered = true;
  /** c: bytes from the base register to the CFA. */
  cfaOffset = 0;
  /** r: where the return address is, from the CFA. */
  returnOffset = 0;
  /** f: where the frame pointer was saved, from the CFA; or `UNCHANGED`. */
  framePointerOffset: number = UNCHANGED;

  /**
   * Becomes the rule at an address of an object (SVMA).
   *
   * @param isCaller the address lies in a call; the trampoline of a signal may begin one byte behind it
   */
  read(table: UnwindTable, address: number, isCaller: boolean): void {
    this.kind = SMALL_RULE.none;
    const set = table.find(address);
    this.isCovered = true;
    if (set !== 0 && isSignalFrame(table, set)) return;
    if (isCaller) {
      const own = table.find(address + 1);
      if (own !== 0 && isSignalFrame(table, own)) return;
    }
    this.isCovered = set !== 0;
    if (set === 0) return;
    this.#readSet(table, set);
  }

  #readSet({ rules: sets, target }: UnwindTable, set: number): void {
    const { words } = sets;
    const column = sets.returnAddress(set);
    const returnAddress = sets.find(set, column);
    if (column !== target.returnAddress || returnAddress < 0 || target.wordSize !== 8) return;
    if ((words[returnAddress] & 0xff) === RULE.undefined) {
      this.kind = SMALL_RULE.outermost;
      return;
    }
    if ((words[returnAddress] & 0xff) !== RULE.offset || sets.cfaRule(set) !== CFA_RULE.register) return;
    const base = sets.cfaRegister(set);
    if (base !== target.stackPointer && base !== target.framePointer) return;
    // A rule of its own for the stack pointer is rare.
    if (sets.find(set, target.stackPointer) >= 0) return;
    const framePointer = sets.find(set, target.framePointer);
    const framePointerRule = framePointer < 0 ? RULE.same : words[framePointer] & 0xff;
    if (framePointerRule !== RULE.same && framePointerRule !== RULE.offset) return;
    this.kind = base === target.stackPointer ? SMALL_RULE.stackPointer : SMALL_RULE.framePointer;
    this.cfaOffset = sets.cfaOperand(set);
    this.returnOffset = words[returnAddress + 1];
    this.framePointerOffset = framePointerRule === RULE.same ? UNCHANGED : words[framePointer + 1];
  }
}
