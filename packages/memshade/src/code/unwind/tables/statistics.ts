import { grown } from "../../../ground/bytes/columns.ts";
import type { Architecture, ObjectFile } from "../../objects/types.ts";
import { type UnwindTarget, unwindTarget } from "../architecture.ts";
import { type CfiCounts, CfiDictionary, cfiOfObject } from "../cfi/reader.ts";
import { type FdeRows, type FdeSink, LAST_OFFSET } from "../cfi/rows.ts";
import { CFA_RULE, RULE, type RuleSets } from "../cfi/rule-sets.ts";
import { cfiBytes, LONGEST_PADDING, MAX_EXTENT_BYTES, readFdes, readTable } from "./compact-table.ts";
import { type KeptRegisters, ReducedRules } from "./reduce.ts";

class CfiTally implements FdeSink {
  rows = 0;
  /** Extents with 16-bit lengths that the rows need: one each, more for long ones. */
  extents = 0;
  uses = new Uint32Array(4096);
  #fdes = 0;
  #starts: Int32Array;
  #ends: Int32Array;

  constructor(sectionBytes: number) {
    this.#starts = new Int32Array(16 + Math.ceil(sectionBytes / 40));
    this.#ends = new Int32Array(this.#starts.length);
  }

  addFde(start: number, size: number, program: FdeRows): void {
    const { first, deltas, sets, count } = program;
    const last = first + count;
    let row = first;
    for (; row < last && deltas[row] < size; row++) {
      const set = sets[row];
      if (set >= this.uses.length) this.#growUses(set);
      this.uses[set]++;
    }
    this.rows += row - first;
    this.extents += row - first;
    // Most functions are too short for a row that needs several extents.
    if (size > MAX_EXTENT_BYTES) this.extents += piecesBehindFirst(deltas.subarray(first, row), size);
    this.#addRange(start, Math.min(start + size, LAST_OFFSET));
  }

  gaps(): number {
    const starts = this.#starts.subarray(0, this.#fdes).sort();
    const ends = this.#ends.subarray(0, this.#fdes).sort();
    let gaps = 0;
    // If as many functions have ended as began before, no function covers the code up to the next start.
    for (let i = 1; i < this.#fdes; i++) if (ends[i - 1] < starts[i]) gaps++;
    return gaps;
  }

  #addRange(start: number, end: number): void {
    if (this.#fdes === this.#starts.length) {
      this.#starts = grown(this.#starts, this.#starts.length * 2);
      this.#ends = grown(this.#ends, this.#ends.length * 2);
    }
    this.#starts[this.#fdes] = start;
    this.#ends[this.#fdes++] = end;
  }

  #growUses(set: number): void {
    const larger = new Uint32Array(2 * set);
    larger.set(this.uses);
    this.uses = larger;
  }
}

function piecesBehindFirst(deltas: Int32Array, size: number): number {
  let pieces = 0;
  for (let row = 0; row < deltas.length; row++) {
    const end = row + 1 < deltas.length ? deltas[row + 1] : size;
    pieces += Math.ceil((end - deltas[row]) / MAX_EXTENT_BYTES) - 1;
  }
  return pieces;
}

/** Size of a rule set of LUL: CFA, pc, stack pointer and frame pointer, 8 bytes each. */
const LUL_RULE_SET_BYTES = 32;
const LUL_EXTENT_BYTES = 8;

/** Size of one form of an object's table. */
export interface FormStatistics {
  readonly ruleSets: number;
  readonly entries: number;
  readonly tableBytes: number;
  readonly dictionaryBytes: number;
}

/** Statistics of an object's call frame information. */
export interface CfiStatistics extends CfiCounts {
  readonly architecture: Architecture;
  readonly sections: readonly { readonly name: string; readonly bytes: number }[];
  readonly rows: number;
  /** Number of ranges between functions that no FDE covers; adjoining functions have none. */
  readonly gaps: number;
  /**
   * Rows whose CFA is the stack or frame pointer plus a constant. Their return address is at its usual place (below
   * the CFA, or still in the link register), and the frame pointer is unchanged or saved below the CFA.
   */
  readonly simpleRows: number;
  /** Rows whose CFA or registers need an expression. */
  readonly expressionRows: number;
  /** Form with an extent of 8 bytes per row, three registers. */
  readonly lul: FormStatistics;
  /** Form with entries of 4 bytes, three registers. */
  readonly threeRegisters: FormStatistics;
  /** Form with entries of 4 bytes, all callee-saved registers. */
  readonly calleeSaved: FormStatistics;
  readonly problemCount: number;
}

