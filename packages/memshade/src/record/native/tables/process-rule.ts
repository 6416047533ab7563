import { CFA_RULE, ROW_FLAG, RULE } from "../../../code/unwind/cfi/rule-sets.ts";
import type { UnwindTable } from "../../../code/unwind/index.ts";
import { Rule, RuleKind } from "../layout.ts";

const RSP = 7;
const RBP = 6;
const RETURN_ADDRESS = 16;
const WORD = 8;
/** `DW_OP_breg6`, behind which a signed number in LEB128 stands, and `DW_OP_deref`. */
const BASE_RBP = 0x76;
const DEREF = 0x06;
/** CFA of an entry of a procedure linkage table: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus. */
const LINKAGE = [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];

const OTHER = RuleKind.other;

/** Rule set number `set` of a table for x86-64, in the 32 bits that `Rule` says. */
export function processRule(table: UnwindTable, set: number): number {
  const { rules, expressions } = table;
  if (set === 0) return RuleKind.none;
  if ((rules.flags(set) & ROW_FLAG.signalFrame) !== 0) return RuleKind.signal;
  if (rules.returnAddress(set) !== RETURN_ADDRESS || rules.find(set, RSP) >= 0) return OTHER;
  const returned = ruleOf(table, set, RETURN_ADDRESS);
  if (returned?.rule === RULE.undefined) return RuleKind.end;
  if (returned?.rule !== RULE.offset || returned.operand !== -WORD) return OTHER;
  if (rules.cfaRule(set) === CFA_RULE.register) {
    const base = rules.cfaRegister(set);
    if (base !== RSP && base !== RBP) return OTHER;
    const kind = base === RSP ? RuleKind.stackPointer : RuleKind.framePointer;
    return packed(kind, rules.cfaOperand(set), savedBelow(table, set));
  }
  if (rules.cfaRule(set) !== CFA_RULE.expression) return OTHER;
  const program = expressions[rules.cfaOperand(set)];
  if (program.length === LINKAGE.length && LINKAGE.every((byte, i) => program[i] === byte))
    return savedBelow(table, set) === 0 ? RuleKind.linkage : OTHER;
  const saved = offsetFromRbp(program, true);
  return saved === undefined ? OTHER : packed(RuleKind.saved, -saved, savedAtRbp(table, set));
}

/** The rule of a register, undefined where it has none. */
function ruleOf({ rules }: UnwindTable, set: number, register: number) {
  const at = rules.find(set, register);
  return at < 0 ? undefined : { rule: rules.words[at] & 0xff, operand: rules.words[at + 1] };
}

/** Words below the CFA where the frame pointer was saved; 0: it was not; NaN: nobody can say. */
function savedBelow(table: UnwindTable, set: number): number {
  const found = ruleOf(table, set, RBP);
  if (found === undefined || found.rule === RULE.same) return 0;
  return found.rule === RULE.offset && found.operand < 0 ? -found.operand / WORD : Number.NaN;
}

/** The same where the stack was realigned: words above the frame pointer, and one more. */
function savedAtRbp(table: UnwindTable, set: number): number {
  const found = ruleOf(table, set, RBP);
  if (found === undefined || found.rule === RULE.same) return 0;
  const offset =
    found.rule === RULE.expression ? offsetFromRbp(table.expressions[found.operand], false) : undefined;
  return offset === undefined || offset < 0 ? Number.NaN : offset / WORD + 1;
}

/** n of the expression rbp + n, or of the word there; undefined for any other expression. */
function offsetFromRbp(program: Uint8Array, isRead: boolean): number | undefined {
  const end = program.length - (isRead ? 1 : 0);
  if (program[0] !== BASE_RBP || (isRead && program[end] !== DEREF) || end < 2 || end > 4) return undefined;
  let value = 0;
  for (let i = 1; i < end; i++) {
    if (program[i] >>> 7 !== (i < end - 1 ? 1 : 0)) return undefined;
    value |= (program[i] & 0x7f) << (7 * (i - 1));
  }
  const bits = 7 * (end - 1);
  return (value << (32 - bits)) >> (32 - bits);
}

function packed(kind: number, cfaBytes: number, savedWords: number): number {
  const words = cfaBytes / WORD;
  const fits = Number.isInteger(words) && words >= 0 && words <= Rule.cfaMask;
  const isKnown = Number.isInteger(savedWords) && savedWords <= Rule.savedMask;
  return fits && isKnown ? kind | (words << Rule.cfaShift) | (savedWords << Rule.savedShift) : OTHER;
}
