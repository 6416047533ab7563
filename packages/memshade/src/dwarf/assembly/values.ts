// A position in a piece of input, and the values that stand there.
import {
  DW_FORM_GNU_addr_index,
  DW_FORM_GNU_ref_alt,
  DW_FORM_GNU_str_index,
  DW_FORM_GNU_strp_alt,
  DW_FORM_addr,
  DW_FORM_addrx,
  DW_FORM_addrx1,
  DW_FORM_addrx2,
  DW_FORM_addrx3,
  DW_FORM_addrx4,
  DW_FORM_block,
  DW_FORM_block1,
  DW_FORM_block2,
  DW_FORM_block4,
  DW_FORM_data1,
  DW_FORM_data16,
  DW_FORM_data2,
  DW_FORM_data4,
  DW_FORM_data8,
  DW_FORM_exprloc,
  DW_FORM_flag,
  DW_FORM_flag_present,
  DW_FORM_implicit_const,
  DW_FORM_line_strp,
  DW_FORM_loclistx,
  DW_FORM_ref1,
  DW_FORM_ref2,
  DW_FORM_ref4,
  DW_FORM_ref8,
  DW_FORM_ref_addr,
  DW_FORM_ref_sig8,
  DW_FORM_ref_sup4,
  DW_FORM_ref_sup8,
  DW_FORM_ref_udata,
  DW_FORM_rnglistx,
  DW_FORM_sdata,
  DW_FORM_sec_offset,
  DW_FORM_string,
  DW_FORM_strp,
  DW_FORM_strp_sup,
  DW_FORM_strx,
  DW_FORM_strx1,
  DW_FORM_strx2,
  DW_FORM_strx3,
  DW_FORM_strx4,
  DW_FORM_udata,
} from "../constants";
import { setUnusual } from "./memory";

/** The next byte, and where the input ends. */
export let at: u32 = 0;
export let end: u32 = 0;

export function enter(start: u32, stop: u32): void {
  at = start;
  end = stop;
}

export function moveTo(position: u32): void {
  at = position;
}

/** Whether `bytes` more are there; if not, the input is damaged. */
// @ts-ignore: decorators are of AssemblyScript
@inline
export function has(bytes: u32): bool {
  if (at <= end && bytes <= end - at) return true;
  setUnusual();
  return false;
}

/** An unsigned value below 2^32: larger ones are unusual. It may lead beyond the end by less than `PADDING`. */
export function uleb(): u32 {
  const first = <u32>load<u8>(at++);
  if (first < 0x80) return first;
  const second = <u32>load<u8>(at++);
  if (second < 0x80) return (first & 0x7f) | (second << 7);
  let value: u64 = (first & 0x7f) | ((second & 0x7f) << 7);
  for (let shift: u64 = 14; shift < 35; shift += 7) {
    const byte = <u64>load<u8>(at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (value > u64(u32.MAX_VALUE)) break;
      return <u32>value;
    }
  }
  setUnusual();
  return 0;
}

/** A signed value of 32 bits: larger ones are unusual. */
export function sleb(): i32 {
  let value: i64 = 0;
  for (let shift: i64 = 0; shift < 35; shift += 7) {
    const byte = <i64>load<u8>(at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (byte & 0x40) value |= -1 << (shift + 7);
      if (value === i64(i32(value))) return <i32>value;
      break;
    }
  }
  setUnusual();
  return 0;
}

function skipLeb(): void {
  for (let i = 0; i < 10; i++) if (load<u8>(at++) < 0x80) return;
  setUnusual();
}

function skip(bytes: u32): void {
  if (has(bytes)) at += bytes;
}

// Sizes that the bytes themselves say.
export const SIZE_LEB: i32 = -1;
const SIZE_STRING: i32 = -2;
const SIZE_BLOCK1: i32 = -3;
const SIZE_BLOCK2: i32 = -4;
const SIZE_BLOCK4: i32 = -5;
export const SIZE_BLOCK_LEB: i32 = -6;
/** Of forms that are not known, or stand in the entry. */
export const SIZE_UNUSUAL: i32 = -8;

/** What the sizes of values in a unit depend on. */
export let version: u32 = 0;
export let offsetSize: u32 = 0;
export let addressSize: u32 = 0;

export function setEncoding(dwarfVersion: u32, offsetBytes: u32, addressBytes: u32): void {
  version = dwarfVersion;
  offsetSize = offsetBytes;
  addressSize = addressBytes;
}

/** Bytes of a value, or one of the above. */
export function formSize(form: u32): i32 {
  switch (form) {
    case DW_FORM_addr:
      return addressSize;
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return offsetSize;
    // Version 2 gave it the size of an address.
    case DW_FORM_ref_addr:
      return version <= 2 ? addressSize : offsetSize;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
      return SIZE_LEB;
    case DW_FORM_string:
      return SIZE_STRING;
    case DW_FORM_block1:
      return SIZE_BLOCK1;
    case DW_FORM_block2:
      return SIZE_BLOCK2;
    case DW_FORM_block4:
      return SIZE_BLOCK4;
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return SIZE_BLOCK_LEB;
    default:
      return SIZE_UNUSUAL;
  }
}

/** Moves behind a value of a negative size. */
export function skipSized(size: i32): void {
  switch (size) {
    case SIZE_LEB:
      skipLeb();
      return;
    case SIZE_STRING:
      while (at < end && load<u8>(at) !== 0) at++;
      if (has(1)) at++;
      return;
    case SIZE_BLOCK1:
      skip(<u32>load<u8>(at++));
      return;
    case SIZE_BLOCK2: {
      const bytes = <u32>load<u16>(at);
      at += 2;
      skip(bytes);
      return;
    }
    case SIZE_BLOCK4: {
      const bytes = load<u32>(at);
      at += 4;
      skip(bytes);
      return;
    }
    case SIZE_BLOCK_LEB:
      skip(uleb());
      return;
    default:
      setUnusual();
  }
}

export function isAddressIndex(form: u32): bool {
  return (
    form === DW_FORM_addrx ||
    (form >= <u32>DW_FORM_addrx1 && form <= <u32>DW_FORM_addrx4) ||
    form === DW_FORM_GNU_addr_index
  );
}

export function isReferenceInUnit(form: u32): bool {
  return (form >= <u32>DW_FORM_ref1 && form <= <u32>DW_FORM_ref8) || form === DW_FORM_ref_udata;
}

/** An unsigned number of as many bytes. */
export function unsignedAt(position: u32, bytes: u32): u64 {
  switch (bytes) {
    case 1:
      return load<u8>(position);
    case 2:
      return load<u16>(position);
    case 3:
      return <u64>load<u16>(position) | (<u64>load<u8>(position, 2) << 16);
    case 4:
      return load<u32>(position);
    case 8:
      return load<u64>(position);
    default:
      setUnusual();
      return 0;
  }
}

/** The number of a value of a form; `constant` is that of `DW_FORM_implicit_const`. */
export function readNumber(form: u32, size: i32, constant: i32): i64 {
  if (size > 0) {
    const value = unsignedAt(at, size);
    at += size;
    return value;
  }
  if (form === DW_FORM_sdata) return sleb();
  if (size === SIZE_LEB) return uleb();
  if (form === DW_FORM_flag_present) return 1;
  if (form === DW_FORM_implicit_const) return constant;
  setUnusual();
  return 0;
}
