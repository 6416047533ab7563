import { FormatError } from "../../ground/bytes/errors.ts";
import * as dw from "./constants.ts";
import { Cursor } from "./cursor.ts";
import type { Contributions } from "./unit-header.ts";

/** Which parts of a package file's sections belong to which unit (`.debug_cu_index`; DWARF 5, section 7.3.5.3). */
export class PackageIndex {
  readonly #offsets: ReadonlyMap<bigint, number>;
  readonly #contributions: ReadonlyMap<number, Contributions>;

  constructor(offsets: ReadonlyMap<bigint, number>, contributions: ReadonlyMap<number, Contributions>) {
    this.#offsets = offsets;
    this.#contributions = contributions;
  }

  /** Offset in `.debug_info.dwo` of the unit with an id. */
  offsetOf(id: bigint): number | undefined {
    return this.#offsets.get(id);
  }

  /** The parts that belong to the unit at an offset of `.debug_info.dwo`. */
  contributionsAt(offset: number): Contributions | undefined {
    return this.#contributions.get(offset);
  }
}

/** @throws FormatError if it is damaged or of an unknown version (2, GNU's, and 5 are known) */
export function readPackageIndex(section: Uint8Array): PackageIndex {
  const cursor = new Cursor(section, 0, ".debug_cu_index");
  const version = cursor.u32() & 0xffff;
  if (version !== 2 && version !== 5)
    throw new FormatError(
      "unsupported-version",
      0,
      ".debug_cu_index",
      `version ${version} (2 and 5 are known)`,
    );
  const columns = cursor.u32();
  const units = cursor.u32();
  const slots = cursor.u32();
  const ids = cursor.skip(slots * 8);
  const rows = cursor.skip(slots * 4);
  const kinds = cursor.skip(columns * 4);
  const table = cursor.skip(units * columns * 4);
  const at = (offset: number) => new Cursor(section, offset, ".debug_cu_index");
  // GNU's format has loclists where the standard has them too, but location lists of version 4 instead.
  const column = new Map(Array.from({ length: columns }, (_, index) => [at(kinds + index * 4).u32(), index]));
  const cell = (row: number, kind: number) => {
    const index = column.get(kind);
    return index === undefined ? 0 : at(table + (row * columns + index) * 4).u32();
  };
  const offsets = new Map<bigint, number>();
  const contributions = new Map<number, Contributions>();
  for (let slot = 0; slot < slots; slot++) {
    const row = at(rows + slot * 4).u32();
    if (row === 0 || row > units) continue;
    const offset = cell(row - 1, dw.DW_SECT_INFO);
    offsets.set(at(ids + slot * 8).big64(), offset);
    contributions.set(offset, {
      abbreviations: cell(row - 1, dw.DW_SECT_ABBREV),
      line: cell(row - 1, dw.DW_SECT_LINE),
      stringOffsets: cell(row - 1, dw.DW_SECT_STR_OFFSETS),
      rangeLists: version === 5 ? cell(row - 1, dw.DW_SECT_RNGLISTS) : 0,
    });
  }
  return new PackageIndex(offsets, contributions);
}
