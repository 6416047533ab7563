import { FormatError } from "../../ground/bytes/errors.ts";
import * as dw from "./constants.ts";
import type { Cursor } from "./cursor.ts";

/** Properties of a unit that determine the sizes of its values. */
export interface Encoding {
  readonly version: number;
  readonly offsetSize: 4 | 8;
  readonly addressSize: number;
}

/** Negative sizes: the value's own bytes determine the size. */
export const SIZE_LEB = -1;
export const SIZE_STRING = -2;
export const SIZE_BLOCK1 = -3;
export const SIZE_BLOCK2 = -4;
export const SIZE_BLOCK4 = -5;
export const SIZE_BLOCK_LEB = -6;
export const SIZE_INDIRECT = -7;
export const SIZE_UNKNOWN = -8;

/** Marks in the table below for sizes that the unit determines. */
const SIZE_ADDRESS = 100;
const SIZE_OFFSET = 101;
const SIZE_REF_ADDR = 102;

const SIZES: Readonly<Record<number, number>> = {
  [dw.DW_FORM_addr]: SIZE_ADDRESS,
  [dw.DW_FORM_block2]: SIZE_BLOCK2,
  [dw.DW_FORM_block4]: SIZE_BLOCK4,
  [dw.DW_FORM_data2]: 2,
  [dw.DW_FORM_data4]: 4,
  [dw.DW_FORM_data8]: 8,
  [dw.DW_FORM_string]: SIZE_STRING,
  [dw.DW_FORM_block]: SIZE_BLOCK_LEB,
  [dw.DW_FORM_block1]: SIZE_BLOCK1,
  [dw.DW_FORM_data1]: 1,
  [dw.DW_FORM_flag]: 1,
  [dw.DW_FORM_sdata]: SIZE_LEB,
  [dw.DW_FORM_strp]: SIZE_OFFSET,
  [dw.DW_FORM_udata]: SIZE_LEB,
  [dw.DW_FORM_ref_addr]: SIZE_REF_ADDR,
  [dw.DW_FORM_ref1]: 1,
  [dw.DW_FORM_ref2]: 2,
  [dw.DW_FORM_ref4]: 4,
  [dw.DW_FORM_ref8]: 8,
  [dw.DW_FORM_ref_udata]: SIZE_LEB,
  [dw.DW_FORM_indirect]: SIZE_INDIRECT,
  [dw.DW_FORM_sec_offset]: SIZE_OFFSET,
  [dw.DW_FORM_exprloc]: SIZE_BLOCK_LEB,
  [dw.DW_FORM_flag_present]: 0,
  [dw.DW_FORM_strx]: SIZE_LEB,
  [dw.DW_FORM_addrx]: SIZE_LEB,
  [dw.DW_FORM_ref_sup4]: 4,
  [dw.DW_FORM_strp_sup]: SIZE_OFFSET,
  [dw.DW_FORM_data16]: 16,
  [dw.DW_FORM_line_strp]: SIZE_OFFSET,
  [dw.DW_FORM_ref_sig8]: 8,
  [dw.DW_FORM_implicit_const]: 0,
  [dw.DW_FORM_loclistx]: SIZE_LEB,
  [dw.DW_FORM_rnglistx]: SIZE_LEB,
  [dw.DW_FORM_ref_sup8]: 8,
  [dw.DW_FORM_strx1]: 1,
  [dw.DW_FORM_strx2]: 2,
  [dw.DW_FORM_strx3]: 3,
  [dw.DW_FORM_strx4]: 4,
  [dw.DW_FORM_addrx1]: 1,
  [dw.DW_FORM_addrx2]: 2,
  [dw.DW_FORM_addrx3]: 3,
  [dw.DW_FORM_addrx4]: 4,
  [dw.DW_FORM_GNU_addr_index]: SIZE_LEB,
  [dw.DW_FORM_GNU_str_index]: SIZE_LEB,
  [dw.DW_FORM_GNU_ref_alt]: SIZE_OFFSET,
  [dw.DW_FORM_GNU_strp_alt]: SIZE_OFFSET,
};