/**
 * Reads an object's call frame information and returns statistics of it; undefined for WebAssembly.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { cfiStatistics, openObject } from "memshade/unwind";
 *
 * assert.equal(cfiStatistics(openObject(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))), undefined);
 * ```
 */
export function cfiStatistics(object: ObjectFile): CfiStatistics | undefined {
  const target = unwindTarget(object.architecture);
  if (target === undefined) return undefined;
  const cfi = cfiOfObject(object);
  const size = cfiBytes(cfi);
  const dictionary = new CfiDictionary(size);
  const tally = new CfiTally(size);
  const counts = readFdes(cfi, dictionary, tally);
  const statisticsOf = (registers: KeptRegisters): FormStatistics => {
    const reduced = new ReducedRules(dictionary.rules, target, registers);
    const { table } = readTable(cfi, dictionary, reduced, LONGEST_PADDING);
    const { rules } = reduced;
    return {
      ruleSets: rules.count - 1,
      entries: table.count,
      tableBytes: table.byteLength,
      dictionaryBytes: 4 * (rules.starts[rules.count] + rules.count),
    };
  };
  const threeRegisters = statisticsOf("three");
  const { rules } = dictionary;
  return {
    ...counts,
    architecture: object.architecture,
    sections: cfi.sections.map(({ kind, bytes }) => ({ name: `.${kind}`, bytes: bytes.length })),
    rows: tally.rows,
    gaps: tally.gaps(),
    simpleRows: sumUses(tally.uses, rules, (set) => isSimple(rules, set, target)),
    expressionRows: sumUses(tally.uses, rules, (set) => hasExpression(rules, set)),
    lul: {
      ruleSets: threeRegisters.ruleSets,
      entries: tally.extents,
      tableBytes: LUL_EXTENT_BYTES * tally.extents,
      dictionaryBytes: LUL_RULE_SET_BYTES * threeRegisters.ruleSets,
    },
    threeRegisters,
    calleeSaved: statisticsOf("callee-saved"),
    problemCount: dictionary.problems.count,
  };
}

function sumUses(uses: Uint32Array, rules: RuleSets, holds: (set: number) => boolean): number {
  let sum = 0;
  for (let set = 0; set < rules.count; set++) if (uses[set] > 0 && holds(set)) sum += uses[set];
  return sum;
}

function isSimple(rules: RuleSets, set: number, target: UnwindTarget): boolean {
  if (rules.cfaRule(set) !== CFA_RULE.register) return false;
  const base = rules.cfaRegister(set);
  if (base !== target.stackPointer && base !== target.framePointer) return false;
  const returnAddress = ruleOf(rules, set, rules.returnAddress(set));
  if (target.linkRegister === undefined) {
    if (returnAddress?.rule !== RULE.offset || returnAddress.operand !== -target.wordSize) return false;
  } else if (!isUnchangedOrSaved(returnAddress)) return false;
  return isUnchangedOrSaved(ruleOf(rules, set, target.framePointer));
}

function ruleOf(rules: RuleSets, set: number, register: number) {
  const at = rules.find(set, register);
  return at < 0 ? undefined : { rule: rules.words[at] & 0xff, operand: rules.words[at + 1] };
}

function isUnchangedOrSaved(found: { rule: number; operand: number } | undefined): boolean {
  if (found === undefined || found.rule === RULE.same) return true;
  return found.rule === RULE.offset && found.operand < 0;
}

function hasExpression(rules: RuleSets, set: number): boolean {
  if (rules.cfaRule(set) === CFA_RULE.expression) return true;
  for (let at = rules.starts[set] + 3; at < rules.starts[set + 1]; at += 2) {
    const rule = rules.words[at] & 0xff;
    if (rule === RULE.expression || rule === RULE.valExpression) return true;
  }
  return false;
}
