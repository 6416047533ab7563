// The functions of a unit by address: what ../subroutine-index.ts keeps.
import {
  DW_AT_GNU_discriminator,
  DW_AT_MIPS_linkage_name,
  DW_AT_abstract_origin,
  DW_AT_call_column,
  DW_AT_call_file,
  DW_AT_call_line,
  DW_AT_decl_file,
  DW_AT_decl_line,
  DW_AT_high_pc,
  DW_AT_linkage_name,
  DW_AT_low_pc,
  DW_AT_name,
  DW_AT_ranges,
  DW_AT_signature,
  DW_AT_specification,
  DW_FORM_addr,
  DW_FORM_string,
  DW_TAG_inlined_subroutine,
} from "../constants";
import { ATTRIBUTE_STEP, byCode, CHILDREN, codes, FIRST_STEP, readTable, STEPS, SUBROUTINE } from "./abbreviations";
import { addInterval, beginIntervals, endIntervals, isOneWanted } from "./interval-map";
import { enlarged, isUnusual, reserve, setUnusual } from "./memory";
import { addressAt, beginPairs, forgetPairs, isTombstone, pairCount, pairs, readRanges } from "./ranges";
import { at, end, enter, isAddressIndex, isReferenceInUnit, moveTo, readNumber, SIZE_BLOCK_LEB, skipSized, uleb } from "./values";

const NO_SUBROUTINE: u32 = 0xffff_ffff;

// A row: u32 offset, the subroutine around it, whether it is inlined, origin, file, line, column and discriminator of the
// call.
const ROW: u32 = 32;
const PARENT: u32 = 4;
const INLINED: u32 = 8;
const ORIGIN: u32 = 12;
const CALL_FILE: u32 = 16;
const CALL_LINE: u32 = 20;
const CALL_COLUMN: u32 = 24;
const CALL_DISCRIMINATOR: u32 = 28;

// Names of a row: u32 forms of its linkage name and of its name (16 bits each), u32 values of these, u32 the entry in the
// unit that it has what is missing from. Forms are 0 where it has none, NAME_UNUSUAL where it is to be looked at.
const NAMES: u32 = 16;
const LINKAGE_VALUE: u32 = 4;
const NAME_VALUE: u32 = 8;
const NEXT: u32 = 12;
const NAME_UNUSUAL: u32 = 0xffff;

/** Rows, and by row the names, and the first address (f64): NaN where it is not in one piece. */
export let rows: u32 = 0;
export let names: u32 = 0;
export let starts: u32 = 0;
export let rowCount: u32 = 0;
let room: u32 = 0;

/** {u32 subroutine} of entries that are open around the present one. */
let around: u32 = 0;
let aroundRoom: u32 = 0;

function addRow(): u32 {
  if (rowCount === room) {
    rows = enlarged(rows, room * ROW);
    names = enlarged(names, room * NAMES);
    starts = enlarged(starts, room * 8);
    room *= 2;
  }
  return rowCount++;
}

/**
 * Reads the entries of a unit: after `wantOne`, for that address alone.
 *
 * @param entries where the first of them is
 * @param offset of the first in `.debug_info`
 */
export function readSubroutines(entries: u32, size: u32, offset: u32, abbreviations: u32): void {
  readTable(abbreviations);
  beginPairs();
  beginIntervals();
  room = 256;
  rowCount = 0;
  rows = reserve(room * ROW);
  names = reserve(room * NAMES);
  starts = reserve(room * 8);
  aroundRoom = 64;
  around = reserve(aroundRoom * 4);
  if (isUnusual) return;
  enter(entries, entries + size);
  unitBias = offset - entries;
  readEntries();
  if (!isUnusual && !isOneWanted()) endIntervals();
}

/** What makes an offset in `.debug_info` of a place. */
let unitBias: u32 = 0;

function readEntries(): void {
  let depth: u32 = 0;
  let current = NO_SUBROUTINE;
  const stop = end;
  // In place of `at`, which the engine would read from memory and write to it for each value.
  let position = at;
  while (position < stop) {
    const start = position;
    let code = <u32>load<u8>(position++);
    if (code >= 0x80) {
      moveTo(start);
      code = uleb();
      position = at;
      if (position > stop) break;
    }
    if (code === 0) {
      if (depth === 0) return;
      current = load<u32>(around + --depth * 4);
      if (depth === 0) return;
      continue;
    }
    const abbreviation = code < codes ? load<u32>(byCode + code * 4) : 0;
    if (abbreviation === 0) {
      setUnusual();
      return;
    }
    let inside = current;
    if (load<u8>(abbreviation, SUBROUTINE) !== 0) {
      inside = addRow();
      if (isUnusual) return;
      moveTo(position);
      readSubroutine(abbreviation, inside, current, start + unitBias);
      position = at;
    } else {
      let step = abbreviation + FIRST_STEP;
      const behind = step + (load<u32>(abbreviation, STEPS) << 2);
      for (; step < behind; step += 4) {
        const size = load<i32>(step);
        if (size >= 0) position += size;
        else if (position > stop) break;
        else if (size === SIZE_BLOCK_LEB && load<u8>(position) < 0x80) position += 1 + <u32>load<u8>(position);
        else {
          moveTo(position);
          skipSized(size);
          position = at;
        }
      }
    }
    if (isUnusual || position > stop) {
      setUnusual();
      return;
    }
    if (load<u8>(abbreviation, CHILDREN) !== 0) {
      if (depth === aroundRoom) {
        around = enlarged(around, aroundRoom * 4);
        aroundRoom *= 2;
        if (isUnusual) return;
      }
      store<u32>(around + depth++ * 4, current);
      current = inside;
    } else if (depth === 0) return;
  }
  if (position > stop) setUnusual();
}

