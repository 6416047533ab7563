import type { Architecture, ObjectFile } from "../../objects/types.ts";
import { type UnwindTarget, unwindTarget } from "../architecture.ts";
import { type CfiCounts, CfiDictionary } from "../cfi/reader.ts";
import { CfiRows } from "../cfi/rows.ts";
import { CFA_RULE, RULE, type RuleSets } from "../cfi/rule-sets.ts";
import { cfiOfObject } from "../cfi/sections-of-object.ts";
import { compactTableOf } from "./compact-table-builder.ts";
import { MAX_EXTENT_BYTES } from "./extent-table.ts";
import { cfiBytes, readFdes } from "./read-rows.ts";
import { type KeptRegisters, ReducedRules } from "./reduce.ts";

/** Words of a rule set of LUL: CFA, pc, stack pointer and frame pointer, 8 bytes each. */
const LUL_RULE_SET_BYTES = 32;
const LUL_EXTENT_BYTES = 8;

/** What one form of table takes for an object. */
export interface FormStatistics {
  /** Distinct rule sets that occur. */
  readonly ruleSets: number;
  /** Entries of the search table. */
  readonly entries: number;
  /** Bytes of the search table. */
  readonly tableBytes: number;
  /** Bytes of the dictionary of rule sets. */
  readonly dictionaryBytes: number;
}

/** What the call frame information of an object consists of. */
export interface CfiStatistics extends CfiCounts {
  readonly architecture: Architecture;
  /** Sections that were read, with their sizes in bytes. */
  readonly sections: readonly { readonly name: string; readonly bytes: number }[];
  readonly rows: number;
  /** Stretches between functions that no FDE covers; adjoining functions have none. */
  readonly gaps: number;
  /**
   * Rows whose CFA is the stack or frame pointer plus a constant, with the return address at its usual place (below
   * the CFA, or still in the link register) and the frame pointer unchanged or saved below the CFA.
   */
  readonly simpleRows: number;
  /** Rows whose CFA or registers need an expression. */
  readonly expressionRows: number;
  /** An extent of 8 bytes per row, three registers. */
  readonly lul: FormStatistics;
  /** Entries of 4 bytes, three registers. */
  readonly threeRegisters: FormStatistics;
  /** Entries of 4 bytes, all callee-saved registers. */
  readonly calleeSaved: FormStatistics;
  readonly problemCount: number;
}

/** Reads an object's call frame information once and says what is in it; undefined for WebAssembly. */
export function cfiStatistics(object: ObjectFile): CfiStatistics | undefined {
  const target = unwindTarget(object.architecture);
  if (target === undefined) return undefined;
  const cfi = cfiOfObject(object);
  const dictionary = new CfiDictionary(cfiBytes(cfi));
  const rows = new CfiRows(cfiBytes(cfi));
  const counts = readFdes(cfi, dictionary, rows);
  const uses = countUses(rows, dictionary.rules.count);
  const compact = (registers: KeptRegisters): FormStatistics => {
    const reduced = new ReducedRules(dictionary.rules, target, registers);
    const table = compactTableOf(rows, reduced);
    const { rules } = reduced;
    return {
      ruleSets: rules.count - 1,
      entries: table.count,
      tableBytes: table.byteLength,
      dictionaryBytes: 4 * (rules.starts[rules.count] + rules.count),
    };
  };
  const threeRegisters = compact("three");
  const extents = countExtents(rows);
  const simple = sumUses(uses, dictionary.rules, (set) => isSimple(dictionary.rules, set, target));
  return {
    ...counts,
    architecture: object.architecture,
    sections: cfi.sections.map(({ kind, bytes }) => ({ name: `.${kind}`, bytes: bytes.length })),
    rows: rows.count,
    gaps: countGaps(rows),
    simpleRows: simple,
    expressionRows: sumUses(uses, dictionary.rules, (set) => hasExpression(dictionary.rules, set)),
    lul: {
      ruleSets: threeRegisters.ruleSets,
      entries: extents,
      tableBytes: LUL_EXTENT_BYTES * extents,
      dictionaryBytes: LUL_RULE_SET_BYTES * threeRegisters.ruleSets,
    },
    threeRegisters,
    calleeSaved: compact("callee-saved"),
    problemCount: dictionary.problems.count,
  };
}

/** Rows per rule set. */
function countUses(rows: CfiRows, setCount: number): Uint32Array {
  const uses = new Uint32Array(setCount);
  const { sets, count } = rows;
  for (let row = 0; row < count; row++) uses[sets[row]]++;
  return uses;
}

function sumUses(uses: Uint32Array, rules: RuleSets, holds: (set: number) => boolean): number {
  let sum = 0;
  for (let set = 0; set < rules.count; set++) if (uses[set] > 0 && holds(set)) sum += uses[set];
  return sum;
}

/** One extent per row, more for those that are too long. */
function countExtents({ starts, fdeCount, fdeRows, fdeEnds }: CfiRows): number {
  let extents = 0;
  for (let fde = 0; fde < fdeCount; fde++) {
    const first = fdeRows[fde];
    const last = fdeRows[fde + 1] - 1;
    extents += last - first + 1;
    // Most functions are too short to have a row that is too long.
    if (fdeEnds[fde] - starts[first] <= MAX_EXTENT_BYTES) continue;
    for (let row = first; row <= last; row++) {
      const end = row < last ? starts[row + 1] : fdeEnds[fde];
      extents += Math.ceil((end - starts[row]) / MAX_EXTENT_BYTES) - 1;
    }
  }
  return extents;
}

function countGaps({ fdeStarts, fdeEnds, fdeCount }: CfiRows): number {
  const starts = fdeStarts.slice(0, fdeCount).sort();
  const ends = fdeEnds.slice(0, fdeCount).sort();
  let gaps = 0;
  // Where as many functions have ended as began before, none covers the code up to the next start.
  for (let i = 1; i < fdeCount; i++) if (ends[i - 1] < starts[i]) gaps++;
  return gaps;
}

function isSimple(rules: RuleSets, set: number, target: UnwindTarget): boolean {
  if (rules.cfaRule(set) !== CFA_RULE.register) return false;
  const base = rules.cfaRegister(set);
  if (base !== target.stackPointer && base !== target.framePointer) return false;
  const returnAddress = ruleOf(rules, set, rules.returnAddress(set));
  if (target.linkRegister === undefined) {
    if (returnAddress?.rule !== RULE.offset || returnAddress.operand !== -target.wordSize) return false;
  } else if (!isUnchangedOrSaved(returnAddress)) {
    return false;
  }
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
