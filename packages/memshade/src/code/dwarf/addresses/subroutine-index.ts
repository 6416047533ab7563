import type { Unit } from "../die.ts";
import {
  CALL_COLUMN,
  CALL_DISCRIMINATOR,
  CALL_FILE,
  CALL_LINE,
  INLINED,
  NO_SUBROUTINE,
  OFFSET,
  ORIGIN,
  PARENT,
  ROW,
  type SubroutineColumns,
} from "./subroutine-columns.ts";
import { readSubroutines } from "./subroutine-entries.ts";

/**
 * The functions of a unit, inlined ones too, by address. One pass over the unit's entries collects those with tag
 * `subprogram` or `inlined_subroutine` in columns; all others are passed over without looking inside.
 */
export class SubroutineIndex {
  readonly unit: Unit;
  readonly #rows: Uint32Array;
  readonly #starts: Float64Array;
  readonly #intervals: SubroutineColumns["intervals"];

  constructor(unit: Unit) {
    this.unit = unit;
    const { rows, starts, intervals } = readSubroutines(unit);
    this.#rows = rows;
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

  /** The call that was inlined; 0 for what is not known of it. */
  callOf(subroutine: number): { file: number; line: number; column: number; discriminator: number } {
    const rows = this.#rows;
    const row = subroutine * ROW;
    return {
      file: rows[row + CALL_FILE],
      line: rows[row + CALL_LINE],
      column: rows[row + CALL_COLUMN],
      discriminator: rows[row + CALL_DISCRIMINATOR],
    };
  }
}
