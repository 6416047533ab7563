import {
  type Address,
  type Constant,
  type Instruction,
  isAddress,
  isConstant,
  NONE,
  type Source,
  type Value,
  valuesOf,
} from "../code.ts";
import type { CodeBuilder } from "./builder.ts";

/** A comparison that nobody has asked for as a number yet. */
export interface Comparison {
  kind: "comparison";
  comparison: Instruction["comparison"];
  condition: Instruction["condition"];
  wide: boolean;
  left: Source;
  right: Source;
}

/** A sum that nobody has asked for yet. It is made with 64 or 32 bits, of which the upper ones are dropped then. */
export interface Sum {
  kind: "sum";
  wide: boolean;
  address: Address;
}

/** What may stand on the operand stack: a value or a constant, or how one is made. */
export type Entry = Value | Constant | Sum | Comparison;

/**
 * The operand stack while a body is lowered. Sums, constants and comparisons stay what they are until an instruction needs a register:
 * most become part of that instruction. Every entry but those that name a local is used once.
 */
export class OperandStack {
  readonly #builder: CodeBuilder;
  readonly entries: Entry[] = [];
  /** How many of the first values are locals. */
  locals = 0;

  constructor(builder: CodeBuilder) {
    this.#builder = builder;
  }

  get height(): number {
    return this.entries.length;
  }

  push(entry: Entry): void {
    this.entries.push(entry);
  }

  pop(): Entry {
    return this.entries.pop() as Entry;
  }

  popValue(): Value {
    return this.value(this.pop());
  }

  /** A value or a constant. */
  popPlain(): Value | Constant {
    return this.plain(this.pop());
  }

  /** Operands of a call, the first one first. */
  popArguments(count: number): Source[] {
    return Array.from({ length: count }, () => this.popPlain()).reverse();
  }

  plain(entry: Entry): Value | Constant {
    return typeof entry === "object" && entry.kind === "constant" ? entry : this.value(entry);
  }

  value(entry: Entry): Value {
    if (typeof entry === "number") return entry;
    const to = this.#builder.newValue();
    this.into(to, entry);
    return to;
  }

  /** Gives `to` what an entry stands for. */
  into(to: Value, entry: Entry): void {
    const builder = this.#builder;
    if (typeof entry === "number") {
      if (entry !== to) builder.add("move", to, [entry], { wide: true });
    } else if (entry.kind === "constant") builder.add("move", to, [entry], { wide: true });
    else if (entry.kind === "sum") builder.add("lea", to, [entry.address], { wide: entry.wide });
    else {
      const { from, ...how } = this.condition(entry);
      builder.add("compare", to, from, how);
    }
  }

  /**
   * The operand `b` of an instruction with `a` as its other one: the place it was just loaded from, where the load can be left out.
   * `bytes`: of the instruction.
   */
  fused(entry: Entry, bytes: number): Source {
    const source = this.plain(entry);
    const { last } = this.#builder;
    const loads =
      last?.op === "load" && last.bytes === bytes && isAddress(last.from[0]) && this.isResult(source);
    return loads && last.wide === (bytes === 8) ? this.#builder.takeLast().from[0] : source;
  }

  /** Operands and manner of a comparison at the place where it is used. */
  condition(entry: Entry): { from: Source[] } & Pick<Instruction, "comparison" | "condition" | "wide"> {
    if (typeof entry === "number" || entry.kind !== "comparison")
      return { from: [this.value(entry), ZERO], comparison: "cmp", condition: "ne", wide: false };
    const { comparison, condition, wide, left, right } = entry;
    if (comparison !== "cmp") return { from: [left, right], comparison, condition, wide };
    const { last } = this.#builder;
    const ofBits =
      last?.op === "arithmetic" && last.name === "and" && last.wide === wide && this.isResult(left);
    if (ofBits && isConstant(right) && right.value === 0n && (condition === "e" || condition === "ne"))
      return { from: [...this.#builder.takeLast().from], comparison: "test", condition, wide };
    const bytes = wide ? 8 : 4;
    const fusedRight = typeof right === "number" ? this.fused(right, bytes) : right;
    const fusedLeft = isAddress(fusedRight) || typeof left !== "number" ? left : this.fused(left, bytes);
    return { from: [fusedLeft, fusedRight], comparison, condition, wide };
  }

  /** As `into`; the last instruction computes it there at once where `entry` is its result. */
  give(to: Value, entry: Entry): void {
    if (this.isResult(entry)) (this.#builder.last as Instruction).to = to;
    else this.into(to, entry);
  }

  /** Whether an entry is what the last instruction computed, for nobody else. */
  isResult(entry: Entry | Source): boolean {
    return typeof entry === "number" && entry >= this.locals && this.#builder.last?.to === entry;
  }

  /** Gives entries that mean the present content of `local` registers of their own: it is about to change. */
  keep(local: Value): void {
    this.#copy((value) => value === local);
  }

  /** The same for every entry that means a local. */
  keepLocals(): void {
    this.#copy((value) => value < this.locals);
  }

  #copy(concerned: (value: Value) => boolean): void {
    this.entries.forEach((entry, i) => {
      if (!valuesOfEntry(entry).some(concerned)) return;
      if (typeof entry !== "number") this.entries[i] = this.value(entry);
      else
        this.entries[i] = this.#builder.make(
          "move",
          [entry],
          { wide: true },
          this.#builder.code.vector[entry],
        );
    });
  }
}

export const ZERO: Constant = { kind: "constant", value: 0n };

function valuesOfEntry(entry: Entry): readonly Value[] {
  if (typeof entry === "number") return entry === NONE ? [] : [entry];
  if (entry.kind === "constant") return [];
  return entry.kind === "sum" ? valuesOf(entry.address) : [...valuesOf(entry.left), ...valuesOf(entry.right)];
}
