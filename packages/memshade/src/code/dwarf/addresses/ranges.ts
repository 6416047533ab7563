import { FormatError } from "../../../ground/bytes/errors.ts";
import * as dw from "../constants.ts";
import { Cursor, u32At, u64At } from "../cursor.ts";
import type { Die, Unit } from "../die.ts";

export type TakeRange = (low: number, high: number) => void;

/**
 * True for the value that linkers write in place of addresses of removed code. It is all bits set, or that minus
 * one where all bits set have another meaning (`.debug_ranges`). With eight bytes, every number in the upper half
 * is out of reach anyway.
 */
export function isTombstone(address: number, addressSize: number): boolean {
  return addressSize === 4 ? address === 0xffffffff : address >= 2 ** 63;
}

function isListTombstone(address: number, addressSize: number): boolean {
  return addressSize === 4 ? address === 0xfffffffe : address >= 2 ** 63;
}

/**
 * Visits the ranges of an entry: from `low_pc` to `high_pc`, else the list that `ranges` names.
 *
 * @throws FormatError if the list cannot be read
 */
export function visitRanges(unit: Unit, die: Die, take: TakeRange): void {
  const lowPc = die.find(dw.DW_AT_low_pc);
  const highPc = lowPc && die.find(dw.DW_AT_high_pc);
  const low = lowPc && die.addressOf(lowPc);
  if (low !== undefined && highPc !== undefined && !isTombstone(low, unit.header.addressSize)) {
    take(low, die.addressOf(highPc) ?? low + highPc.value);
    return;
  }
  const list = die.find(dw.DW_AT_ranges);
  if (list !== undefined) readRanges(unit, list.form, list.value, take);
}

/**
 * Reads the list that an attribute's value names.
 *
 * @throws FormatError if the list cannot be read
 */
export function readRanges(unit: Unit, form: number, value: number, take: TakeRange): void {
  if (unit.header.version >= 5) readRangeList(unit, rangeListOffset(unit, form, value), take);
  else readOldRanges(unit, value, take);
}

/**
 * Returns the offset in `.debug_rnglists`: an index goes through the table of offsets after the unit's base.
 */
function rangeListOffset(unit: Unit, form: number, value: number): number {
  if (form !== dw.DW_FORM_rnglistx) return value + (unit.contributions?.rangeLists ?? 0);
  const { rangeLists } = unit.bases;
  const { offsetSize } = unit.header;
  const cursor = new Cursor(rangeListsOf(unit), rangeLists + value * offsetSize, ".debug_rnglists");
  return rangeLists + cursor.unsigned(offsetSize);
}

function rangeListsOf(unit: Unit): Uint8Array {
  return requireSection(unit.file.section(".debug_rnglists"), ".debug_rnglists");
}

function requireSection(bytes: Uint8Array | undefined, name: string): Uint8Array {
  if (bytes === undefined) throw new FormatError("malformed", 0, name, "the section is missing");
  return bytes;
}

/** DWARF 2 to 4, section 2.17.3: pairs of addresses relative to a base. */
function readOldRanges(unit: Unit, offset: number, take: TakeRange): void {
  const { addressSize } = unit.header;
  const owner = unit.skeleton ?? unit;
  const base = unit.skeleton === undefined ? 0 : owner.rangesBase;
  const section = requireSection(owner.file.section(".debug_ranges"), ".debug_ranges");
  const cursor = new Cursor(section, offset + base, ".debug_ranges");
  const { file } = unit;
  let origin = unit.baseAddress ?? 0;
  for (;;) {
    file.spendRanges(cursor.position);
    const at = cursor.skip(addressSize * 2);
    const start = addressSize === 4 ? u32At(section, at) : u64At(section, at);
    const end = addressSize === 4 ? u32At(section, at + 4) : u64At(section, at + 8);
    if (start === 0 && end === 0) return;
    if (addressSize === 4 ? start === 0xffffffff : start >= 2 ** 63) {
      // A start with all bits set chooses a new base. With eight bytes a removed function has the same start, so
      // the end distinguishes them.
      if (addressSize === 4 || end < 2 ** 63) origin = end;
      continue;
    }
    if (isListTombstone(start, addressSize) || isListTombstone(origin, addressSize)) continue;
    take(origin + start, origin + end);
  }
}

/** DWARF 5, section 7.25. */
function readRangeList(unit: Unit, offset: number, take: TakeRange): void {
  const { addressSize } = unit.header;
  const cursor = new Cursor(rangeListsOf(unit), offset, ".debug_rnglists");
  let base = unit.baseAddress;
  const add = (low: number, high: number) => {
    if (!isTombstone(low, addressSize)) take(low, high);
  };
  for (;;) {
    unit.file.spendRanges(cursor.position);
    const kind = cursor.u8();
    switch (kind) {
      case dw.DW_RLE_end_of_list:
        return;
      case dw.DW_RLE_base_addressx: {
        const index = cursor.uleb();
        base = unit.addressAt(index) ?? index;
        break;
      }
      case dw.DW_RLE_startx_endx: {
        const low = unit.addressAt(cursor.uleb()) ?? 0;
        add(low, unit.addressAt(cursor.uleb()) ?? 0);
        break;
      }
      case dw.DW_RLE_startx_length: {
        const low = unit.addressAt(cursor.uleb()) ?? 0;
        add(low, low + cursor.uleb());
        break;
      }
      case dw.DW_RLE_offset_pair: {
        const low = cursor.uleb();
        const high = cursor.uleb();
        const origin = base ?? 0;
        if (!isTombstone(low, addressSize) && !isTombstone(origin, addressSize))
          add(origin + low, origin + high);
        break;
      }
      case dw.DW_RLE_base_address:
        base = cursor.unsigned(addressSize);
        break;
      case dw.DW_RLE_start_end: {
        const low = cursor.unsigned(addressSize);
        add(low, cursor.unsigned(addressSize));
        break;
      }
      case dw.DW_RLE_start_length: {
        const low = cursor.unsigned(addressSize);
        add(low, low + cursor.uleb());
        break;
      }
      default:
        throw new FormatError("malformed", cursor.position - 1, ".debug_rnglists", `entry kind ${kind}`);
    }
  }
}
