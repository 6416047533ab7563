import type { Cie } from "./cie.ts";
import { DW_CFA } from "./constants.ts";
import { CfiCursor } from "./cursor.ts";
import type { Expressions } from "./expressions.ts";
import type { CfiProblems } from "./problems.ts";
import { OFFSET_BIAS, ProgramRows } from "./rows.ts";
import { CFA_RULE, RULE, type RuleSets } from "./rule-sets.ts";
import type { CfiSection } from "./section.ts";

const CACHE_BITS = 15;
/** Sets from here on do not fit into the key of a transition. */
const CACHED_SETS = 1 << 16;
const MAX_REMEMBERED = 64;
const INT32_LIMIT = 2 ** 31;
/** No function is longer than 2 GiB. */
const LAST_LOCATION = 2 ** 31 - 1;

/**
 * Remembers where an instruction leads from a rule set: instructions are few and repeat, so almost every one of a
 * large library is a look into this table. Key: set << 16 | code, where the code of an instruction is
 *
 *     opcode << 8 | operand        one operand below 128, or none
 *     0x4000 | offset              DW_CFA_def_cfa_offset of up to 14 bits
 *     0x3000 | register << 7 | n   DW_CFA_def_cfa below register 32 and offset 128
 *
 * What an instruction means depends on its CIE's data alignment and initial rules, so CIEs that differ in one have
 * tables of their own.
 */
export class TransitionCache {
  /** Pairs of a key and the set it leads to. Empty where 0: that would be DW_CFA_nop, which is never looked up. */
  readonly entries = new Int32Array(2 << CACHE_BITS);
}

/** Stands in for the table of a CIE that has none; nothing is ever found in it. */
const NO_CACHE = new Int32Array(2 << CACHE_BITS);

/** Runs call frame instructions and makes rows of them. */
export class CfiProgram {
  readonly cursor: CfiCursor;
  readonly rules: RuleSets;
  /** The rows of the last run. */
  readonly rows = new ProgramRows();
  readonly expressions: Expressions;
  readonly problems: CfiProblems;

  // What an instruction outside of the fast path did.
  #set = 0;
  /** Bytes that the location moved. */
  #advance = 0;
  readonly #remembered = new Uint32Array(MAX_REMEMBERED);
  #depth = 0;

  /** Address (SVMA) that counts as 0 in the starts of functions. */
  readonly #origin: number;

  /** @param base address (SVMA) of the object */
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
   * Runs the instructions `[position, end)` of the section for a function, leaves the rows in `rows`, and returns the last
   * rule set.
   *
   * @param start offset of the function from the base of the object, minus `OFFSET_BIAS`
   */
  run(cie: Cie, position: number, end: number, start: number): number {
    const { rows } = this;
    const { bytes } = this.cursor;
    rows.reset(end - position + 1);
    const { deltas, sets } = rows;
    const cache = cie.cache?.entries ?? NO_CACHE;
    const alignment = cie.codeAlignment;
    this.#depth = 0;
    let location = 0;
    let count = 0;
    let set = cie.initialSet;
    // Padding takes no time: behind the last byte that is not 0 there can be operands, but no instructions.
    let last = end;
    while (last > position && bytes[last - 1] === DW_CFA.nop) last--;
    while (position < last) {
      const op = bytes[position++];
      let advance: number;
      if ((op & 0xc0) === DW_CFA.advance_loc) {
        advance = (op & 0x3f) * alignment;
      } else if (op === DW_CFA.advance_loc1 && position < end) {
        advance = bytes[position++] * alignment;
      } else if (op === DW_CFA.advance_loc2 && position + 1 < end) {
        advance = (bytes[position] | (bytes[position + 1] << 8)) * alignment;
        position += 2;
      } else {
        let code = -1;
        if (op === DW_CFA.def_cfa_offset || (op & 0xc0) === DW_CFA.offset) {
          const operand = position < end ? bytes[position] : 0x80;
          if (operand < 0x80) {
            position++;
            code = (op << 8) | operand;
          } else if (op === DW_CFA.def_cfa_offset && position + 1 < end && bytes[position + 1] < 0x80) {
            code = 0x4000 | (bytes[position + 1] << 7) | (operand & 0x7f);
            position += 2;
          }
        } else if ((op & 0xc0) === DW_CFA.restore) {
          code = op << 8;
        } else if (op === DW_CFA.def_cfa_register && position < end && bytes[position] < 0x80) {
          code = (op << 8) | bytes[position++];
        } else if (op === DW_CFA.def_cfa && position + 1 < end && cache !== NO_CACHE) {
          if (bytes[position] < 32 && bytes[position + 1] < 0x80) {
            code = 0x3000 | (bytes[position] << 7) | bytes[position + 1];
            position += 2;
          }
        }
        if (code >= 0) {
          const key = (set << 16) | code;
          const slot = (Math.imul(key, 0x9e3779b1) >>> (32 - CACHE_BITS)) << 1;
          if (cache[slot] === key && set < CACHED_SETS) set = cache[slot + 1];
          else set = this.#transition(cie, set, code, cache, slot);
          continue;
        }
        // Everything that is rare, or whose operand is large.
        position = this.#runOther(cie, op, position, end, set, start, location);
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

  /** The rule set that an instruction makes of another, which is remembered if it can be. */
  #transition(cie: Cie, set: number, code: number, cache: Int32Array, slot: number): number {
    const key = (set << 16) | code;
    // What the slot cannot hold any more moves to its neighbour.
    const second = slot ^ 2;
    const next =
      cache[second] === key && set < CACHED_SETS ? cache[second + 1] : this.#nextSet(cie, set, code);
    if (cache === NO_CACHE || set >= CACHED_SETS) return next;
    cache[second] = cache[slot];
    cache[second + 1] = cache[slot + 1];
    cache[slot] = key;
    cache[slot + 1] = next;
    return next;
  }

  #nextSet(cie: Cie, set: number, code: number): number {
    const { rules } = this;
    const op = code >>> 8;
    const register = op & 0x3f;
    if (op >= DW_CFA.restore) return rules.withRuleOf(set, register, cie.initialSet);
    if (op >= DW_CFA.offset) return this.#withOffset(set, register, (code & 0xff) * cie.dataAlignment);
    if (op >= 0x40) return this.#withCfaOffset(set, code & 0x3fff);
    if (op >= 0x30) return rules.withCfa(set, CFA_RULE.register, (code >>> 7) & 0x1f, code & 0x7f);
    if (op === DW_CFA.def_cfa_offset) return this.#withCfaOffset(set, code & 0xff);
    return this.#withCfaRegister(set, code & 0xff);
  }

  #withOffset(set: number, register: number, offset: number): number {
    if (!(Math.abs(offset) < INT32_LIMIT)) return this.rules.withRule(set, register, RULE.unknown, 0);
    return this.rules.withRule(set, register, RULE.offset, offset);
  }

