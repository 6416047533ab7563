import {
  type Abbreviation,
  type AbbreviationTable,
  readAbbreviations,
  skipForm,
  type UnitFormat,
} from "./abbreviations.ts";
import { At, Form, UnitType } from "./constants.ts";
import { Cursor, stringAt } from "./cursor.ts";
import { type AddressRange, type RangeContext, readRangeList, readRangeListEntry } from "./ranges.ts";
import type { DebugSections } from "./sections.ts";

/** The header of a unit in `.debug_info`. */
export interface UnitHeader extends UnitFormat {
  /** Of the header, in the section. */
  readonly offset: number;
  readonly end: number;
  readonly unitType: number;
  readonly abbreviations: number;
  /** First DIE. */
  readonly firstEntry: number;
  /** Id of a skeleton and its split unit (version 5), hexadecimal. */
  readonly id: string | undefined;
}

/** Headers of all units up to the first damaged one; type units have their type's attributes left out. */
export function readUnitHeaders(section: Uint8Array): UnitHeader[] {
  const headers: UnitHeader[] = [];
  let offset = 0;
  while (offset < section.length) {
    let header: UnitHeader;
    try {
      header = readUnitHeader(new Cursor(section, ".debug_info", offset));
    } catch {
      break;
    }
    headers.push(header);
    offset = header.end;
  }
  return headers;
}

function readUnitHeader(cursor: Cursor): UnitHeader {
  const offset = cursor.pos;
  const { length, offsetSize } = cursor.initialLength();
  const end = Math.min(cursor.pos + length, cursor.bytes.length);
  const version = cursor.u16();
  if (version < 2 || version > 5) cursor.fail(`version ${version}`);
  let unitType: number = UnitType.compile;
  let id: string | undefined;
  let abbreviations: number;
  let addressSize: number;
  if (version >= 5) {
    unitType = cursor.u8();
    addressSize = cursor.u8();
    abbreviations = cursor.unsigned(offsetSize);
    if (unitType === UnitType.skeleton || unitType === UnitType.split_compile) {
      id = cursor.u64Exact().toString(16).padStart(16, "0");
    } else if (unitType === UnitType.type || unitType === UnitType.split_type) cursor.skip(8 + offsetSize);
  } else {
    abbreviations = cursor.unsigned(offsetSize);
    addressSize = cursor.u8();
  }
  if (![2, 4, 8].includes(addressSize)) cursor.fail(`addresses of ${addressSize} bytes`);
  const firstEntry = cursor.pos;
  return { offset, end, version, unitType, abbreviations, addressSize, offsetSize, firstEntry, id };
}

/** Attributes of a unit's first DIE. */
interface UnitAttributes {
  tag: number;
  name: string | undefined;
  directory: string;
  lineProgram: number | undefined;
  lowPc: number | undefined;
  splitName: string | undefined;
  id: string | undefined;
  strOffsetsBase: number | undefined;
  addrBase: number | undefined;
  rangesBase: number;
  rnglistsBase: number | undefined;
}

/** A compilation unit; what needs more than its header is read when asked for. */
export class Unit {
  readonly header: UnitHeader;
  readonly info: Uint8Array;
  readonly sections: DebugSections;
  /** The skeleton of a split unit: it has the addresses. */
  readonly skeleton: Unit | undefined;
  #abbreviations: AbbreviationTable | undefined;
  #attributes: UnitAttributes | undefined;
  #ranges: readonly AddressRange[] | undefined;

  constructor(header: UnitHeader, info: Uint8Array, sections: DebugSections, skeleton?: Unit) {
    this.header = header;
    this.info = info;
    this.sections = sections;
    this.skeleton = skeleton;
  }

  get abbreviations(): AbbreviationTable {
    if (this.#abbreviations === undefined) {
      const section = this.sections.section(".debug_abbrev") ?? new Uint8Array();
      const { header } = this;
      this.#abbreviations =
        header.abbreviations < section.length ? readAbbreviations(section, header.abbreviations, header) : [];
    }
    return this.#abbreviations;
  }

