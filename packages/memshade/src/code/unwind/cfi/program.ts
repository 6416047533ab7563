import type { Cie } from "./cie.ts";
import { DW_CFA } from "./constants.ts";
import { CfiCursor } from "./cursor.ts";
import type { CfiProblems } from "./problems.ts";
import { OFFSET_BIAS, ProgramRows } from "./rows.ts";
import { RULE, type RuleSets } from "./rule-sets.ts";
import type { CfiSection } from "./section.ts";
import {
  INT32_LIMIT,
  withCfa,
  withCfaExpression,
  withCfaOffset,
  withCfaRegister,
  withOffset,
  withValOffset,
} from "./set-changes.ts";

/** DWARF expressions of an object, each distinct one once. */
export class Expressions {
  readonly programs: Uint8Array[] = [];
  readonly #indices = new Map<string, number>();

  add(bytes: Uint8Array): number {
    let key = "";
    for (const byte of bytes) key += String.fromCharCode(byte);
    const knownIndex = this.#indices.get(key);
    if (knownIndex !== undefined) return knownIndex;
    const index = this.programs.length;
    // The copy allows the section's bytes to be released.
    this.programs.push(bytes.slice());
    this.#indices.set(key, index);
    return index;
  }
}

const MAX_REMEMBERED = 64;
/** No function is longer than 2 GiB. */
const LAST_LOCATION = 2 ** 31 - 1;

export class CfiProgram {
  readonly cursor: CfiCursor;
  readonly rules: RuleSets;
  readonly rows = new ProgramRows();
  readonly expressions: Expressions;
  readonly problems: CfiProblems;

  // Result of an instruction outside of the fast path.
  #set = 0;
  #advance = 0;
  readonly #remembered = new Uint32Array(MAX_REMEMBERED);
  #depth = 0;

  /** Address (SVMA) that counts as 0 in the starts of functions. */
  readonly #origin: number;

  constructor(
    section: CfiSection,
    base: number,
    rules: RuleSets,
    expressions: Expressions,
    problems: CfiProblems,
  ) {
    this.cursor = new CfiCursor(section);
    this.#origin = base + OFFSET_BIAS;
    this.rules = rules;
    this.expressions = expressions;
    this.problems = problems;
  }

  /**
   * Runs the instructions `[position, end)` of the section for a function. The rows are in `rows` afterwards; the
   * last rule set is returned.
   *
   * @param start offset of the function from the base of the object, minus `OFFSET_BIAS`
   */
  run(cie: Cie, position: number, end: number, start: number): number {
    const { rows } = this;
    const { bytes } = this.cursor;
    rows.reset(end - position + 1);
    const { deltas, sets } = rows;
    this.#depth = 0;
    let location = 0;
    let count = 0;
    let set = cie.initialSet;
    // Padding is skipped: after the last byte that is not 0, operands may follow, but no instructions.
    let last = end;
    while (last > position && bytes[last - 1] === DW_CFA.nop) last--;
    while (position < last) {
      const op = bytes[position++];
      let advance: number;
      if ((op & 0xc0) === DW_CFA.advance_loc) {
        advance = (op & 0x3f) * cie.codeAlignment;
      } else {
        position = this.#runOther(cie, op, position, end, set, start + location);
        set = this.#set;
        advance = this.#advance;
      }
      if (advance > 0) {
        deltas[count] = location;
        sets[count++] = set;
        location += advance;
        if (location > LAST_LOCATION) {
          rows.count = count;
          return set;
        }
      }
    }
    deltas[count] = location;
    sets[count++] = set;
    rows.count = count;
    return set;
  }

