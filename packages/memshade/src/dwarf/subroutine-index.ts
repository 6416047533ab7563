import { LONGEST_CHAIN, textOf } from "./die.ts";
import {
  CALL_COLUMN,
  CALL_DISCRIMINATOR,
  CALL_FILE,
  CALL_LINE,
  FORMS,
  INLINED,
  LINKAGE_NAME,
  NAME,
  NAMES,
  NEXT,
  NO_SUBROUTINE,
  OFFSET,
  ORIGIN,
  PARENT,
  ROW,
  type SubroutineColumns,
  UNUSUAL_NAME,
} from "./subroutine-columns.ts";
import { readSubroutines } from "./subroutine-entries.ts";
import type { Unit } from "./unit.ts";
import { readUsualSubroutines } from "./usual-units.ts";

/**
 * The functions of a unit, inlined ones too, by address. One pass over the unit's entries collects those with tag
 * `subprogram` or `inlined_subroutine` in columns; all others are passed over without looking inside.
 */
export class SubroutineIndex {
  readonly unit: Unit;
  readonly #rows: Uint32Array;
  readonly #names: Uint32Array | undefined;
  readonly #starts: Float64Array;
  readonly #intervals: SubroutineColumns["intervals"];

  /** @param address the only one that will be asked for, at once: before anything else of this kind is made */
  constructor(unit: Unit, address?: number) {
    this.unit = unit;
    const { rows, names, starts, intervals } =
      readUsualSubroutines(unit, address) ??
      (address === undefined ? undefined : readUsualSubroutines(unit)) ??
      readSubroutines(unit);
    this.#rows = rows;
    this.#names = names;
    this.#starts = starts;
    this.#intervals = intervals;
  }

  /** Number of subroutines. */
  get length(): number {
    return this.#starts.length;
  }

  /** Number of the innermost subroutine at an address, or `NO_SUBROUTINE`. */
  innermostAt(address: number): number {
    return this.#intervals.find(address);
  }

  /** The subroutine that one is inlined into; `NO_SUBROUTINE` for one that is not inlined. */
  callerOf(subroutine: number): number {
    const row = subroutine * ROW;
    return this.#rows[row + INLINED] === 1 ? this.#rows[row + PARENT] | 0 : NO_SUBROUTINE;
  }

  /** Numbers of the subroutines at an address, the innermost first, up to the first that is not inlined. */
  chainAt(address: number): number[] {
    const chain: number[] = [];
    for (let at = this.innermostAt(address); at !== NO_SUBROUTINE; at = this.callerOf(at)) chain.push(at);
    return chain;
  }

  /** Offset of a subroutine's entry in `.debug_info`. */
  offsetOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + OFFSET];
  }

  /** Offset in the unit of the entry that a subroutine has all but its addresses from; 0 if it has a declaration itself. */
  originOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + ORIGIN];
  }

  /** Where its code starts, if it is in one piece. */
  startOf(subroutine: number): number | undefined {
    const start = this.#starts[subroutine];
    return Number.isNaN(start) ? undefined : start;
  }

  /** File, line, column and discriminator of the call that was inlined; 0 where they are not known. */
  callFileOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + CALL_FILE];
  }

  callLineOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + CALL_LINE];
  }

  callColumnOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + CALL_COLUMN];
  }

  callDiscriminatorOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + CALL_DISCRIMINATOR];
  }

  /**
   * The linkage name of a subroutine, or of the entries it stems from, else the name in the source.
   *
   * @param isLinkage false if only the latter is wanted
   * @returns null where these columns do not tell: the entries themselves do
   */
  nameOf(subroutine: number, isLinkage: boolean): string | undefined | null {
    const name = isLinkage ? this.#inheritedName(subroutine, 0, LINKAGE_NAME) : undefined;
    return name === undefined ? this.#inheritedName(subroutine, 16, NAME) : name;
  }

  #inheritedName(subroutine: number, shift: number, kind: number): string | undefined | null {
    const names = this.#names;
    if (names === undefined) return null;
    for (let at = subroutine, left = LONGEST_CHAIN; left > 0; left--) {
      const row = at * NAMES;
      const form = (names[row + FORMS] >>> shift) & 0xffff;
      if (form === UNUSUAL_NAME) return null;
      if (form !== 0) return textOf(this.unit, { form, value: names[row + kind], length: 0 });
      const next = names[row + NEXT];
      if (next === 0) return undefined;
      at = this.#rowAt(this.unit.header.offset + next);
      if (at < 0) return null;
    }
    return null;
  }

  /** The subroutine whose entry is at an offset of `.debug_info`, or −1. */
  #rowAt(offset: number): number {
    const rows = this.#rows;
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (rows[middle * ROW + OFFSET] < offset) low = middle + 1;
      else high = middle;
    }
    return low < this.length && rows[low * ROW + OFFSET] === offset ? low : -1;
  }
}
