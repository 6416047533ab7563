import { partitionPoint } from "../../../ground/bytes/columns.ts";
import type { FormatError } from "../../../ground/bytes/errors.ts";
import type { Architecture, ObjectFile } from "../../objects/types.ts";
import { type UnwindTarget, unwindTarget } from "../architecture.ts";
import type { CfiProblems } from "../cfi/problems.ts";
import {
  type CfiCounts,
  CfiDictionary,
  CfiReader,
  cfiOfObject,
  type FrameHeader,
  type ObjectCfi,
} from "../cfi/reader.ts";
import { CfiRows, type FdeRows, type FdeSink, OFFSET_BIAS } from "../cfi/rows.ts";
import type { RuleSets } from "../cfi/rule-sets.ts";
import {
  CompactTable,
  cfiBytes,
  ExtentTable,
  LONGEST_PADDING,
  readFdes,
  readTable,
} from "./compact-table.ts";
import { type KeptRegisters, ReducedRules } from "./reduce.ts";

/**
 * Layout of the search table.
 *
 * - `"compact"`: 4 bytes per entry, equal neighbours merged. The default.
 * - `"lul"`: an extent of 8 bytes for every row, as in Mozilla's LUL; for comparison.
 */
export type TableForm = "compact" | "lul";

export interface UnwindTableOptions {
  readonly form?: TableForm;
  readonly registers?: KeptRegisters;
  /**
   * Reads only `.eh_frame_hdr` and the FDEs that are looked up, for a few lookups in a large object. Without
   * `.eh_frame_hdr`, everything is read, into a table that has no rules for padding either.
   */
  readonly lazy?: boolean;
}

interface Lookup {
  find(offset: number): number;
}

/**
 * Unwind rules for the code of one object, built from its call frame information: a dictionary of rule sets and a
 * search table.
 *
 *     const table = UnwindTable.fromObject(openObject(bytes));
 *     const set = table.find(0x1139);          // address in the object, not in the process
 *     table.rules.cfaRegister(set);            // 7: rsp
 */
export class UnwindTable {
  readonly target: UnwindTarget;
  /** Lowest address of the object (SVMA), without its load bias. */
  readonly base: number;
  /** Dictionary for the indices that `find` returns. Set 0 means: no rule. */
  readonly rules: RuleSets;
  /** DWARF expressions that rules refer to by number. */
  readonly expressions: readonly Uint8Array[];
  readonly counts: Readonly<CfiCounts>;
  /** Rows of all FDEs, before equal neighbours were merged; 0 in a lazy table. */
  readonly rowCount: number;
  /** Entries of the search table, including gaps; 0 in a lazy table. */
  readonly entryCount: number;
  /** Bytes of the search table, without the dictionary; 0 in a lazy table. */
  readonly byteLength: number;
  /** Search table in the compact form, if it was built. */
  readonly compact: CompactTable | undefined;
  readonly #lookup: Lookup;
  readonly #problems: CfiProblems;

  private constructor(parts: TableParts) {
    this.target = parts.target;
    this.base = parts.base;
    this.rules = parts.reduced.rules;
    this.expressions = parts.dictionary.expressions.programs;
    this.counts = parts.counts;
    this.rowCount = parts.rowCount;
    this.entryCount = parts.table?.count ?? 0;
    this.byteLength = parts.table?.byteLength ?? 0;
    this.compact = parts.table instanceof CompactTable ? parts.table : undefined;
    this.#lookup = parts.lookup;
    this.#problems = parts.dictionary.problems;
  }

  /**
   * Reads the call frame information of an object: `.eh_frame` and `.debug_frame`. Never throws. An object or
   * architecture without call frame information makes an empty table. Damaged parts are left out (see `problems`).
   */
  static fromObject(object: ObjectFile, options: UnwindTableOptions = {}): UnwindTable {
    return UnwindTable.fromCfi(cfiOfObject(object), object.architecture, options);
  }

  /** Builds the table like `fromObject`, from sections that were found before. */
  static fromCfi(cfi: ObjectCfi, architecture: Architecture, options: UnwindTableOptions = {}): UnwindTable {
    const target = unwindTarget(architecture) ?? unwindTarget("x86_64")!;
    const dictionary = new CfiDictionary(cfiBytes(cfi));
    const reduced = new ReducedRules(dictionary.rules, target, options.registers ?? "callee-saved");
    const parts = { target, base: cfi.base, reduced, dictionary };
    if (options.form === "lul") {
      const rows = new CfiRows(cfiBytes(cfi));
      const counts = readFdes(cfi, dictionary, rows);
      const table = ExtentTable.ofRows(rows, reduced);
      return new UnwindTable({ ...parts, counts, rowCount: rows.count, lookup: table, table });
    }
    if (options.lazy && cfi.header !== undefined && cfi.header.count > 0) {
      const lookup = new LazyLookup(cfi, cfi.header, dictionary, reduced);
      return new UnwindTable({ ...parts, counts: lookup.counts, rowCount: 0, lookup, table: undefined });
    }
    const { table, counts, rowCount } = readTable(
      cfi,
      dictionary,
      reduced,
      options.lazy ? 1 : LONGEST_PADDING,
    );
    return new UnwindTable({ ...parts, counts, rowCount, lookup: table, table });
  }