  /**
   * Runs an instruction whose opcode was read, with operands from `position` on, at a code offset (minus
   * `OFFSET_BIAS`). Returns the position after it, or the end if the program cannot continue. The result is in
   * `#set` and `#advance`.
   */
  #runOther(cie: Cie, op: number, position: number, end: number, set: number, offset: number): number {
    const { cursor, rules } = this;
    cursor.position = position;
    cursor.end = end;
    this.#set = set;
    this.#advance = 0;
    const factor = cie.dataAlignment;
    switch (op) {
      case DW_CFA.nop:
        break;
      case DW_CFA.set_loc:
        // A location that moves backwards is damage; the rows stay in order.
        this.#advance = cursor.encodedPointer(cie.pointerEncoding) - (this.#origin + offset);
        break;
      case DW_CFA.advance_loc1:
        this.#advance = cursor.unsigned(1) * cie.codeAlignment;
        break;
      case DW_CFA.advance_loc2:
        this.#advance = cursor.unsigned(2) * cie.codeAlignment;
        break;
      case DW_CFA.advance_loc4:
        this.#advance = cursor.unsigned(4) * cie.codeAlignment;
        break;
      case DW_CFA.MIPS_advance_loc8:
        this.#advance = cursor.unsigned(8) * cie.codeAlignment;
        break;
      case DW_CFA.offset_extended:
        this.#set = withOffset(rules, set, cursor.uleb(), cursor.uleb() * factor);
        break;
      case DW_CFA.offset_extended_sf:
        this.#set = withOffset(rules, set, cursor.uleb(), cursor.sleb() * factor);
        break;
      case DW_CFA.GNU_negative_offset_extended:
        this.#set = withOffset(rules, set, cursor.uleb(), -cursor.uleb() * factor);
        break;
      case DW_CFA.val_offset:
        this.#set = withValOffset(rules, set, cursor.uleb(), cursor.uleb() * factor);
        break;
      case DW_CFA.val_offset_sf:
        this.#set = withValOffset(rules, set, cursor.uleb(), cursor.sleb() * factor);
        break;
      case DW_CFA.restore_extended:
        this.#set = rules.withRuleOf(set, cursor.uleb(), cie.initialSet);
        break;
      case DW_CFA.undefined:
        this.#set = rules.withRule(set, cursor.uleb(), RULE.undefined, 0);
        break;
      case DW_CFA.same_value:
        this.#set = rules.withRule(set, cursor.uleb(), RULE.same, 0);
        break;
      case DW_CFA.register: {
        const register = cursor.uleb();
        const from = cursor.uleb();
        const rule = from < INT32_LIMIT ? RULE.register : RULE.unknown;
        this.#set = rules.withRule(set, register, rule, rule === RULE.register ? from : 0);
        break;
      }
      case DW_CFA.remember_state:
        if (this.#depth < MAX_REMEMBERED) this.#remembered[this.#depth] = set;
        else this.problems.add("unsupported", position - 1, "DW_CFA_remember_state", "nested too deeply");
        this.#depth++;
        break;
      case DW_CFA.restore_state:
        if (this.#depth === 0) {
          this.problems.add("malformed", position - 1, "DW_CFA_restore_state", "nothing was remembered");
          break;
        }
        if (--this.#depth < MAX_REMEMBERED) this.#set = this.#remembered[this.#depth];
        break;
      case DW_CFA.def_cfa:
        this.#set = withCfa(rules, set, cursor.uleb(), cursor.uleb());
        break;
      case DW_CFA.def_cfa_sf:
        this.#set = withCfa(rules, set, cursor.uleb(), cursor.sleb() * factor);
        break;
      case DW_CFA.def_cfa_register:
        this.#set = withCfaRegister(rules, set, cursor.uleb());
        break;
      case DW_CFA.def_cfa_offset:
        this.#set = withCfaOffset(rules, set, cursor.uleb());
        break;
      case DW_CFA.def_cfa_offset_sf:
        this.#set = withCfaOffset(rules, set, cursor.sleb() * factor);
        break;
      case DW_CFA.def_cfa_expression:
        this.#set = withCfaExpression(rules, set, this.#expression());
        break;
      case DW_CFA.expression:
        this.#set = rules.withRule(set, cursor.uleb(), RULE.expression, this.#expression());
        break;
      case DW_CFA.val_expression:
        this.#set = rules.withRule(set, cursor.uleb(), RULE.valExpression, this.#expression());
        break;
      case DW_CFA.AARCH64_negate_ra_state:
        this.#set = rules.withSignStateFlipped(set, 1);
        break;
      case DW_CFA.AARCH64_negate_ra_state_with_pc:
        this.#set = rules.withSignStateFlipped(set, 3);
        break;
      case DW_CFA.GNU_args_size:
        cursor.uleb();
        break;
      default:
        if ((op & 0xc0) === DW_CFA.offset) {
          this.#set = withOffset(rules, set, op & 0x3f, cursor.uleb() * factor);
          break;
        }
        if ((op & 0xc0) === DW_CFA.restore) {
          this.#set = rules.withRuleOf(set, op & 0x3f, cie.initialSet);
          break;
        }
        this.problems.add(
          "unknown-opcode",
          position - 1,
          "call frame instruction",
          `0x${op.toString(16)} is not known`,
        );
        return this.#giveUp(end);
    }
    if (cursor.position > end) {
      this.problems.add("truncated", position - 1, "call frame instruction", "its operands are cut off");
      return this.#giveUp(end);
    }
    return cursor.position;
  }

  #giveUp(end: number): number {
    this.#set = 0;
    this.#advance = 0;
    return end;
  }

  #expression(): number {
    const { cursor } = this;
    const start = cursor.skip(cursor.uleb());
    // An expression without operations gives no value, like a damaged one.
    if (Number.isNaN(start)) return this.expressions.add(new Uint8Array());
    return this.expressions.add(cursor.bytes.subarray(start, cursor.position));
  }
}
