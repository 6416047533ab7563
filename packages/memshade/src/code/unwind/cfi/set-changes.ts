import { DW_CFA } from "./constants.ts";
import { CFA_RULE, RULE, type RuleSets } from "./rule-sets.ts";

/** Limit of the absolute value of rule operands. */
export const INT32_LIMIT = 2 ** 31;

/** Saves a register at the CFA plus an offset; an offset that cannot be represented makes the rule unknown. */
export function withOffset(rules: RuleSets, set: number, register: number, offset: number): number {
  // The condition treats NaN as too large.
  if (!(Math.abs(offset) < INT32_LIMIT)) return rules.withRule(set, register, RULE.unknown, 0);
  return rules.withRule(set, register, RULE.offset, offset);
}

export function withValOffset(rules: RuleSets, set: number, register: number, offset: number): number {
  if (!(Math.abs(offset) < INT32_LIMIT)) return rules.withRule(set, register, RULE.unknown, 0);
  return rules.withRule(set, register, RULE.valOffset, offset);
}

export function withCfa(rules: RuleSets, set: number, register: number, offset: number): number {
  const representable = register < INT32_LIMIT / 256 && Math.abs(offset) < INT32_LIMIT;
  if (!representable) return rules.withCfa(set, CFA_RULE.unknown, 0, 0);
  return rules.withCfa(set, CFA_RULE.register, register, offset);
}

/** Makes the CFA the result of an expression; its previous offset is kept. */
export function withCfaExpression(rules: RuleSets, set: number, expression: number): number {
  return rules.withCfa(set, CFA_RULE.expression, lastOffset(rules, set), expression);
}

/** A CFA computed by an expression stays. The offset is kept for a later register rule, as in GDB and libgcc. */
export function withCfaOffset(rules: RuleSets, set: number, offset: number): number {
  switch (rules.cfaRule(set)) {
    case CFA_RULE.register:
      return withCfa(rules, set, rules.cfaRegister(set), offset);
    case CFA_RULE.expression:
      return rules.withCfa(set, CFA_RULE.expression, asLastOffset(offset), rules.cfaOperand(set));
    default:
      return rules.withCfa(set, CFA_RULE.unknown, 0, 0);
  }
}

export function withCfaRegister(rules: RuleSets, set: number, register: number): number {
  if (rules.cfaRule(set) === CFA_RULE.register) return withCfa(rules, set, register, rules.cfaOperand(set));
  const offset = lastOffset(rules, set);
  if (offset === NO_OFFSET) return rules.withCfa(set, CFA_RULE.unknown, 0, 0);
  return withCfa(rules, set, register, offset);
}

/** Marks an unknown offset beside an expression: the largest value that fits. */
const NO_OFFSET = 2 ** 24 - 1;

/** Returns the value in an expression's register field; negative or larger offsets are not kept. */
function asLastOffset(offset: number): number {
  return offset >= 0 && offset < NO_OFFSET ? offset : NO_OFFSET;
}

function lastOffset(rules: RuleSets, set: number): number {
  switch (rules.cfaRule(set)) {
    case CFA_RULE.register:
      return asLastOffset(rules.cfaOperand(set));
    case CFA_RULE.expression:
      return rules.cfaRegister(set);
    default:
      return NO_OFFSET;
  }
}

/**
 * Returns the rule set that a common instruction makes of another one. Codes of instructions:
 *
 *     opcode << 8 | operand        one operand below 128, or none
 *     0x4000 | offset              DW_CFA_def_cfa_offset of up to 14 bits
 *     0x3000 | register << 7 | n   DW_CFA_def_cfa below register 32 and offset 128
 */
export function setAfter(
  rules: RuleSets,
  { dataAlignment, initialSet }: { readonly dataAlignment: number; readonly initialSet: number },
  set: number,
  code: number,
): number {
  const op = code >>> 8;
  const register = op & 0x3f;
  if (op >= DW_CFA.restore) return rules.withRuleOf(set, register, initialSet);
  if (op >= DW_CFA.offset) return withOffset(rules, set, register, (code & 0xff) * dataAlignment);
  if (op >= 0x40) return withCfaOffset(rules, set, code & 0x3fff);
  if (op >= 0x30) return withCfa(rules, set, (code >>> 7) & 0x1f, code & 0x7f);
  if (op === DW_CFA.def_cfa_offset) return withCfaOffset(rules, set, code & 0xff);
  if (op === DW_CFA.AARCH64_negate_ra_state) return rules.withSignStateFlipped(set, 1);
  return withCfaRegister(rules, set, code & 0xff);
}
