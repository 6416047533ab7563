import { type Mib, mergeMib } from "../../mib.ts";
import { MIB_FIELDS, type MibField, zeroMib } from "../../mib-fields.ts";
import { NarrowColumn } from "../column.ts";
import type { BlockWords } from "../profile-view.ts";

export type MergeRule = "sum" | "min" | "max" | "last" | "none";

export function ruleOf({ name }: MibField): MergeRule {
  if (name === "accessHistogram") return "none";

  if (["accessHistogramSize", "dataTypeId"].includes(name) || name.startsWith("max")) return "max";
  if (name.startsWith("min")) return "min";
  return name.startsWith("alloc") && name !== "allocCount"
    ? "last"
    : name.startsWith("dealloc")
      ? "last"
      : "sum";
}

const OFFSETS = new Map<number, number>();
{
  let offset = 0;
  for (const { tag, bytes } of MIB_FIELDS) {
    OFFSETS.set(tag, offset);
    offset += bytes;
  }
}

interface Step {
  readonly rule: MergeRule;
  readonly isWide: boolean;
  readonly offset: number;
  readonly low: NarrowColumn;
  /** Upper words of a u64 field; almost all are 0. */
  readonly high: NarrowColumn;
}

/**
 * Rows in which blocks of different processes are combined: sums, minima, maxima. Timestamps and CPU numbers are those
 * of the last input. Adding two blocks creates no bigints.
 */
export class BlockMerge {
  readonly fields: readonly MibField[];
  /** True if blocks of one process combine differently from blocks of several. */
  readonly dependsOnOrder: boolean;
  readonly #steps: readonly Step[];
  /** Number of the input of the "last" fields plus 1, by row; 0 for an empty row. */
  readonly #lastInput = new NarrowColumn(1);

  constructor(fields: readonly MibField[]) {
    this.fields = fields;
    this.#steps = fields.map((field) => ({
      rule: ruleOf(field),
      isWide: field.bytes === 8,
      offset: OFFSETS.get(field.tag)!,
      low: new NarrowColumn(1),
      high: new NarrowColumn(1),
    }));
    this.dependsOnOrder = fields.some((field) => ruleOf(field) === "last" || field.name.startsWith("num"));
  }

  lastInputOf(row: number): number {
    return this.#lastInput.get(row) - 1;
  }

  lowOf(field: number, row: number): number {
    return this.#steps[field]!.low.get(row);
  }

  highOf(field: number, row: number): number {
    return this.#steps[field]!.high.get(row);
  }

  words(field: number): BlockWords {
    return {
      low: (row) => this.lowOf(field, row),
      high: (row) => this.highOf(field, row),
      gather: (rows, into, first, step) => this.gather(field, rows, into, first, step),
    };
  }

  /** Copies the words of some rows to every `step`-th index of an array; an upper word follows its lower one. */
  gather(field: number, rows: Uint32Array, into: Uint32Array, first: number, step: number): void {
    const { low, high, isWide } = this.#steps[field]!;
    low.gather(rows, into, first, step);
    if (isWide) high.gather(rows, into, first + 1, step);
  }

  release(field: number): void {
    this.#steps[field]!.low.release();
    this.#steps[field]!.high.release();
  }

  releaseAll(): void {
    for (let field = 0; field < this.#steps.length; field++) this.release(field);
    this.#lastInput.release();
  }

  /** Adds a packed MIB of a raw file. `present` is the number of bytes of the version's MIB. */
  addPacked(view: DataView, at: number, present: number, row: number, isNew: boolean, input: number): void {
    const isLast = this.#noteInput(row, isNew, input);
    for (const step of this.#steps) {
      const { rule, isWide, offset } = step;
      if (rule === "none" || offset >= present) continue;
      const low = view.getUint32(at + offset, true);
      combine(step, row, low, isWide ? view.getUint32(at + offset + 4, true) : 0, isNew, isLast);
    }
  }

  /** Adds a block with the given offset for each of `fields`; fields with -1 count as 0. */
  addFields(
    view: DataView,
    at: number,
    offsets: readonly number[],
    row: number,
    isNew: boolean,
    input: number,
  ): void {
    const isLast = this.#noteInput(row, isNew, input);
    for (let field = 0; field < this.#steps.length; field++) {
      const step = this.#steps[field]!;
      const offset = offsets[field]!;
      if (step.rule === "none" || offset < 0) continue;
      const low = view.getUint32(at + offset, true);
      combine(step, row, low, step.isWide ? view.getUint32(at + offset + 4, true) : 0, isNew, isLast);
    }
  }

  /** Adds a block of other columns, given as words; absent fields count as 0. */
  addWords(
    words: readonly (Uint32Array | undefined)[],
    sourceRow: number,
    row: number,
    isNew: boolean,
    input: number,
  ): void {
    const isLast = this.#noteInput(row, isNew, input);
    for (const [field, step] of this.#steps.entries()) {
      const source = words[field];
      if (step.rule === "none" || source === undefined) continue;
      const low = step.isWide ? source[2 * sourceRow]! : source[sourceRow]!;
      combine(step, row, low, step.isWide ? source[2 * sourceRow + 1]! : 0, isNew, isLast);
    }
  }

  addWide(words: Uint32Array, row: number, isNew: boolean, input: number): void {
    const isLast = this.#noteInput(row, isNew, input);
    for (let field = 0; field < this.#steps.length; field++) {
      const step = this.#steps[field]!;
      if (step.rule !== "none") combine(step, row, words[2 * field]!, words[2 * field + 1]!, isNew, isLast);
    }
  }

  addMib(mib: Mib, row: number, isNew: boolean, input: number): void {
    const isLast = this.#noteInput(row, isNew, input);
    for (const [field, step] of this.#steps.entries()) {
      if (step.rule === "none") continue;
      const value = BigInt(mib[this.fields[field]!.name]);
      combine(step, row, Number(value & 0xffffffffn), Number(value >> 32n), isNew, isLast);
    }
  }

  /** Returns true for a row without blocks. Only valid if `dependsOnOrder`. */
  isEmpty(row: number): boolean {
    return this.#lastInput.get(row) === 0;
  }

  #noteInput(row: number, isNew: boolean, input: number): boolean {
    if (!this.dependsOnOrder) return true;
    if (!isNew && input + 1 < this.#lastInput.get(row)) return false;
    this.#lastInput.set(row, input + 1);
    return true;
  }
}

