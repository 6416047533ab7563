import { Form } from "./constants.ts";
import { Cursor } from "./cursor.ts";

/** What sizes of attributes depend on. */
export interface UnitFormat {
  readonly version: number;
  readonly addressSize: number;
  readonly offsetSize: 4 | 8;
}

/** The shape of a kind of debugging information entry (DIE). */
export interface Abbreviation {
  readonly tag: number;
  readonly hasChildren: boolean;
  readonly attributes: readonly number[];
  readonly forms: readonly number[];
  /** Values of `DW_FORM_implicit_const`, by attribute; 0 elsewhere. */
  readonly implicit: readonly number[];
  /**
   * How to get past the attributes: a number from 0 is that many bytes, a negative one is a form of variable size.
   * Runs of fixed sizes are added up.
   */
  readonly skips: readonly number[];
}

/** Abbreviations by code. */
export type AbbreviationTable = readonly (Abbreviation | undefined)[];

/** Codes are dense in practice; a damaged table must not make a large array. */
const LARGEST_CODE = 1 << 20;
const VARIABLE = -1;

/** Size of a form's value in bytes, −1 if it varies. */
export function fixedSize(form: number, { version, addressSize, offsetSize }: UnitFormat): number {
  switch (form) {
    case Form.flag_present:
    case Form.implicit_const:
      return 0;
    case Form.data1:
    case Form.flag:
    case Form.ref1:
    case Form.strx1:
    case Form.addrx1:
      return 1;
    case Form.data2:
    case Form.ref2:
    case Form.strx2:
    case Form.addrx2:
      return 2;
    case Form.strx3:
    case Form.addrx3:
      return 3;
    case Form.data4:
    case Form.ref4:
    case Form.strx4:
    case Form.addrx4:
    case Form.ref_sup4:
      return 4;
    case Form.data8:
    case Form.ref8:
    case Form.ref_sig8:
    case Form.ref_sup8:
      return 8;
    case Form.data16:
      return 16;
    case Form.addr:
      return addressSize;
    case Form.ref_addr:
      return version <= 2 ? addressSize : offsetSize;
    case Form.strp:
    case Form.sec_offset:
    case Form.line_strp:
    case Form.strp_sup:
    case Form.GNU_ref_alt:
    case Form.GNU_strp_alt:
      return offsetSize;
    default:
      return VARIABLE;
  }
}

/** Skips a value of a form whose size varies. */
export function skipVariable(cursor: Cursor, form: number, format: UnitFormat): void {
  switch (form) {
    case Form.udata:
    case Form.sdata:
    case Form.ref_udata:
    case Form.strx:
    case Form.addrx:
    case Form.loclistx:
    case Form.rnglistx:
    case Form.GNU_addr_index:
    case Form.GNU_str_index:
      cursor.skipLeb();
      return;
    case Form.string:
      cursor.skipString();
      return;
    case Form.block1:
      cursor.skip(cursor.u8());
      return;
    case Form.block2:
      cursor.skip(cursor.u16());
      return;
    case Form.block4:
      cursor.skip(cursor.u32());
      return;
    case Form.block:
    case Form.exprloc:
      cursor.skip(cursor.uleb());
      return;
    case Form.indirect: {
      const actual = cursor.uleb();
      // An indirect form that names itself would go on for ever only if the bytes did.
      skipForm(cursor, actual, format);
      return;
    }
    default:
      cursor.fail(`unknown form 0x${form.toString(16)}`);
  }
}

export function skipForm(cursor: Cursor, form: number, format: UnitFormat): void {
  const size = fixedSize(form, format);
  if (size >= 0) cursor.skip(size);
  else skipVariable(cursor, form, format);
}

/** Moves behind the attributes of a DIE. */
export function skipAttributes(cursor: Cursor, { skips }: Abbreviation, format: UnitFormat): void {
  for (let i = 0; i < skips.length; i++) {
    const skip = skips[i];
    if (skip >= 0) cursor.skip(skip);
    else skipVariable(cursor, -skip, format);
  }
}

/**
 * The abbreviations at `offset` of `.debug_abbrev`; those before the first damaged one if there is such.
 *
 * @throws FormatError if `offset` lies outside of the section
 */
export function readAbbreviations(
  section: Uint8Array,
  offset: number,
  format: UnitFormat,
): AbbreviationTable {
  const cursor = new Cursor(section, ".debug_abbrev", offset);
  const table: (Abbreviation | undefined)[] = [];
  try {
    for (let code = cursor.uleb(); code !== 0; code = cursor.uleb()) {
      if (code > LARGEST_CODE) break;
      const abbreviation = readOne(cursor, format);
      table[code] ??= abbreviation;
    }
  } catch {
    // What could be read is of use.
  }
  return table;
}

function readOne(cursor: Cursor, format: UnitFormat): Abbreviation {
  const tag = cursor.uleb();
  const hasChildren = cursor.u8() !== 0;
  const attributes: number[] = [];
  const forms: number[] = [];
  const implicit: number[] = [];
  const skips: number[] = [];
  for (;;) {
    const attribute = cursor.uleb();
    const form = cursor.uleb();
    if (attribute === 0 && form === 0) break;
    attributes.push(attribute);
    forms.push(form);
    implicit.push(form === Form.implicit_const ? cursor.sleb() : 0);
    const size = fixedSize(form, format);
    const last = skips.length - 1;
    if (size === VARIABLE) skips.push(-form);
    else if (last >= 0 && skips[last] >= 0) skips[last] += size;
    else skips.push(size);
  }
  return { tag, hasChildren, attributes, forms, implicit, skips };
}
