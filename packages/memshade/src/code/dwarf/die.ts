import { FormatError } from "../../ground/bytes/errors.ts";
import type { Abbreviation, AbbreviationTable } from "./abbreviations.ts";
import * as dw from "./constants.ts";
import { Cursor, stringAt } from "./cursor.ts";
import { type FormValue, readForm, skipSized } from "./forms.ts";
import type { DwarfSections } from "./sections.ts";
import type { Contributions, UnitHeader } from "./unit-header.ts";

/** How far chains of references are followed for an attribute; real ones have two or three links. */
const LONGEST_CHAIN = 64;

/** Attributes of a unit's own entry that the reading of others depends on. */
export interface UnitAttributes {
  readonly lineOffset: number | undefined;
  readonly compilationDirectory: string;
  readonly name: string;
  readonly dwoName: string | undefined;
  readonly dwoId: bigint | undefined;
}

/** Where a unit's parts of tables start. */
export interface UnitBases {
  readonly strings: number;
  readonly addresses: number;
  readonly rangeLists: number;
}

/** A unit of `.debug_info`, as its entries and their readers see it. */
export interface Unit {
  readonly file: FileOfEntries;
  readonly header: UnitHeader;
  readonly contributions: Contributions | undefined;
  readonly isSplit: boolean;
  /** Of a split unit: the one in the program, which has the addresses and the line table. */
  skeleton: Unit | undefined;
  readonly abbreviations: AbbreviationTable;
  /** The unit's own entry. @throws FormatError if it cannot be read */
  readonly die: Die;
  readonly attributes: UnitAttributes;
  /** Where the tables start that indices (`strx`, `addrx`, `rnglistx`) count from. */
  readonly bases: UnitBases;
  /** What the entries of range lists count from, unless the lists say otherwise. */
  readonly baseAddress: number | undefined;
  /** What offsets of range lists in its split half count from, in version 4. */
  readonly rangesBase: number;
  /** Makes sure that all of its entries are in memory. */
  load(): void;
  /** @throws FormatError if there is no entry */
  dieAt(offset: number): Die;
  /**
   * Reads something of the unit's own entry, which mostly needs no more than the unit's first bytes; no texts.
   *
   * @throws FormatError if it cannot be read
   */
  fromOwnEntry<T>(read: (die: Die) => T): T;
  /** The address at an index of `.debug_addr`. */
  addressAt(index: number): number | undefined;
  /** The text at an index of `.debug_str_offsets`. */
  textAtIndex(index: number): string | undefined;
}

/** What entries ask of their file: where others are. */
export interface FileOfEntries extends DwarfSections {
  readonly shared: FileOfEntries | undefined;
  unitAround(offset: number): Unit | undefined;
  typeUnitDie(signature: bigint | undefined): Die | undefined;
}

/** An entry, decoded attribute by attribute. Made for the few that are looked at, never for all. */
export class Die {
  readonly unit: Unit;
  readonly offset: number;
  readonly abbreviation: Abbreviation;
  /** Where the attributes' values start. */
  readonly #values: number;
  readonly #end: number;

  /** @param end where the bytes end that are to be looked at; by default the whole unit is loaded */
  constructor(unit: Unit, offset: number, end?: number) {
    this.unit = unit;
    this.offset = offset;
    if (end === undefined) unit.load();
    this.#end = end ?? unit.header.end;
    const cursor = this.#cursorAt(offset);
    const code = cursor.uleb();
    if (code === 0) throw new FormatError("malformed", offset, "entry", "there is none at this place");
    this.abbreviation = unit.abbreviations.get(code);
    this.#values = cursor.position;
  }

  get tag(): number {
    return this.abbreviation.tag;
  }

  #cursorAt(offset: number): Cursor {
    return new Cursor(this.unit.file.info.bytes, offset, ".debug_info", this.#end);
  }

  /** The attribute of this very entry. */
  find(attribute: number): FormValue | undefined {
    const { attributes, forms, constants, sizes } = this.abbreviation;
    const place = attributes.indexOf(attribute);
    if (place < 0) return undefined;
    const { header } = this.unit;
    const cursor = this.#cursorAt(this.#values);
    for (let i = 0; i < place; i++) skipSized(cursor, sizes[i], header);
    return readForm(cursor, forms[place], constants[place], header);
  }

  /** The attribute of this entry, or of those it stems from; the entry that has it comes with it. */
  findInherited(attributes: readonly number[]): { die: Die; value: FormValue } | undefined {
    const open: Die[] = [this];
    let followed = 0;
    for (let die = open.pop(); die !== undefined && followed < LONGEST_CHAIN; die = open.pop()) {
      followed++;
      for (const attribute of attributes) {
        const value = die.find(attribute);
        if (value !== undefined) return { die, value };
      }
      for (const link of [dw.DW_AT_abstract_origin, dw.DW_AT_specification, dw.DW_AT_signature]) {
        const next = die.reference(link);
        if (next !== undefined) open.push(next);
      }
    }
    return undefined;
  }