  /** Lets units with the same abbreviations share one table. */
  shareAbbreviations(table: AbbreviationTable): void {
    this.#abbreviations = table;
  }

  get directory(): string {
    return this.#root.directory;
  }

  get name(): string | undefined {
    return this.#root.name;
  }

  get tag(): number {
    return this.#root.tag;
  }

  /** Offset of the line number program, undefined if there is none. */
  get lineProgram(): number | undefined {
    return this.#root.lineProgram;
  }

  /** Name of the file with the split unit, and the id that it must have. */
  get split(): { name: string; id: string } | undefined {
    const { splitName, id } = this.#root;
    return splitName === undefined || id === undefined ? undefined : { name: splitName, id };
  }

  get id(): string | undefined {
    return this.#root.id;
  }

  /** Addresses of the unit's code; empty where they cannot be read. */
  get ranges(): readonly AddressRange[] {
    if (this.#ranges === undefined) {
      try {
        this.#ranges = this.#readRanges();
      } catch {
        this.#ranges = [];
      }
    }
    return this.#ranges;
  }

  cursorAt(offset: number): Cursor {
    return new Cursor(this.info, ".debug_info", offset, this.header.end);
  }

  /** The abbreviation of the DIE at the cursor, which moves behind its code; undefined for a null entry or damage. */
  abbreviationAt(cursor: Cursor): Abbreviation | undefined {
    return this.abbreviations[cursor.uleb()];
  }

  contains(entry: number): boolean {
    return entry >= this.header.firstEntry && entry < this.header.end;
  }

  /** Value of a constant, flag, section offset or index; NaN for other forms, which are skipped. */
  constant(cursor: Cursor, form: number, implicit: number): number {
    switch (form) {
      case Form.data1:
      case Form.flag:
        return cursor.u8();
      case Form.data2:
        return cursor.u16();
      case Form.data4:
        return cursor.u32();
      case Form.data8:
        return cursor.u64();
      case Form.udata:
        return cursor.uleb();
      case Form.sdata:
        return cursor.sleb();
      case Form.sec_offset:
        return cursor.unsigned(this.header.offsetSize);
      case Form.flag_present:
        return 1;
      case Form.implicit_const:
        return implicit;
      case Form.indirect:
        return this.constant(cursor, cursor.uleb(), 0);
      default:
        skipForm(cursor, form, this.header);
        return Number.NaN;
    }
  }

  /** An address; undefined for other forms, which are skipped, and for an index without an entry. */
  address(cursor: Cursor, form: number): number | undefined {
    switch (form) {
      case Form.addr:
        return cursor.unsigned(this.header.addressSize);
      case Form.addrx:
      case Form.GNU_addr_index:
        return this.addressAtIndex(cursor.uleb());
      case Form.addrx1:
        return this.addressAtIndex(cursor.u8());
      case Form.addrx2:
        return this.addressAtIndex(cursor.u16());
      case Form.addrx3:
        return this.addressAtIndex(cursor.u24());
      case Form.addrx4:
        return this.addressAtIndex(cursor.u32());
      default:
        skipForm(cursor, form, this.header);
        return undefined;
    }
  }

  addressAtIndex(index: number): number | undefined {
    const owner = this.skeleton ?? this;
    const table = owner.sections.section(".debug_addr");
    const { addressSize } = this.header;
    const base = owner.#root.addrBase ?? (this.header.version >= 5 ? 8 : 0);
    const at = base + index * addressSize;
    if (table === undefined || !(at + addressSize <= table.length)) return undefined;
    return new Cursor(table, ".debug_addr", at).unsigned(addressSize);
  }

