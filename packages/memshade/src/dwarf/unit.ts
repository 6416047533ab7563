import { FormatError } from "../bytes/errors.ts";
import type { AbbreviationTable } from "./abbreviations.ts";
import * as dw from "./constants.ts";
import { Cursor, readInitialLength } from "./cursor.ts";
import { Die } from "./die.ts";
import type { DwarfFile } from "./dwarf-file.ts";
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
  if (end > section.length) {
    throw new FormatError("truncated", offset, "unit", `${length} bytes do not fit into the section`);
  }
  const offsetSize = dwarf64 ? 8 : 4;
  const version = cursor.u16();
  if (version < 2 || version > 5) {
    throw new FormatError(
      "unsupported-version",
      offset,
      "unit",
      `DWARF version ${version} (2 to 5 are known)`,
    );
  }
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
  if (addressSize !== 4 && addressSize !== 8) {
    throw new FormatError("unsupported", offset, "unit", `addresses of ${addressSize} bytes`);
  }
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

/** Attributes of a unit's own entry that the reading of others depends on. */
interface UnitAttributes {
  readonly lineOffset: number | undefined;
  readonly compilationDirectory: string;
  readonly name: string;
  readonly dwoName: string | undefined;
  readonly dwoId: bigint | undefined;
}

/** Where a unit's parts of tables start. */
interface UnitBases {
  readonly strings: number;
  readonly addresses: number;
  readonly rangeLists: number;
}

/** A unit of `.debug_info`. Its entries are decoded when they are asked for. */
export class Unit {
  readonly file: DwarfFile;
  readonly header: UnitHeader;
  readonly contributions: Contributions | undefined;
  /** Of a split unit: the one in the program, which has the addresses and the line table. */
  skeleton: Unit | undefined;
  #abbreviations: AbbreviationTable | undefined;
  #bases: UnitBases | undefined;
  #attributes: UnitAttributes | undefined;
  #lowPc: number | undefined | null = null;
  #isLoaded = false;

  constructor(file: DwarfFile, header: UnitHeader, contributions?: Contributions) {
    this.file = file;
    this.header = header;
    this.contributions = contributions;
  }

  get isSplit(): boolean {
    return this.file.isSplit;
  }

  get abbreviations(): AbbreviationTable {
    const offset = this.header.abbreviationOffset + (this.contributions?.abbreviations ?? 0);
    this.#abbreviations ??= this.file.abbreviationsAt(offset, this.header);
    return this.#abbreviations;
  }

  /** Makes sure that all of its entries are in memory. */
  load(): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    this.file.info.load(this.header.offset, this.header.end);
  }

  /**
   * Reads something of the unit's own entry, which mostly needs no more than the unit's first bytes; no texts.
   *
   * @throws FormatError if it cannot be read
   */
  fromOwnEntry<T>(read: (die: Die) => T): T {
    const head = this.header.offset + UNIT_HEAD_BYTES;
    if (!this.#isLoaded && head < this.header.end) {
      try {
        return read(new Die(this, this.header.dieOffset, head));
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    }
    return read(this.die);
  }

  /** The unit's own entry. @throws FormatError if it cannot be read */
  get die(): Die {
    return this.dieAt(this.header.dieOffset);
  }

  /** @throws FormatError if there is no entry */
  dieAt(offset: number): Die {
    if (!(offset >= this.header.dieOffset && offset < this.header.end)) {
      throw new FormatError("malformed", offset, "reference", "it leads out of its unit");
    }
    return new Die(this, offset);
  }

  /** Where the tables start that indices (`strx`, `addrx`, `rnglistx`) count from. */
  get bases(): UnitBases {
    if (this.#bases === undefined) {
      const { version, offsetSize } = this.header;
      const wide = offsetSize === 8;
      this.#bases = {
        strings: (this.contributions?.stringOffsets ?? 0) + (version >= 5 ? (wide ? 16 : 8) : 0),
        addresses: version >= 5 ? (wide ? 16 : 8) : 0,
        rangeLists: (this.contributions?.rangeLists ?? 0) + (version >= 5 ? (wide ? 20 : 12) : 0),
      };
      if (!this.isSplit) this.#bases = this.#givenBases(this.#bases);
    }
    return this.#bases;
  }

  /** What the unit's own entry says; where that is damaged the usual, as whatever else it has may still be read. */
  #givenBases(usual: UnitBases): UnitBases {
    try {
      return this.fromOwnEntry((die) => {
        const given = (attribute: number) => die.find(attribute)?.value;
        return {
          strings: given(dw.DW_AT_str_offsets_base) ?? usual.strings,
          addresses: given(dw.DW_AT_addr_base) ?? given(dw.DW_AT_GNU_addr_base) ?? usual.addresses,
          rangeLists: given(dw.DW_AT_rnglists_base) ?? usual.rangeLists,
        };
      });
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.file.problems.push(error);
      return usual;
    }
  }

  get attributes(): UnitAttributes {
    if (this.#attributes === undefined) {
      const die = this.die;
      const idOfVersion4 = die.find(dw.DW_AT_GNU_dwo_id);
      this.#attributes = {
        lineOffset: die.find(dw.DW_AT_stmt_list)?.value,
        compilationDirectory: die.text(dw.DW_AT_comp_dir) ?? "",
        name: die.text(dw.DW_AT_name) ?? "",
        dwoName: die.text(dw.DW_AT_dwo_name) ?? die.text(dw.DW_AT_GNU_dwo_name),
        dwoId: this.header.id ?? (idOfVersion4 && die.big64(dw.DW_AT_GNU_dwo_id)),
      };
    }
    return this.#attributes;
  }

  /** What the entries of range lists count from, unless the lists say otherwise. */
  get baseAddress(): number | undefined {
    const owner = this.skeleton ?? this;
    if (owner.#lowPc === null)
      owner.#lowPc = owner.fromOwnEntry(
        (die) => die.address(dw.DW_AT_low_pc) ?? die.address(dw.DW_AT_entry_pc),
      );
    return owner.#lowPc;
  }

  /** What offsets of range lists in its split half count from, in version 4. */
  get rangesBase(): number {
    return this.die.find(dw.DW_AT_GNU_ranges_base)?.value ?? 0;
  }

  /** The address at an index of `.debug_addr`. */
  addressAt(index: number): number | undefined {
    const owner = this.skeleton ?? this;
    const { addressSize } = this.header;
    const part = owner.file.part(".debug_addr");
    const at = owner.bases.addresses + index * addressSize;
    if (part === undefined || !(at >= 0 && at + addressSize <= part.bytes.length)) return undefined;
    part.load(at, at + addressSize);
    return new Cursor(part.bytes, at, ".debug_addr").unsigned(addressSize);
  }

  /** The text at an index of `.debug_str_offsets`. */
  textAtIndex(index: number): string | undefined {
    const { offsetSize } = this.header;
    const part = this.file.part(".debug_str_offsets");
    const at = this.bases.strings + index * offsetSize;
    if (part === undefined || !(at >= 0 && at + offsetSize <= part.bytes.length)) return undefined;
    part.load(at, at + offsetSize);
    const offset = new Cursor(part.bytes, at, ".debug_str_offsets").unsigned(offsetSize);
    return this.file.stringAt(".debug_str", offset);
  }
}