  text(attribute: number): string | undefined {
    const value = this.find(attribute);
    return value && this.textOf(value);
  }

  /** A text of this entry or of those it stems from. */
  inheritedText(attributes: readonly number[]): string | undefined {
    const found = this.findInherited(attributes);
    return found?.die.textOf(found.value);
  }

  textOf(value: FormValue): string | undefined {
    return textOf(this.unit, value);
  }

  /** An attribute of class address. */
  address(attribute: number): number | undefined {
    const value = this.find(attribute);
    return value && this.addressOf(value);
  }

  addressOf({ form, value }: FormValue): number | undefined {
    switch (form) {
      case dw.DW_FORM_addr:
        return value;
      case dw.DW_FORM_addrx:
      case dw.DW_FORM_addrx1:
      case dw.DW_FORM_addrx2:
      case dw.DW_FORM_addrx3:
      case dw.DW_FORM_addrx4:
      case dw.DW_FORM_GNU_addr_index:
        return this.unit.addressAt(value);
      default:
        return undefined;
    }
  }

  /** A value of eight bytes, exactly. */
  big64(attribute: number): bigint | undefined {
    const place = this.abbreviation.attributes.indexOf(attribute);
    if (place < 0) return undefined;
    const form = this.abbreviation.forms[place];
    if (form !== dw.DW_FORM_data8 && form !== dw.DW_FORM_ref_sig8) return undefined;
    const cursor = this.#cursorAt(this.#values);
    for (let i = 0; i < place; i++) readForm(cursor, this.abbreviation.forms[i], 0, this.unit.header);
    return cursor.big64();
  }

  /** The entry that an attribute refers to; undefined where it is absent or leads nowhere. */
  reference(attribute: number): Die | undefined {
    const value = this.find(attribute);
    if (value === undefined) return undefined;
    const { unit } = this;
    try {
      switch (value.form) {
        case dw.DW_FORM_ref1:
        case dw.DW_FORM_ref2:
        case dw.DW_FORM_ref4:
        case dw.DW_FORM_ref8:
        case dw.DW_FORM_ref_udata:
          return unit.dieAt(unit.header.offset + value.value);
        case dw.DW_FORM_ref_addr:
          return unit.file.unitAround(value.value)?.dieAt(value.value);
        case dw.DW_FORM_GNU_ref_alt:
        case dw.DW_FORM_ref_sup4:
        case dw.DW_FORM_ref_sup8:
          return unit.file.shared?.unitAround(value.value)?.dieAt(value.value);
        case dw.DW_FORM_ref_sig8:
          return unit.file.typeUnitDie(this.big64(attribute));
        default:
          return undefined;
      }
    } catch (error) {
      if (error instanceof FormatError) return undefined;
      throw error;
    }
  }

  /** The entries right below this one. @throws FormatError where they are damaged */
  *children(): Generator<Die> {
    for (const { die } of this.descendants(1)) yield die;
  }

  /**
   * The entries below this one in their order, 1 being the depth of those right below; deeper ones than `deepest` are
   * passed over.
   *
   * @throws FormatError where they are damaged
   */
  *descendants(deepest: number = Number.POSITIVE_INFINITY): Generator<{ die: Die; depth: number }> {
    if (!this.abbreviation.hasChildren) return;
    const { unit } = this;
    const cursor = this.#cursorAt(this.#values);
    for (const size of this.abbreviation.skips) skipSized(cursor, size, unit.header);
    let depth = 1;
    while (depth > 0 && cursor.position < unit.header.end) {
      const offset = cursor.position;
      const code = cursor.uleb();
      if (code === 0) {
        depth--;
        continue;
      }
      const { skips, hasChildren } = unit.abbreviations.get(code);
      for (const size of skips) skipSized(cursor, size, unit.header);
      if (depth <= deepest) yield { die: new Die(unit, offset), depth };
      if (hasChildren) depth++;
    }
  }
}

/** The text that a value of an entry stands for; undefined where it has none. */
function textOf(unit: Unit, { form, value }: FormValue): string | undefined {
  const { file } = unit;
  switch (form) {
    case dw.DW_FORM_string:
      unit.load();
      return stringAt(file.info.bytes, value);
    case dw.DW_FORM_strp:
      return file.stringAt(".debug_str", value);
    case dw.DW_FORM_line_strp:
      return file.stringAt(".debug_line_str", value);
    case dw.DW_FORM_GNU_strp_alt:
    case dw.DW_FORM_strp_sup:
      return file.shared?.stringAt(".debug_str", value);
    case dw.DW_FORM_strx:
    case dw.DW_FORM_strx1:
    case dw.DW_FORM_strx2:
    case dw.DW_FORM_strx3:
    case dw.DW_FORM_strx4:
    case dw.DW_FORM_GNU_str_index:
      return unit.textAtIndex(value);
    default:
      return undefined;
  }
}
