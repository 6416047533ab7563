import { FormatError } from "../../ground/bytes/errors.ts";
import * as dw from "./constants.ts";
import { Cursor } from "./cursor.ts";
import type { Die, Unit } from "./die.ts";
import type { FormValue } from "./forms.ts";

/**
 * Returns the location expressions of a variable: the one of its entry, or those of its location list, as far
 * as they are readable.
 */
export function locationExpressions(die: Die): Uint8Array[] {
  const value = die.find(dw.DW_AT_location);
  if (value === undefined) return [];
  const { unit } = die;
  if (value.length > 0) return [unit.file.info.bytes.subarray(value.value, value.value + value.length)];
  const expressions: Uint8Array[] = [];
  try {
    if (unit.header.version >= 5) readLocationList(unit, listOffset(unit, value), expressions);
    else if (!unit.isSplit) readOldLocationList(unit, value.value, expressions);
  } catch (error) {
    // A damaged list is ignored as a whole.
    if (error instanceof FormatError) return [];
    throw error;
  }
  return expressions;
}

/** Bytes of the header of a table of lists; the offsets of the lists follow it. */
const HEADER_BYTES = { 4: 12, 8: 20 };

function listOffset(unit: Unit, { form, value }: FormValue): number {
  if (form !== dw.DW_FORM_loclistx) return value;
  const { offsetSize } = unit.header;
  const base = unit.isSplit
    ? HEADER_BYTES[offsetSize]
    : (unit.fromOwnEntry((die) => die.find(dw.DW_AT_loclists_base)?.value) ?? HEADER_BYTES[offsetSize]);
  const section = unit.file.section(".debug_loclists") ?? new Uint8Array(0);
  return base + new Cursor(section, base + value * offsetSize, ".debug_loclists").unsigned(offsetSize);
}

/** DWARF 5, section 7.7.3. */
function readLocationList(unit: Unit, offset: number, expressions: Uint8Array[]): void {
  const section = unit.file.section(".debug_loclists") ?? new Uint8Array(0);
  const cursor = new Cursor(section, offset, ".debug_loclists");
  const { addressSize } = unit.header;
  for (;;) {
    unit.file.spendRanges(cursor.position);
    const kind = cursor.u8();
    switch (kind) {
      case dw.DW_LLE_end_of_list:
        return;
      case dw.DW_LLE_base_addressx:
        cursor.uleb();
        continue;
      case dw.DW_LLE_base_address:
        cursor.skip(addressSize);
        continue;
      case dw.DW_LLE_startx_endx:
      case dw.DW_LLE_startx_length:
      case dw.DW_LLE_offset_pair:
        cursor.uleb();
        cursor.uleb();
        break;
      case dw.DW_LLE_default_location:
        break;
      case dw.DW_LLE_start_end:
        cursor.skip(addressSize * 2);
        break;
      case dw.DW_LLE_start_length:
        cursor.skip(addressSize);
        cursor.uleb();
        break;
      default:
        throw new FormatError("malformed", cursor.position - 1, ".debug_loclists", `entry kind ${kind}`);
    }
    const length = cursor.uleb();
    const start = cursor.skip(length);
    expressions.push(section.subarray(start, start + length));
  }
}

/** DWARF 2 to 4, section 2.6.2. */
function readOldLocationList(unit: Unit, offset: number, expressions: Uint8Array[]): void {
  const section = unit.file.section(".debug_loc") ?? new Uint8Array(0);
  const cursor = new Cursor(section, offset, ".debug_loc");
  const { addressSize } = unit.header;
  const largest = addressSize === 4 ? 2 ** 32 - 1 : 2 ** 64;
  for (;;) {
    unit.file.spendRanges(cursor.position);
    const start = cursor.unsigned(addressSize);
    const end = cursor.unsigned(addressSize);
    if (start === 0 && end === 0) return;
    if (start === largest) continue;
    const length = cursor.u16();
    const at = cursor.skip(length);
    expressions.push(section.subarray(at, at + length));
  }
}