  /** Returns the index in `rules` of the rule set for an address of the object (SVMA); 0 if there is none. */
  find(address: number): number {
    return this.#lookup.find(address - this.base);
  }

  /** Damaged or unsupported parts: the first few. */
  get problems(): readonly FormatError[] {
    return this.#problems.errors;
  }

  get problemCount(): number {
    return this.#problems.count;
  }
}

interface TableParts {
  target: UnwindTarget;
  base: number;
  reduced: ReducedRules;
  dictionary: CfiDictionary;
  counts: CfiCounts;
  rowCount: number;
  lookup: Lookup;
  table: CompactTable | ExtentTable | undefined;
}

/**
 * Maximum number of cached rows; when it is reached, all are dropped. Profiles of large programs use a tenth of it.
 */
const MOST_ROWS = 1 << 20;

class KeptFde {
  readonly start: number;
  readonly end: number;
  readonly #deltas: Int32Array;
  readonly #sets: Int32Array;

  constructor(start: number, end: number, { first, deltas, sets, count }: FdeRows) {
    this.start = start;
    this.end = end;
    this.#deltas = deltas.slice(first, first + count);
    this.#sets = sets.slice(first, first + count);
  }

  get rowCount(): number {
    return this.#deltas.length;
  }

  find(offset: number): number {
    const delta = offset - this.start;
    const deltas = this.#deltas;
    return this.#sets[partitionPoint(0, deltas.length, (index) => deltas[index] <= delta) - 1];
  }
}

class LastFde implements FdeSink {
  #fde: KeptFde | undefined;

  addFde(biasedStart: number, size: number, rows: FdeRows): void {
    const start = biasedStart + OFFSET_BIAS;
    this.#fde = new KeptFde(start, start + size, rows);
  }

  take(): KeptFde | undefined {
    const fde = this.#fde;
    this.#fde = undefined;
    return fde;
  }
}

/**
 * Finds rules through `.eh_frame_hdr`, and reads only the FDEs that are looked up. The header can lead to an empty
 * FDE instead of a real one with the same start. In that case, and beyond the header's end, all sections are read
 * once.
 */
class LazyLookup {
  readonly #cfi: ObjectCfi;
  readonly #header: FrameHeader;
  readonly #dictionary: CfiDictionary;
  readonly #reduced: ReducedRules;
  readonly #read = new LastFde();
  readonly #reader: CfiReader;
  /** FDEs by their index in the header; undefined if the header leads to none. */
  readonly #fdes = new Map<number, KeptFde | undefined>();
  #keptRows = 0;
  #fullTable: { find(offset: number): number } | undefined;

  constructor(cfi: ObjectCfi, header: FrameHeader, dictionary: CfiDictionary, reduced: ReducedRules) {
    this.#cfi = cfi;
    this.#header = header;
    this.#dictionary = dictionary;
    this.#reduced = reduced;
    this.#reader = new CfiReader(cfi.sections[0], dictionary, cfi, this.#read);
  }

  get counts(): CfiCounts {
    return this.#reader.counts;
  }

  find(offset: number): number {
    if (this.#fullTable !== undefined) return this.#fullTable.find(offset);
    const index = this.#header.search(offset + this.#cfi.base);
    if (index >= 0) {
      const fde = this.#fdeAt(index);
      // The FDE is empty, damaged or not at this address: the header is unreliable here.
      if (fde === undefined || fde.start > offset) return this.#findInAll(offset);
      if (offset < fde.end) return this.#reduced.indexOf(fde.find(offset));
    }
    // The address is between functions, unless some sections are not covered by the header.
    return this.#cfi.sections.length > 1 ? this.#findInAll(offset) : 0;
  }

  #fdeAt(index: number): KeptFde | undefined {
    if (this.#fdes.has(index)) return this.#fdes.get(index);
    this.#reader.readFde(this.#header.fdeAt(index));
    const fde = this.#read.take();
    this.#keptRows += fde?.rowCount ?? 0;
    if (this.#keptRows > MOST_ROWS) {
      this.#fdes.clear();
      this.#keptRows = fde?.rowCount ?? 0;
    }
    this.#fdes.set(index, fde);
    return fde;
  }

  #findInAll(offset: number): number {
    this.#fullTable = readTable(this.#cfi, this.#dictionary, this.#reduced, 1).table;
    return this.#fullTable.find(offset);
  }
}
