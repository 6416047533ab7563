import { FormatError } from "../bytes/errors.ts";
import type { Abbreviation } from "./abbreviations.ts";
import * as dw from "./constants.ts";
import { Cursor } from "./cursor.ts";
import { readForm, skipSized } from "./forms.ts";
import { IntervalMap } from "./interval-map.ts";
import { isTombstone, readRanges } from "./ranges.ts";
import type { Unit } from "./unit.ts";

const NONE = -1;

/**
 * The functions of a unit, inlined ones too, by address. One pass over the unit's entries collects those with tag
 * `subprogram` or `inlined_subroutine` in columns; all others are passed over without looking inside.
 */
export class SubroutineIndex {
  readonly unit: Unit;
  /** Offsets of the entries, in the order of the section. */
  readonly #offsets: number[] = [];
  /** The subroutine around each of them, or −1. */
  readonly #parents: number[] = [];
  readonly #inlined: boolean[] = [];
  readonly #intervals = new IntervalMap();

  constructor(unit: Unit) {
    this.unit = unit;
    try {
      this.#readEntries();
    } catch (error) {
      // What was found before the damage is still true.
      if (!(error instanceof FormatError)) throw error;
      unit.file.problems.push(error);
    }
  }

  /** Numbers of the subroutines at an address, the innermost first, up to the first that is not inlined. */
  chainAt(address: number): number[] {
    const chain: number[] = [];
    for (let at = this.#intervals.find(address); at !== NONE; at = this.#parents[at]) {
      chain.push(at);
      if (!this.#inlined[at]) break;
    }
    return chain;
  }

  /** Offset of a subroutine's entry in `.debug_info`. */
  offsetOf(subroutine: number): number {
    return this.#offsets[subroutine];
  }

  #readEntries(): void {
    const { unit } = this;
    const { header, abbreviations } = unit;
    const { info } = unit.file;
    const cursor = new Cursor(info, header.dieOffset, ".debug_info", header.end);
    const { end } = cursor;
    const around: number[] = [];
    let current = NONE;
    while (cursor.position < end) {
      const offset = cursor.position;
      const code = info[offset] < 0x80 ? info[cursor.position++] : cursor.uleb();
      if (code === 0) {
        if (around.length === 0) return;
        current = around.pop()!;
        if (around.length === 0) return;
        continue;
      }
      const abbreviation = abbreviations.get(code);
      const { tag, skips, hasChildren } = abbreviation;
      let inside = current;
      if (tag === dw.DW_TAG_subprogram || tag === dw.DW_TAG_inlined_subroutine) {
        inside = this.#offsets.length;
        this.#offsets.push(offset);
        this.#parents.push(current);
        this.#inlined.push(tag === dw.DW_TAG_inlined_subroutine);
        this.#readSubroutine(cursor, abbreviation, inside);
      } else {
        for (let i = 0; i < skips.length; i++) {
          const size = skips[i];
          if (size >= 0) cursor.position += size;
          else skipSized(cursor, size, header);
        }
      }
      if (hasChildren) {
        around.push(current);
        current = inside;
      } else if (around.length === 0) return;
    }
  }

  #readSubroutine(
    cursor: Cursor,
    { attributes, forms, constants, sizes }: Abbreviation,
    subroutine: number,
  ): void {
    const { unit } = this;
    const { header } = unit;
    let low: number | undefined;
    let high: number | undefined;
    let isLength = false;
    for (let i = 0; i < attributes.length; i++) {
      const attribute = attributes[i];
      const form = forms[i];
      if (attribute !== dw.DW_AT_low_pc && attribute !== dw.DW_AT_high_pc && attribute !== dw.DW_AT_ranges) {
        const size = sizes[i];
        if (size >= 0) cursor.position += size;
        else skipSized(cursor, size, header);
        continue;
      }
      const value = readForm(cursor, form, constants[i], header);
      if (attribute === dw.DW_AT_ranges) {
        if (low === undefined || high === undefined) this.#addRanges(value.form, value.value, subroutine);
      } else {
        const isAddress = value.form === dw.DW_FORM_addr;
        const isIndex = isAddressIndex(value.form);
        const resolved = isIndex ? unit.addressAt(value.value) : value.value;
        if (attribute === dw.DW_AT_low_pc) low = isAddress || isIndex ? resolved : undefined;
        else {
          high = resolved;
          isLength = !isAddress && !isIndex;
        }
      }
    }
    if (low === undefined || high === undefined || isTombstone(low, header.addressSize)) return;
    this.#intervals.add(low, isLength ? low + high : high, subroutine);
  }

  #addRanges(form: number, value: number, subroutine: number): void {
    try {
      for (const { low, high } of readRanges(this.unit, { form, value, length: 0 })) {
        this.#intervals.add(low, high, subroutine);
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.unit.file.problems.push(error);
    }
  }
}

function isAddressIndex(form: number): boolean {
  return (
    form === dw.DW_FORM_addrx ||
    (form >= dw.DW_FORM_addrx1 && form <= dw.DW_FORM_addrx4) ||
    form === dw.DW_FORM_GNU_addr_index
  );
}