  /** Offset in `.debug_info` of the DIE that is referred to; −1 for references out of it, which are skipped. */
  reference(cursor: Cursor, form: number): number {
    const { header } = this;
    switch (form) {
      case Form.ref1:
        return header.offset + cursor.u8();
      case Form.ref2:
        return header.offset + cursor.u16();
      case Form.ref4:
        return header.offset + cursor.u32();
      case Form.ref8:
        return header.offset + cursor.u64();
      case Form.ref_udata:
        return header.offset + cursor.uleb();
      case Form.ref_addr:
        return cursor.unsigned(header.version <= 2 ? header.addressSize : header.offsetSize);
      default:
        skipForm(cursor, form, header);
        return -1;
    }
  }

  /** Text of a string form; undefined for other forms, which are skipped, and for offsets outside. */
  string(cursor: Cursor, form: number): string | undefined {
    switch (form) {
      case Form.string:
        return cursor.string();
      case Form.strp:
        return stringAt(this.sections.section(".debug_str"), cursor.unsigned(this.header.offsetSize));
      case Form.line_strp:
        return stringAt(this.sections.section(".debug_line_str"), cursor.unsigned(this.header.offsetSize));
      case Form.strx:
      case Form.GNU_str_index:
        return this.stringAtIndex(cursor.uleb());
      case Form.strx1:
        return this.stringAtIndex(cursor.u8());
      case Form.strx2:
        return this.stringAtIndex(cursor.u16());
      case Form.strx3:
        return this.stringAtIndex(cursor.u24());
      case Form.strx4:
        return this.stringAtIndex(cursor.u32());
      default:
        skipForm(cursor, form, this.header);
        return undefined;
    }
  }

  stringAtIndex(index: number): string | undefined {
    const { offsetSize } = this.header;
    const offsets = this.sections.section(".debug_str_offsets");
    const at = this.#strOffsetsBase + index * offsetSize;
    if (offsets === undefined || !(at + offsetSize <= offsets.length)) return undefined;
    const offset = new Cursor(offsets, ".debug_str_offsets", at).unsigned(offsetSize);
    return stringAt(this.sections.section(".debug_str"), offset);
  }