  #withValOffset(set: number, register: number, offset: number): number {
    if (!(Math.abs(offset) < INT32_LIMIT)) return this.rules.withRule(set, register, RULE.unknown, 0);
    return this.rules.withRule(set, register, RULE.valOffset, offset);
  }

  #withCfa(set: number, register: number, offset: number): number {
    const representable = register < INT32_LIMIT / 256 && Math.abs(offset) < INT32_LIMIT;
    if (!representable) return this.rules.withCfa(set, CFA_RULE.unknown, 0, 0);
    return this.rules.withCfa(set, CFA_RULE.register, register, offset);
  }

  #withCfaOffset(set: number, offset: number): number {
    const { rules } = this;
    const isRegister = rules.cfaRule(set) === CFA_RULE.register;
    if (!isRegister) return rules.withCfa(set, CFA_RULE.unknown, 0, 0);
    return this.#withCfa(set, rules.cfaRegister(set), offset);
  }

  #withCfaRegister(set: number, register: number): number {
    const { rules } = this;
    const isRegister = rules.cfaRule(set) === CFA_RULE.register;
    if (!isRegister) return rules.withCfa(set, CFA_RULE.unknown, 0, 0);
    return this.#withCfa(set, register, rules.cfaOperand(set));
  }

  /**
   * Runs one instruction whose opcode was read, with its operands from `position` on, `location` bytes behind the start of a
   * function, and returns the position behind it, or the end where the program cannot go on. What it does is in `#set` and
   * `#advance`.
   */
  #runOther(
    cie: Cie,
    op: number,
    position: number,
    end: number,
    set: number,
    start: number,
    location: number,
  ): number {
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
        this.#advance = cursor.encodedPointer(cie.pointerEncoding) - (this.#origin + start + location);
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
        this.#set = this.#withOffset(set, cursor.uleb(), cursor.uleb() * factor);
        break;
      case DW_CFA.offset_extended_sf:
        this.#set = this.#withOffset(set, cursor.uleb(), cursor.sleb() * factor);
        break;
      case DW_CFA.GNU_negative_offset_extended:
        this.#set = this.#withOffset(set, cursor.uleb(), -cursor.uleb() * factor);
        break;
      case DW_CFA.val_offset:
        this.#set = this.#withValOffset(set, cursor.uleb(), cursor.uleb() * factor);
        break;
      case DW_CFA.val_offset_sf:
        this.#set = this.#withValOffset(set, cursor.uleb(), cursor.sleb() * factor);
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
        this.#set = this.#withCfa(set, cursor.uleb(), cursor.uleb());
        break;
      case DW_CFA.def_cfa_sf:
        this.#set = this.#withCfa(set, cursor.uleb(), cursor.sleb() * factor);
        break;
      case DW_CFA.def_cfa_register:
        this.#set = this.#withCfaRegister(set, cursor.uleb());
        break;
      case DW_CFA.def_cfa_offset:
        this.#set = this.#withCfaOffset(set, cursor.uleb());
        break;
      case DW_CFA.def_cfa_offset_sf:
        this.#set = this.#withCfaOffset(set, cursor.sleb() * factor);
        break;
      case DW_CFA.def_cfa_expression:
        this.#set = rules.withCfa(set, CFA_RULE.expression, 0, this.#expression());
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
          this.#set = this.#withOffset(set, op & 0x3f, cursor.uleb() * factor);
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

  /** What holds from here on cannot be known. */
  #giveUp(end: number): number {
    this.#set = 0;
    this.#advance = 0;
    return end;
  }

  #expression(): number {
    const { cursor } = this;
    const start = cursor.skip(cursor.uleb());
    // An expression without operations gives no value, which is what a damaged one gives too.
    if (Number.isNaN(start)) return this.expressions.add(new Uint8Array());
    return this.expressions.add(cursor.bytes.subarray(start, cursor.position));
  }
}