/** Bytes of a value, or a negative `SIZE_*` if the size varies. */
export function formSize(form: number, { version, offsetSize, addressSize }: Encoding): number {
  const size = SIZES[form] ?? SIZE_UNKNOWN;
  if (size === SIZE_ADDRESS) return addressSize;
  if (size === SIZE_OFFSET) return offsetSize;
  // Version 2 uses the size of an address.
  if (size === SIZE_REF_ADDR) return version <= 2 ? addressSize : offsetSize;
  return size;
}

export function skipSized(cursor: Cursor, size: number, encoding: Encoding): void {
  if (size >= 0) {
    cursor.skip(size);
    return;
  }
  switch (size) {
    case SIZE_LEB:
      cursor.uleb();
      return;
    case SIZE_STRING:
      cursor.skipString();
      return;
    case SIZE_BLOCK1:
      cursor.skip(cursor.u8());
      return;
    case SIZE_BLOCK2:
      cursor.skip(cursor.u16());
      return;
    case SIZE_BLOCK4:
      cursor.skip(cursor.u32());
      return;
    case SIZE_BLOCK_LEB:
      cursor.skip(cursor.uleb());
      return;
    case SIZE_INDIRECT:
      skipSized(cursor, indirectSize(cursor.uleb(), cursor, encoding), encoding);
      return;
    default:
      throw new FormatError("unsupported", cursor.position, cursor.construct, "a form that is not known");
  }
}

/**
 * Returns the size of an indirect form's value. An indirect form that leads to another one is refused, since
 * it could loop.
 */
function indirectSize(form: number, cursor: Cursor, encoding: Encoding): number {
  if (form !== dw.DW_FORM_indirect && form !== dw.DW_FORM_implicit_const) return formSize(form, encoding);
  throw new FormatError("malformed", cursor.position, cursor.construct, "an indirect form without a value");
}

export interface FormValue {
  readonly form: number;
  /** Number, offset or index; for inline strings and blocks, their start in the section. */
  readonly value: number;
  readonly length: number;
}

export function readForm(cursor: Cursor, form: number, constant: number, encoding: Encoding): FormValue {
  if (form === dw.DW_FORM_implicit_const) return { form, value: constant, length: 0 };
  if (form === dw.DW_FORM_flag_present) return { form, value: 1, length: 0 };
  const size = formSize(form, encoding);
  switch (size) {
    case SIZE_LEB:
      return { form, value: form === dw.DW_FORM_sdata ? cursor.sleb() : cursor.uleb(), length: 0 };
    case SIZE_STRING:
      return { form, value: cursor.skipString(), length: 0 };
    case SIZE_BLOCK1:
      return block(cursor, form, cursor.u8());
    case SIZE_BLOCK2:
      return block(cursor, form, cursor.u16());
    case SIZE_BLOCK4:
      return block(cursor, form, cursor.u32());
    case SIZE_BLOCK_LEB:
      return block(cursor, form, cursor.uleb());
    case SIZE_INDIRECT: {
      const actual = cursor.uleb();
      indirectSize(actual, cursor, encoding);
      return readForm(cursor, actual, 0, encoding);
    }
    case SIZE_UNKNOWN:
      throw new FormatError("unsupported", cursor.position, cursor.construct, `form 0x${form.toString(16)}`);
    case 16:
      return block(cursor, form, 16);
    default:
      return { form, value: cursor.unsigned(size), length: 0 };
  }
}

/** Reads the number of a value whose form has the size `size` (`formSize`), without creating an object. */
export function readValue(
  cursor: Cursor,
  form: number,
  size: number,
  constant: number,
  encoding: Encoding,
): number {
  if (size === SIZE_LEB && form !== dw.DW_FORM_sdata) return cursor.uleb();
  if (size === 1) return cursor.u8();
  if (size === 4) return cursor.u32();
  return readForm(cursor, form, constant, encoding).value;
}

function block(cursor: Cursor, form: number, length: number): FormValue {
  return { form, value: cursor.skip(length), length };
}