  get #strOffsetsBase(): number {
    const { version, offsetSize } = this.header;
    const base = this.#attributes?.strOffsetsBase;
    if (base !== undefined) return base;
    // A split unit's table begins behind the header of its contribution; before version 5 there was none.
    return version >= 5 ? 2 * offsetSize : 0;
  }

  /** Ranges of a DIE's `DW_AT_ranges`. */
  rangesOf(cursor: Cursor, form: number): AddressRange[] {
    const { version } = this.header;
    if (form === Form.rnglistx) return readRangeListEntry(this.#rangeContext(), cursor.uleb());
    const offset = this.constant(cursor, form, 0);
    if (Number.isNaN(offset)) return [];
    if (version >= 5) return readRangeList(this.#rangeContext(), offset);
    const base = this.skeleton === undefined ? 0 : this.skeleton.#root.rangesBase;
    return readRangeList(this.#rangeContext(), offset + base);
  }

  #rangeContext(): RangeContext {
    const owner = this.skeleton ?? this;
    const isSplitTable = this.skeleton !== undefined && this.header.version >= 5;
    const { version } = this.header;
    const sections = isSplitTable ? this.sections : owner.sections;
    return {
      section: sections.section(version >= 5 ? ".debug_rnglists" : ".debug_ranges"),
      format: this.header,
      base: owner.#root.lowPc,
      listsBase:
        (isSplitTable ? undefined : owner.#root.rnglistsBase) ?? (this.header.offsetSize === 8 ? 20 : 12),
      addressAtIndex: (index) => this.addressAtIndex(index),
    };
  }

  get #root(): UnitAttributes {
    if (this.#attributes === undefined) {
      this.#attributes = emptyAttributes(this.header.id);
      try {
        this.#readRoot(this.#attributes);
      } catch {
        // What could be read before the damage is of use.
      }
    }
    return this.#attributes;
  }

  /** Two passes: strings and addresses by index need the bases, which may stand behind them. */
  #readRoot(root: UnitAttributes): void {
    const cursor = this.cursorAt(this.header.firstEntry);
    const abbreviation = this.abbreviationAt(cursor);
    if (abbreviation === undefined) return;
    root.tag = abbreviation.tag;
    const { attributes, forms, implicit } = abbreviation;
    const start = cursor.pos;
    for (let i = 0; i < attributes.length; i++) {
      switch (attributes[i]) {
        case At.stmt_list:
          root.lineProgram = number(this.constant(cursor, forms[i], implicit[i]));
          break;
        case At.str_offsets_base:
          root.strOffsetsBase = number(this.constant(cursor, forms[i], implicit[i]));
          break;
        case At.addr_base:
        case At.GNU_addr_base:
          root.addrBase = number(this.constant(cursor, forms[i], implicit[i]));
          break;
        case At.rnglists_base:
          root.rnglistsBase = number(this.constant(cursor, forms[i], implicit[i]));
          break;
        case At.GNU_ranges_base:
          root.rangesBase = number(this.constant(cursor, forms[i], implicit[i])) ?? 0;
          break;
        case At.GNU_dwo_id:
          root.id = cursor.u64Exact().toString(16).padStart(16, "0");
          break;
        default:
          skipForm(cursor, forms[i], this.header);
      }
    }
    cursor.pos = start;
    for (let i = 0; i < attributes.length; i++) {
      switch (attributes[i]) {
        case At.name:
          root.name = this.string(cursor, forms[i]);
          break;
        case At.comp_dir:
          root.directory = this.string(cursor, forms[i]) ?? "";
          break;
        case At.dwo_name:
        case At.GNU_dwo_name:
          root.splitName = this.string(cursor, forms[i]);
          break;
        case At.low_pc:
          root.lowPc = this.address(cursor, forms[i]);
          break;
        default:
          skipForm(cursor, forms[i], this.header);
      }
    }
  }

  #readRanges(): readonly AddressRange[] {
    // The bases that ranges need.
    this.#root;
    const cursor = this.cursorAt(this.header.firstEntry);
    const abbreviation = this.abbreviationAt(cursor);
    return abbreviation === undefined ? [] : readEntryRanges(this, cursor, abbreviation);
  }
}

/** Ranges of the DIE whose attributes begin at the cursor: from low to high address, or its list. */
export function readEntryRanges(
  unit: Unit,
  cursor: Cursor,
  { attributes, forms, implicit }: Abbreviation,
): AddressRange[] {
  let low: number | undefined;
  let high: number | undefined;
  let isLength = false;
  let list: AddressRange[] | undefined;
  for (let i = 0; i < attributes.length; i++) {
    switch (attributes[i]) {
      case At.low_pc:
        low = unit.address(cursor, forms[i]);
        break;
      case At.high_pc:
        isLength = !isAddressForm(forms[i]);
        high = isLength
          ? number(unit.constant(cursor, forms[i], implicit[i]))
          : unit.address(cursor, forms[i]);
        break;
      case At.ranges:
        list = unit.rangesOf(cursor, forms[i]);
        break;
      default:
        skipForm(cursor, forms[i], unit.header);
    }
  }
  if (low !== undefined && high !== undefined) return [{ low, high: isLength ? low + high : high }];
  return list ?? [];
}

export function isAddressForm(form: number): boolean {
  return (
    form === Form.addr ||
    form === Form.GNU_addr_index ||
    form === Form.addrx ||
    (form >= Form.addrx1 && form <= Form.addrx4)
  );
}

function number(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}

function emptyAttributes(id: string | undefined): UnitAttributes {
  return {
    ...{
      tag: 0,
      name: undefined,
      directory: "",
      lineProgram: undefined,
      lowPc: undefined,
      splitName: undefined,
      id,
    },
    ...{ strOffsetsBase: undefined, addrBase: undefined, rangesBase: 0, rnglistsBase: undefined },
  };
}