function combine(step: Step, row: number, low: number, high: number, isNew: boolean, isLast: boolean): void {
  const { rule, isWide, low: lows, high: highs } = step;
  if (isNew) {
    lows.set(row, low);
    if (isWide) highs.set(row, high);
    return;
  }
  const oldLow = lows.get(row);
  if (!isWide) {
    if (rule === "sum") lows.set(row, (oldLow + low) >>> 0);
    else if (rule === "min" ? low < oldLow : rule === "max" ? low > oldLow : rule === "last" && isLast)
      lows.set(row, low);
    return;
  }
  const knownHigh = highs.get(row);
  if (rule === "sum") {
    const sum = oldLow + low;
    lows.set(row, sum >>> 0);
    highs.set(row, (knownHigh + high + (sum > 0xffffffff ? 1 : 0)) >>> 0);
    return;
  }
  const isLess = high < knownHigh || (high === knownHigh && low < oldLow);
  const isMore = high > knownHigh || (high === knownHigh && low > oldLow);
  if ((rule === "min" && isLess) || (rule === "max" && isMore)) {
    lows.set(row, low);
    highs.set(row, high);
  }
}

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

/** Reads a MIB whose fields are consecutive at an offset; other fields are 0. */
export function mibFromFields(view: DataView, at: number, fields: readonly MibField[]): Mib {
  const mib = zeroMib();
  let offset = at;
  for (const field of fields) {
    if (field.bytes === 4) mib[field.name] = view.getUint32(offset, true);
    else mib[field.name] = view.getBigUint64(offset, true);
    offset += field.bytes;
  }
  return mib;
}

/** Writes a MIB in the form of raw version 4, without its histogram. */
export function packMib(mib: Mib, view: DataView): void {
  for (const { tag, name, bytes } of MIB_FIELDS) {
    const offset = OFFSETS.get(tag)!;
    if (bytes === 4) view.setUint32(offset, Number(mib[name]), true);
    else view.setBigUint64(offset, BigInt(mib[name]), true);
  }
}

export function mergeInOrder(mibs: readonly Mib[]): Mib {
  const [first, ...later] = mibs;
  const merged = { ...first! };
  for (const mib of later) mergeMib(merged, mib);
  return merged;
}
