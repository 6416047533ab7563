import type { ObjectFile } from "../../../src/code/objects/types.ts";
import { unwindTarget } from "../../../src/code/unwind/architecture.ts";
import { CfiDictionary, cfiOfObject } from "../../../src/code/unwind/cfi/reader.ts";
import { CfiRows } from "../../../src/code/unwind/cfi/rows.ts";
import { CFA_RULE, RULE, type RuleSets } from "../../../src/code/unwind/cfi/rule-sets.ts";
import { readFdes } from "../../../src/code/unwind/tables/compact-table.ts";

/** Rows of an object as text, in the notation of `readelf --debug-dump=frames-interp`. */
export class InterpretedRows {
  readonly rows: CfiRows;
  /** Address (SVMA) that the offsets of rows count from. */
  readonly base: number;
  readonly #rules: RuleSets;
  readonly #names: readonly string[];
  readonly #texts = new Map<number, string>();

  constructor(object: ObjectFile) {
    const cfi = cfiOfObject(object);
    const bytes = cfi.sections.reduce((sum, section) => sum + section.bytes.length, 0);
    const dictionary = new CfiDictionary(bytes);
    this.rows = new CfiRows(bytes);
    this.base = cfi.base;
    readFdes(cfi, dictionary, this.rows);
    this.#rules = dictionary.rules;
    this.#names = unwindTarget(object.architecture)!.registerNames;
  }

  /** Rule set of row `i`: `rsp+16 rbx=c-24 ra=c-8`, without registers whose rule is missing or undefined. */
  text(row: number): string {
    const set = this.rows.sets[row];
    const known = this.#texts.get(set);
    if (known !== undefined) return known;
    const rules = this.#rules;
    const parts = [this.#cfaText(set)];
    for (let at = rules.starts[set] + 3; at < rules.starts[set + 1]; at += 2) {
      const register = rules.words[at] >>> 8;
      const rule = rules.words[at] & 0xff;
      if (rule === RULE.undefined) continue;
      const name = register === rules.returnAddress(set) ? "ra" : this.#name(register);
      parts.push(`${name}=${this.#ruleText(rule, rules.words[at + 1])}`);
    }
    const text = parts.join(" ");
    this.#texts.set(set, text);
    return text;
  }

  #name(register: number): string {
    return this.#names[register] ?? vectorRegister(register, this.#names.includes("rax")) ?? `r${register}`;
  }

  #cfaText(set: number): string {
    const operand = this.#rules.cfaOperand(set);
    switch (this.#rules.cfaRule(set)) {
      case CFA_RULE.register:
        return `${this.#name(this.#rules.cfaRegister(set))}${signed(operand)}`;
      case CFA_RULE.expression:
        return "exp";
      default:
        return "?";
    }
  }

  #ruleText(rule: number, operand: number): string {
    switch (rule) {
      case RULE.same:
        return "s";
      case RULE.offset:
        return `c${signed(operand)}`;
      case RULE.valOffset:
        return `v${signed(operand)}`;
      case RULE.register:
        return this.#name(operand);
      case RULE.expression:
        return "exp";
      case RULE.valExpression:
        return "vexp";
      case RULE.constant:
        return `${operand}`;
      default:
        return "?";
    }
  }
}

function signed(value: number): string {
  return value < 0 ? `${value}` : `+${value}`;
}

/** Name of a vector register; vector registers are not recovered. */
function vectorRegister(register: number, isX64: boolean): string | undefined {
  if (isX64 && register >= 17 && register < 33) return `xmm${register - 17}`;
  return !isX64 && register >= 64 && register < 96 ? `v${register - 64}` : undefined;
}