function readSubroutine(abbreviation: u32, subroutine: u32, parent: u32, offset: u32): void {
  const row = rows + subroutine * ROW;
  memory.fill(row, 0, ROW);
  store<u32>(row, offset);
  store<u32>(row, parent, PARENT);
  if (<u32>load<u16>(abbreviation) === DW_TAG_inlined_subroutine) store<u32>(row, 1, INLINED);
  let low: f64 = NaN;
  let high: f64 = NaN;
  let hasLow = false;
  let hasHigh = false;
  let isLength = false;
  let origin: u32 = 0;
  let hasOwnDeclaration = false;
  let linkageForm: u32 = 0;
  let nameForm: u32 = 0;
  let next: u32 = 0;
  const own = names + subroutine * NAMES;
  memory.fill(own, 0, NAMES);
  let step = abbreviation + FIRST_STEP;
  const behind = step + load<u32>(abbreviation, STEPS) * ATTRIBUTE_STEP;
  // Padding is behind the end, but not for many values. Who called looks whether it was passed.
  for (; step < behind && !isUnusual && at <= end; step += ATTRIBUTE_STEP) {
    const attribute = <u32>load<u16>(step);
    const form = <u32>load<u16>(step, 2);
    const size = load<i32>(step, 4);
    switch (attribute) {
      case DW_AT_low_pc:
      case DW_AT_high_pc: {
        const value = readNumber(form, size, load<i32>(step, 8));
        const isIndex = isAddressIndex(form);
        const resolved = isIndex ? addressAt(<u32>value) : form === DW_FORM_addr ? f64(<u64>value) : f64(value);
        const isAddress = isIndex || form === DW_FORM_addr;
        if (attribute === DW_AT_low_pc) {
          hasLow = isAddress;
          low = resolved;
        } else {
          hasHigh = true;
          high = resolved;
          isLength = !isAddress;
        }
        break;
      }
      case DW_AT_ranges: {
        const value = readNumber(form, size, load<i32>(step, 8));
        if (!hasLow || !hasHigh) addRanges(form, value, subroutine);
        break;
      }
      case DW_AT_call_file:
        store<u32>(row, <u32>readNumber(form, size, load<i32>(step, 8)), CALL_FILE);
        break;
      case DW_AT_call_line:
        store<u32>(row, <u32>readNumber(form, size, load<i32>(step, 8)), CALL_LINE);
        break;
      case DW_AT_call_column:
        store<u32>(row, <u32>readNumber(form, size, load<i32>(step, 8)), CALL_COLUMN);
        break;
      case DW_AT_GNU_discriminator:
        store<u32>(row, <u32>readNumber(form, size, load<i32>(step, 8)), CALL_DISCRIMINATOR);
        break;
      case DW_AT_abstract_origin:
        if (isReferenceInUnit(form)) {
          origin = <u32>readNumber(form, size, load<i32>(step, 8));
          if (next !== 0) linkageForm = nameForm = NAME_UNUSUAL;
          next = origin;
          break;
        }
        hasOwnDeclaration = true;
        linkageForm = nameForm = NAME_UNUSUAL;
        skipValue(size);
        break;
      case DW_AT_specification:
        hasOwnDeclaration = true;
        if (isReferenceInUnit(form) && next === 0) {
          next = <u32>readNumber(form, size, load<i32>(step, 8));
          break;
        }
        linkageForm = nameForm = NAME_UNUSUAL;
        skipValue(size);
        break;
      case DW_AT_signature:
        hasOwnDeclaration = true;
        linkageForm = nameForm = NAME_UNUSUAL;
        skipValue(size);
        break;
      case DW_AT_MIPS_linkage_name:
      case DW_AT_linkage_name:
        hasOwnDeclaration = true;
        if (linkageForm === 0) {
          linkageForm = form;
          store<u32>(own, textValue(form, size), LINKAGE_VALUE);
        } else {
          linkageForm = NAME_UNUSUAL;
          skipValue(size);
        }
        break;
      case DW_AT_name:
        hasOwnDeclaration = true;
        if (nameForm === 0) {
          nameForm = form;
          store<u32>(own, textValue(form, size), NAME_VALUE);
        } else {
          nameForm = NAME_UNUSUAL;
          skipValue(size);
        }
        break;
      case DW_AT_decl_file:
      case DW_AT_decl_line:
        hasOwnDeclaration = true;
        skipValue(size);
        break;
      default:
        skipValue(size);
    }
  }
  store<f64>(starts + subroutine * 8, hasLow ? low : NaN);
  if (!hasOwnDeclaration) store<u32>(row, origin, ORIGIN);
  store<u32>(own, linkageForm | (nameForm << 16));
  store<u32>(own, next, NEXT);
  if (!hasLow || !hasHigh || isUnusual || isTombstone(low)) return;
  addInterval(low, isLength ? low + high : high, subroutine);
}

/** The number of a text: for one in place, its offset in `.debug_info`. */
function textValue(form: u32, size: i32): u32 {
  if (form !== DW_FORM_string) return <u32>readNumber(form, size, 0);
  const offset = at + unitBias;
  skipSized(size);
  return offset;
}

// @ts-ignore: decorators are of AssemblyScript
@inline
function skipValue(size: i32): void {
  if (size >= 0) moveTo(at + size);
  else skipSized(size);
}

function addRanges(form: u32, value: i64, subroutine: u32): void {
  forgetPairs();
  readRanges(form, value);
  for (let pair = pairs, behind = pairs + pairCount * 16; pair < behind && !isUnusual; pair += 16)
    addInterval(load<f64>(pair), load<f64>(pair, 8), subroutine);
}
