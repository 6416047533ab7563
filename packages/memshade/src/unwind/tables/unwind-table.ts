import type { FormatError } from "../../bytes/errors.ts";
import type { ObjectFile } from "../../objects/types.ts";
import { RA_SIGN_STATE, type UnwindTarget, unwindTarget } from "../architecture.ts";
import { type CfiCounts, CfiDictionary, CfiReader } from "../cfi/reader.ts";
import { CfiRows } from "../cfi/rows.ts";
import { ROW_FLAG, RuleSets } from "../cfi/rule-sets.ts";
import { cfiOfObject, type ObjectCfi } from "../cfi/sections-of-object.ts";
import { CompactTable } from "./compact-table.ts";
import { LazyLookup } from "./lazy-lookup.ts";

/**
 * Which registers a table keeps rules for.
 *
 * - `"callee-saved"`: all that functions give back; what a debugger shows. The default.
 * - `"three"`: program counter, stack pointer and frame pointer (on AArch64 the link register too), which is what it
 *   takes to walk a stack. Equal neighbours become more, the dictionary smaller.
 */
export type KeptRegisters = "callee-saved" | "three";

export interface UnwindTableOptions {
  readonly registers?: KeptRegisters;
  /**
   * Reads nothing but `.eh_frame_hdr` and the FDEs that are looked up, for a few lookups in a large object. Without
   * effect where there is no `.eh_frame_hdr`.
   */
  readonly lazy?: boolean;
}

/** Finds the rule set at an offset from the base of an object; 0 if there is none. */
interface Lookup {
  find(offset: number): number;
}

const NO_ROWS = new CfiRows(0, 0);

/**
 * How to get from any address in the code of one object to the caller: its call frame information, summarised into a
 * dictionary of rule sets and a search table.
 *
 *     const table = UnwindTable.fromObject(openObject(bytes));
 *     const set = table.find(0x1139);          // address in the object, not in the process
 *     table.rules.cfaRegister(set);            // 7: rsp
 */
export class UnwindTable {
  readonly target: UnwindTarget;
  /** Lowest address of the object (SVMA); its load bias moves it. */
  readonly base: number;
  /** The dictionary that `find` gives indices of. Set 0 means: no rule. */
  readonly rules: RuleSets;
  /** DWARF expressions that rules refer to by number. */
  readonly expressions: readonly Uint8Array[];
  readonly counts: Readonly<CfiCounts>;
  /** Rows of all FDEs, before equal neighbours became one; 0 in a lazy table. */
  readonly rowCount: number;
  /** Entries of the search table, gaps included; 0 in a lazy table. */
  readonly entryCount: number;
  /** Bytes of the search table, without the dictionary; 0 in a lazy table. */
  readonly byteLength: number;
  readonly #lookup: Lookup;
  readonly #dictionary: CfiDictionary;

  private constructor(target: UnwindTarget, parts: TableParts) {
    this.target = target;
    this.base = parts.base;
    this.rules = parts.rules;
    this.expressions = parts.dictionary.expressions.programs;
    this.counts = parts.counts;
    this.rowCount = parts.rows.count;
    this.entryCount = parts.table?.count ?? 0;
    this.byteLength = parts.table?.byteLength ?? 0;
    this.#lookup = parts.lookup;
    this.#dictionary = parts.dictionary;
  }

  /**
   * Reads the call frame information of an object: `.eh_frame` and `.debug_frame`. Never throws: an object without any,
   * or of an architecture without any, makes an empty table, and what is damaged is left out (see `problems`).
   */
  static fromObject(object: ObjectFile, options: UnwindTableOptions = {}): UnwindTable {
    const target = unwindTarget(object.architecture);
    const cfi = cfiOfObject(object);
    const dictionary = new CfiDictionary(sizeOf(cfi));
    if (options.lazy && cfi.header !== undefined && cfi.header.count > 0 && target !== undefined) {
      const lookup = new LazyLookup(cfi, cfi.header, dictionary);
      const { counts } = lookup;
      return new UnwindTable(target, {
        base: cfi.base,
        rules: dictionary.rules,
        dictionary,
        counts,
        rows: NO_ROWS,
        lookup,
      });
    }
    const { rows, counts } = readRows(cfi, dictionary);
    const effective = target ?? unwindTarget("x86_64")!;
    const { rules, setOf } = reduce(dictionary.rules, effective, options.registers ?? "callee-saved");
    const table = CompactTable.build(rows, setOf);
    return new UnwindTable(effective, {
      base: cfi.base,
      rules,
      dictionary,
      counts,
      rows,
      lookup: table,
      table,
    });
  }

  /** Index in `rules` of the rule set that holds at an address of the object (SVMA); 0 if none does. */
  find(address: number): number {
    return this.#lookup.find(address - this.base);
  }

  /** What was found to be damaged or not supported: the first few. */
  get problems(): readonly FormatError[] {
    return this.#dictionary.problems.errors;
  }

  /** How many problems there were. */
  get problemCount(): number {
    return this.#dictionary.problems.count;
  }
}

interface TableParts {
  base: number;
  rules: RuleSets;
  dictionary: CfiDictionary;
  counts: CfiCounts;
  rows: CfiRows;
  lookup: Lookup;
  table?: CompactTable;
}

function sizeOf({ sections }: ObjectCfi): number {
  return sections.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** All rows of all sections of an object, in their order there. */
export function readRows(cfi: ObjectCfi, dictionary: CfiDictionary): { rows: CfiRows; counts: CfiCounts } {
  const rows = new CfiRows(cfi.base, sizeOf(cfi));
  const counts: CfiCounts = { cies: 0, fdes: 0, emptyFdes: 0, outsideFdes: 0 };
  for (const section of cfi.sections) {
    const reader = new CfiReader(section, dictionary, rows, cfi.code);
    reader.readAll();
    for (const name of Object.keys(counts) as (keyof CfiCounts)[]) counts[name] += reader.counts[name];
  }
  return { rows, counts };
}

/** A dictionary with the rules of some registers only, and where each set of the full one is in it. */
export function reduce(
  full: RuleSets,
  target: UnwindTarget,
  registers: KeptRegisters,
): { rules: RuleSets; setOf: Uint16Array | Uint32Array } {
  const { framePointer, stackPointer, linkRegister, pc, returnAddress } = target;
  const walked = new Set([framePointer, stackPointer, linkRegister, returnAddress, pc, RA_SIGN_STATE]);
  const rules = new RuleSets();
  const setOf = full.count > 0xffff ? new Uint32Array(full.count) : new Uint16Array(full.count);
  for (let set = 0; set < full.count; set++) {
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
