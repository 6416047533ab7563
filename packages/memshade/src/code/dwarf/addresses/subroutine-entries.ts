import { FormatError } from "../../../ground/bytes/errors.ts";
import type { Abbreviation } from "../abbreviations.ts";
import * as dw from "../constants.ts";
import { Cursor } from "../cursor.ts";
import type { Unit } from "../die.ts";
import { readForm, readValue, skipSized } from "../forms.ts";
import { IntervalMap } from "./interval-map.ts";
import { isTombstone, readRanges } from "./ranges.ts";
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

/** With one of these, an entry does not have all from its origin. */
const OWN_DECLARATION: ReadonlySet<number> = new Set([
  dw.DW_AT_MIPS_linkage_name,
  dw.DW_AT_linkage_name,
  dw.DW_AT_name,
  dw.DW_AT_decl_file,
  dw.DW_AT_decl_line,
  dw.DW_AT_specification,
  dw.DW_AT_signature,
]);

/** Where rows stand until all of a unit are there: one place for all units, as they are read one after the other. */
let growingRows = new Uint32Array(ROW << 8);
let growingStarts = new Float64Array(1 << 8);

/** Reads all entries of a unit, of every form; what was found before damage is still true, and the damage is noted. */
export function readSubroutines(unit: Unit): SubroutineColumns {
  return new EntryReader(unit).read();
}

class EntryReader {
  readonly #unit: Unit;
  readonly #intervals = new IntervalMap();
  readonly #listed: number[] = [];
  #rows = growingRows;
  #starts = growingStarts;
  #count = 0;

  constructor(unit: Unit) {
    this.#unit = unit;
  }

  read(): SubroutineColumns {
    try {
      this.#readEntries();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#unit.file.problems.push(error);
    }
    return {
      rows: growingRows.slice(0, this.#count * ROW),
      starts: growingStarts.slice(0, this.#count),
      intervals: this.#intervals,
    };
  }

  #add(offset: number, parent: number, isInlined: boolean): number {
    const subroutine = this.#count++;
    if (subroutine === growingStarts.length) this.#grow();
    const row = subroutine * ROW;
    this.#rows.fill(0, row, row + ROW);
    this.#rows[row + OFFSET] = offset;
    this.#rows[row + PARENT] = parent;
    if (isInlined) this.#rows[row + INLINED] = 1;
    this.#starts[subroutine] = Number.NaN;
    return subroutine;
  }

  #grow(): void {
    const rows = new Uint32Array(growingRows.length * 2);
    const starts = new Float64Array(growingStarts.length * 2);
    rows.set(growingRows);
    starts.set(growingStarts);
    this.#rows = growingRows = rows;
    this.#starts = growingStarts = starts;
  }

  #readEntries(): void {
    const unit = this.#unit;
    const { header, abbreviations } = unit;
    const { bytes: info } = unit.file.info;
    unit.load();
    const cursor = new Cursor(info, header.dieOffset, ".debug_info", header.end);
    const { end } = cursor;
    const around: number[] = [];
    let current = NO_SUBROUTINE;
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
        inside = this.#add(offset, current, tag === dw.DW_TAG_inlined_subroutine);
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
    const unit = this.#unit;
    const { header } = unit;
    const rows = this.#rows;
    const row = subroutine * ROW;
    let low: number | undefined;
    let high: number | undefined;
    let isLength = false;
    let origin = 0;
    let hasOwnDeclaration = false;
    for (let i = 0; i < attributes.length; i++) {
      const attribute = attributes[i];
      const size = sizes[i];
      switch (attribute) {
        case dw.DW_AT_low_pc:
        case dw.DW_AT_high_pc: {
          const value = readForm(cursor, forms[i], constants[i], header);
          const isAddress = value.form === dw.DW_FORM_addr;
          const isIndex = isAddressIndex(value.form);
          const resolved = isIndex ? unit.addressAt(value.value) : value.value;
          if (attribute === dw.DW_AT_low_pc) {
            low = isAddress || isIndex ? resolved : undefined;
            if (low !== undefined) this.#starts[subroutine] = low;
          } else {
            high = resolved;
            isLength = !isAddress && !isIndex;
          }
          break;
        }
        case dw.DW_AT_ranges: {
          const value = readForm(cursor, forms[i], constants[i], header);
          if (low === undefined || high === undefined) this.#addRanges(value.form, value.value, subroutine);
          break;
        }
        case dw.DW_AT_call_file:
          rows[row + CALL_FILE] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_call_line:
          rows[row + CALL_LINE] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_call_column:
          rows[row + CALL_COLUMN] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_GNU_discriminator:
          rows[row + CALL_DISCRIMINATOR] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_abstract_origin:
          if (isReferenceInUnit(forms[i])) {
            origin = readValue(cursor, forms[i], size, constants[i], header);
            break;
          }
          hasOwnDeclaration = true;
          skipSized(cursor, size, header);
          break;
        default:
          if (OWN_DECLARATION.has(attribute)) hasOwnDeclaration = true;
          if (size >= 0) cursor.position += size;
          else skipSized(cursor, size, header);
      }
    }
    if (!hasOwnDeclaration) rows[row + ORIGIN] = origin;
    if (low === undefined || high === undefined || isTombstone(low, header.addressSize)) return;
    this.#intervals.add(low, isLength ? low + high : high, subroutine);
  }

  #addRanges(form: number, value: number, subroutine: number): void {
    try {
      // All of a list or, if it is damaged, nothing of it.
      const found = this.#listed;
      found.length = 0;
      readRanges(this.#unit, form, value, (low, high) => found.push(low, high));
      for (let at = 0; at < found.length; at += 2) this.#intervals.add(found[at], found[at + 1], subroutine);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#unit.file.problems.push(error);
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

function isReferenceInUnit(form: number): boolean {
  return (form >= dw.DW_FORM_ref1 && form <= dw.DW_FORM_ref8) || form === dw.DW_FORM_ref_udata;
}
