import { skipAttributes, skipForm } from "./abbreviations.ts";
import { AddressMap } from "./address-map.ts";
import { At, Tag } from "./constants.ts";
import { isAddressForm, type Unit } from "./unit.ts";

/** A place of a call that was inlined. File as the unit's line table counts. */
export interface CallSite {
  readonly file: number;
  readonly line: number;
  readonly column: number;
  readonly discriminator: number;
}

/** Subprograms and inlined calls of a unit, in the order of their DIEs: callers stand before what they call. */
export class Subroutines {
  /** Offset of the DIE in `.debug_info`. */
  readonly entries: number[] = [];
  /** The subroutine that this one is nested in or inlined into, −1 for none. */
  readonly parents: number[] = [];
  readonly inlined: boolean[] = [];
  /** Low address of a subroutine of one piece, −1 otherwise. */
  readonly starts: number[] = [];
  readonly #calls = new Map<number, CallSite>();
  readonly #map = new AddressMap();

  add(entry: number, parent: number, isInlined: boolean): number {
    this.parents.push(parent);
    this.inlined.push(isInlined);
    this.starts.push(-1);
    return this.entries.push(entry) - 1;
  }

  addRange(low: number, high: number, subroutine: number): void {
    if (low < high) this.#map.add(low, high, subroutine);
  }

  setCall(subroutine: number, call: CallSite): void {
    this.#calls.set(subroutine, call);
  }

  /** Where an inlined subroutine was called. */
  callOf(subroutine: number): CallSite | undefined {
    return this.#calls.get(subroutine);
  }

  /** The innermost subroutine at `address` and what it was inlined into, up to the real function; empty if none. */
  chainAt(address: number): number[] {
    const chain: number[] = [];
    for (let at = this.#map.get(address); at >= 0; at = this.parents[at]) {
      chain.push(at);
      if (!this.inlined[at]) return chain;
    }
    return [];
  }
}

/** Nested DIEs deeper than this are damage. */
const DEEPEST = 4096;

/** Reads all DIEs of a unit once; those up to the first damaged one. */
export function readSubroutines(unit: Unit): Subroutines {
  const subroutines = new Subroutines();
  try {
    readEntries(unit, subroutines);
  } catch {
    // What stands before the damage is of use.
  }
  return subroutines;
}

function readEntries(unit: Unit, subroutines: Subroutines): void {
  const { abbreviations, header } = unit;
  const cursor = unit.cursorAt(header.firstEntry);
  /** Subroutine around the DIEs of a depth. */
  const around: number[] = [-1];
  let depth = 0;
  while (cursor.pos < cursor.end) {
    const entry = cursor.pos;
    const code = cursor.uleb();
    if (code === 0) {
      if (--depth <= 0) return;
      continue;
    }
    const abbreviation = abbreviations[code];
    if (abbreviation === undefined) return;
    let inside = around[depth];
    const isInlined = abbreviation.tag === Tag.inlined_subroutine;
    if (isInlined || abbreviation.tag === Tag.subprogram) {
      inside = subroutines.add(entry, inside, isInlined);
      readSubroutine(unit, cursor, abbreviation, subroutines, inside);
    } else skipAttributes(cursor, abbreviation, header);
    if (abbreviation.hasChildren) {
      if (++depth > DEEPEST) return;
      around[depth] = inside;
    } else if (depth === 0) return;
  }
}

function readSubroutine(
  unit: Unit,
  cursor: ReturnType<Unit["cursorAt"]>,
  { attributes, forms, implicit }: NonNullable<ReturnType<Unit["abbreviationAt"]>>,
  subroutines: Subroutines,
  self: number,
): void {
  let low: number | undefined;
  let high: number | undefined;
  let isLength = false;
  let list: ReturnType<Unit["rangesOf"]> | undefined;
  let [file, line, column, discriminator] = [0, 0, 0, 0];
  for (let i = 0; i < attributes.length; i++) {
    const form = forms[i];
    switch (attributes[i]) {
      case At.low_pc:
        low = unit.address(cursor, form);
        break;
      case At.high_pc:
        isLength = !isAddressForm(form);
        high = isLength ? unit.constant(cursor, form, implicit[i]) : unit.address(cursor, form);
        break;
      case At.ranges:
        list = unit.rangesOf(cursor, form);
        break;
      case At.call_file:
        file = unit.constant(cursor, form, implicit[i]);
        break;
      case At.call_line:
        line = unit.constant(cursor, form, implicit[i]);
        break;
      case At.call_column:
        column = unit.constant(cursor, form, implicit[i]);
        break;
      case At.GNU_discriminator:
        discriminator = unit.constant(cursor, form, implicit[i]);
        break;
      default:
        skipForm(cursor, form, unit.header);
    }
  }
  if (low !== undefined) subroutines.starts[self] = low;
  if (low !== undefined && high !== undefined) subroutines.addRange(low, isLength ? low + high : high, self);
  else for (const range of list ?? []) subroutines.addRange(range.low, range.high, self);
  if (subroutines.inlined[self]) {
    subroutines.setCall(self, {
      file: file || 0,
      line: line || 0,
      column: column || 0,
      discriminator: discriminator || 0,
    });
  }
}
