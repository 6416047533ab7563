import { type Mib, mergeMib } from "../mib.ts";
import { MIB_FIELDS, type MibField, zeroMib } from "../mib-fields.ts";
import type { BlockTable } from "./block-table.ts";

/** How a field of two blocks becomes one, for blocks of different processes. */
type Rule = "sum" | "min" | "max" | "last" | "none";

function ruleOf({ name }: MibField): Rule {
  if (name === "accessHistogram") return "none";

  if (["accessHistogramSize", "dataTypeId"].includes(name) || name.startsWith("max")) return "max";
  if (name.startsWith("min")) return "min";
  return name.startsWith("alloc") && name !== "allocCount"
    ? "last"
    : name.startsWith("dealloc")
      ? "last"
      : "sum";
}

/** Offset of each field in a MIB, by tag. */
const OFFSETS = new Map<number, number>();
{
  let offset = 0;
  for (const { tag, bytes } of MIB_FIELDS) {
    OFFSETS.set(tag, offset);
    offset += bytes;
  }
}

interface Step {
  readonly field: number;
  readonly rule: Rule;
  readonly isWide: boolean;
  readonly offset: number;
}

/**
 * Combines blocks of different processes into the rows of a table: sums, minima, maxima; timestamps and CPU numbers
 * are those of the input that comes last.
 */
export class BlockMerge {
  readonly table: BlockTable;
  /** Whether blocks of one process combine otherwise than blocks of several. */
  readonly dependsOnOrder: boolean;
  private readonly steps: readonly Step[];
  /** Of each row, the number of the input that "last" fields come from. */
  private lastInput = new Float64Array(256);

  constructor(table: BlockTable) {
    this.table = table;
    this.steps = table.fields.map((field, index) => ({
      field: index,
      rule: ruleOf(field),
      isWide: field.bytes === 8,
      offset: OFFSETS.get(field.tag)!,
    }));
    this.dependsOnOrder = table.fields.some(
      (field) => ruleOf(field) === "last" || field.name.startsWith("num"),
    );
  }

  lastInputOf(row: number): number {
    return this.lastInput[row]!;
  }

  /** Adds a MIB as it stands in a raw file, packed. `present` is the number of bytes of the version's MIB. */
  addPacked(view: DataView, at: number, present: number, row: number, isNew: boolean, input: number): void {
    const isLast = this.noteInput(row, isNew, input);
    for (const { field, rule, isWide, offset } of this.steps) {
      if (rule === "none" || offset >= present) continue;
      const low = view.getUint32(at + offset, true);
      const high = isWide ? view.getUint32(at + offset + 4, true) : 0;
      combine(this.table.wordsOf(field), row, rule, isWide, low, high, isNew, isLast);
    }
  }

  /** Adds a block of other columns, given as words; fields that are missing there count as 0. */
  addWords(
    words: readonly (Uint32Array | undefined)[],
    sourceRow: number,
    row: number,
    isNew: boolean,
    input: number,
  ): void {
    const isLast = this.noteInput(row, isNew, input);
    for (const { field, rule, isWide } of this.steps) {
      const source = words[field];
      if (rule === "none" || source === undefined) continue;
      const low = isWide ? source[2 * sourceRow]! : source[sourceRow]!;
      const high = isWide ? source[2 * sourceRow + 1]! : 0;
      combine(this.table.wordsOf(field), row, rule, isWide, low, high, isNew, isLast);
    }
  }

  /** Adds a MIB. */
  addMib(mib: Mib, row: number, isNew: boolean, input: number): void {
    const isLast = this.noteInput(row, isNew, input);
    for (const { field, rule, isWide } of this.steps) {
      if (rule === "none") continue;
      const value = BigInt(mib[this.table.fields[field]!.name]);
      const low = Number(value & 0xffffffffn);
      combine(this.table.wordsOf(field), row, rule, isWide, low, Number(value >> 32n), isNew, isLast);
    }
  }

  /** A row that nothing was added to yet. Only where `dependsOnOrder`. */
  isEmpty(row: number): boolean {
    return this.lastInput[row] === -1;
  }

  markEmpty(row: number): void {
    this.noteInput(row, true, -1);
  }

  private noteInput(row: number, isNew: boolean, input: number): boolean {
    if (!this.dependsOnOrder) return true;
    if (row >= this.lastInput.length) {
      const larger = new Float64Array(Math.ceil(row * 1.5) + 1);
      larger.set(this.lastInput);
      this.lastInput = larger;
    }
    if (!isNew && input < this.lastInput[row]!) return false;
    this.lastInput[row] = input;
    return true;
  }
}

function combine(
  words: Uint32Array,
  row: number,
  rule: Rule,
  isWide: boolean,
  low: number,
  high: number,
  isNew: boolean,
  isLast: boolean,
): void {
  if (!isWide) {
    const known = words[row]!;
    if (isNew) words[row] = low;
    else if (rule === "sum") words[row] = known + low;
    else if (rule === "min" ? low < known : rule === "max" ? low > known : rule === "last" && isLast) {
      words[row] = low;
    }
    return;
  }
  const at = 2 * row;
  if (!isNew && rule === "sum") {
    const sum = words[at]! + low;
    words[at] = sum;
    words[at + 1] = words[at + 1]! + high + (sum > 0xffffffff ? 1 : 0);
    return;
  }
  const isLess = high < words[at + 1]! || (high === words[at + 1] && low < words[at]!);
  const isMore = high > words[at + 1]! || (high === words[at + 1] && low > words[at]!);
  if (isNew || (rule === "min" && isLess) || (rule === "max" && isMore)) {
    words[at] = low;
    words[at + 1] = high;
  }
}

/** The MIB at an offset of a raw file, without its histogram. */
export function mibFromPacked(view: DataView, at: number, present: number): Mib {
  const mib = zeroMib();
  for (const field of MIB_FIELDS) {
    const offset = OFFSETS.get(field.tag)!;
    if (offset >= present) break;
    if (field.bytes === 4) mib[field.name] = view.getUint32(at + offset, true);
    else mib[field.name] = view.getBigUint64(at + offset, true);
  }
  return mib;
}

/** Blocks of one process, merged in order. */
export function mergeInOrder(mibs: readonly Mib[]): Mib {
  const [first, ...others] = mibs;
  const merged = { ...first! };
  for (const mib of others) mergeMib(merged, mib);
  return merged;
}
