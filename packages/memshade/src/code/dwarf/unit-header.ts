import { FormatError } from "../../ground/bytes/errors.ts";
import * as dw from "./constants.ts";
import { Cursor, readInitialLength } from "./cursor.ts";
import type { Encoding } from "./forms.ts";

/** A unit's header (DWARF 5, section 7.5.1), as versions 2 to 5 have it. Offsets count from the section's start. */
export interface UnitHeader extends Encoding {
  readonly offset: number;
  /** Where the next unit starts. */
  readonly end: number;
  readonly unitType: number;
  readonly abbreviationOffset: number;
  /** Offset of the unit's own entry. */
  readonly dieOffset: number;
  /** Id of a skeleton or split unit of version 5, signature of a type unit. */
  readonly id: bigint | undefined;
}

/** @throws FormatError if there is no unit that can be read; `nextUnit` of the error's unit is not known then */
export function readUnitHeader(section: Uint8Array, offset: number): UnitHeader {
  const cursor = new Cursor(section, offset, ".debug_info");
  const { length, dwarf64 } = readInitialLength(cursor);
  const end = cursor.position + length;
  if (end > section.length)
    throw new FormatError("truncated", offset, "unit", `${length} bytes do not fit into the section`);
  const offsetSize = dwarf64 ? 8 : 4;
  const version = cursor.u16();
  if (version < 2 || version > 5)
    throw new FormatError(
      "unsupported-version",
      offset,
      "unit",
      `DWARF version ${version} (2 to 5 are known)`,
    );
  let unitType = dw.DW_UT_compile;
  let addressSize: number;
  let abbreviationOffset: number;
  if (version >= 5) {
    unitType = cursor.u8();
    addressSize = cursor.u8();
    abbreviationOffset = cursor.unsigned(offsetSize);
  } else {
    abbreviationOffset = cursor.unsigned(offsetSize);
    addressSize = cursor.u8();
  }
  let id: bigint | undefined;
  if (unitType === dw.DW_UT_skeleton || unitType === dw.DW_UT_split_compile) id = cursor.big64();
  if (unitType === dw.DW_UT_type || unitType === dw.DW_UT_split_type) {
    id = cursor.big64();
    cursor.skip(offsetSize);
  }
  if (addressSize !== 4 && addressSize !== 8)
    throw new FormatError("unsupported", offset, "unit", `addresses of ${addressSize} bytes`);
  const dieOffset = cursor.position;
  return { offset, end, version, offsetSize, addressSize, unitType, abbreviationOffset, dieOffset, id };
}

/** Bytes at a unit's start that are looked at before the rest is: its header and its own entry, mostly. */
export const UNIT_HEAD_BYTES = 512;

/** Where a package file (`.dwp`) keeps a unit's part of a section. */
export interface Contributions {
  readonly abbreviations: number;
  readonly line: number;
  readonly stringOffsets: number;
  readonly rangeLists: number;
}

export function isTypeUnit({ header: { unitType } }: { readonly header: UnitHeader }): boolean {
  return unitType === dw.DW_UT_type || unitType === dw.DW_UT_split_type;
}
