import { FormatError } from "../../ground/bytes/errors.ts";
import { PiecewiseBytes } from "../../ground/bytes/piecewise.ts";
import * as dw from "./constants.ts";
import { DW_FORM_implicit_const } from "./constants.ts";
import { Cursor, readInitialLength, stringAt } from "./cursor.ts";
import { type Encoding, type FormValue, formSize, readForm, skipSized } from "./forms.ts";

/** The shape of a debugging information entry: its tag and what attributes follow, in which form. */
export interface Abbreviation {
  readonly tag: number;
  readonly hasChildren: boolean;
  readonly attributes: readonly number[];
  readonly forms: readonly number[];
  /** Values of `DW_FORM_implicit_const`, by attribute. */
  readonly constants: readonly number[];
  /** Bytes of each value, or a `SIZE_*`. */
  readonly sizes: readonly number[];
  /** How to pass over the values: numbers of bytes, or of forms whose size depends on the bytes (negative). */
  readonly skips: readonly number[];
}

/** No real program has more; sparse code numbers above do not make for large arrays. */
const LARGEST_CODE = 2 ** 16;

/** One table of `.debug_abbrev`. It is read as far as the codes asked for so far need. */
export class AbbreviationTable {
  readonly #byCode: (Abbreviation | undefined)[] = [];
  readonly #byLargeCode = new Map<number, Abbreviation>();
  readonly #cursor: Cursor;
  readonly #encoding: Encoding;
  readonly #spend: (bytes: number) => void;
  #complete = false;

  /** @param spend is told how many bytes were read, and throws if they have become too many */
  constructor(bytes: Uint8Array, offset: number, encoding: Encoding, spend: (bytes: number) => void) {
    this.#cursor = new Cursor(bytes, offset, ".debug_abbrev");
    this.#encoding = encoding;
    this.#spend = spend;
  }

  /** @throws FormatError if there is no such code */
  get(code: number): Abbreviation {
    const known = this.#byCode[code] ?? this.#find(code);
    if (known === undefined)
      throw new FormatError("malformed", this.#cursor.position, ".debug_abbrev", `there is no code ${code}`);
    return known;
  }

  #find(code: number): Abbreviation | undefined {
    const large = this.#byLargeCode.get(code);
    if (large !== undefined) return large;
    while (!this.#complete)
      if (this.#readNext() === code) return this.#byCode[code] ?? this.#byLargeCode.get(code);
    return undefined;
  }

  #readNext(): number {
    const cursor = this.#cursor;
    const start = cursor.position;
    // Until it turns out well: a damaged table is not tried again.
    this.#complete = true;
    const code = cursor.uleb();
    if (code === 0) return 0;
    const tag = cursor.uleb();
    const hasChildren = cursor.u8() !== 0;
    const attributes: number[] = [];
    const forms: number[] = [];
    const constants: number[] = [];
    const sizes: number[] = [];
    const skips: number[] = [];
    for (;;) {
      const attribute = cursor.uleb();
      const form = cursor.uleb();
      const constant = form === DW_FORM_implicit_const ? cursor.sleb() : 0;
      if (attribute === 0 && form === 0) break;
      attributes.push(attribute);
      forms.push(form);
      constants.push(constant);
      const size = formSize(form, this.#encoding);
      sizes.push(size);
      const last = skips.length - 1;
      if (size >= 0 && last >= 0 && skips[last] >= 0) skips[last] += size;
      else skips.push(size);
    }
    this.#spend(cursor.position - start);
    const abbreviation = { tag, hasChildren, attributes, forms, constants, sizes, skips };
    if (code < LARGEST_CODE) this.#byCode[code] ??= abbreviation;
    else if (!this.#byLargeCode.has(code)) this.#byLargeCode.set(code, abbreviation);
    this.#complete = false;
    return code;
  }
}

/** Where sections come from: an object file, or anything that has sections by name. */
export interface DwarfSource {
  section(name: string): Uint8Array | undefined;
  /** A section that can be read in pieces; undefined for one that is to be had as a whole alone. */
  sectionInPieces?(name: string): PiecewiseBytes | undefined;
  /** In relocatable objects: the section of the program that the address at an offset of a section lies in. */
  targetSection?(name: string, offset: number): number | undefined;
}

/** Work on damaged sections may exceed their size this many times; sound ones are read once or twice. */
const WORK_FACTOR = 64;
const WORK_FLOOR = 2 ** 20;

/** Strings are looked for in as many bytes at first. */
const STRING_BYTES = 128;

/** The sections of one file, with what bounds the work on damaged ones. */
export class DwarfSections {
  /** Whether the units are split ones (`.dwo`, `.dwp`); their sections have names of their own. */
  readonly isSplit: boolean;
  /** What was found to be damaged so far. */
  readonly problems: FormatError[] = [];
  protected readonly source: DwarfSource;
  readonly #parts = new Map<string, PiecewiseBytes | undefined>();
  readonly #abbreviations = new Map<string, AbbreviationTable>();
  #info: PiecewiseBytes | undefined;
  #abbreviationWork = 0;
  #rangeWork = 0;
  #mostRangeWork: number | undefined;

  constructor(source: DwarfSource, isSplit = false) {
    this.source = source;
    this.isSplit = isSplit;
  }

  /** A whole section by the name that it has in a program; split files have `.debug_info.dwo` for `.debug_info`. */
  section(name: string): Uint8Array | undefined {
    return this.part(name)?.loadAll();
  }

  /** As `section`, of which only what is loaded is there. */
  part(name: string): PiecewiseBytes | undefined {
    let part = this.#parts.get(name);
    if (part === undefined && !this.#parts.has(name)) {
      const own = this.isSplit ? `${name}.dwo` : name;
      part = this.source.sectionInPieces?.(own);
      if (part === undefined) {
        const whole = this.source.section(own);
        part = whole && new PiecewiseBytes(whole);
      }
      this.#parts.set(name, part);
    }
    return part;
  }

  /** The NUL-terminated string at an offset of a section; undefined where the offset lies outside. */
  stringAt(name: string, offset: number): string | undefined {
    const part = this.part(name);
    if (part === undefined || !(offset >= 0 && offset < part.bytes.length)) return undefined;
    for (let end = offset + STRING_BYTES; ; end += end - offset) {
      part.loadSome(offset, end);
      const nul = part.bytes.indexOf(0, offset);
      if ((nul >= 0 && nul < end) || end >= part.bytes.length) return stringAt(part.bytes, offset);
    }
  }

  /** The section of the program that the address at an offset of a section lies in, where each has addresses of its own. */
  targetSection(name: string, offset: number): number | undefined {
    return this.isSplit ? undefined : this.source.targetSection?.(name, offset);
  }

  /** `.debug_info`, with the units that were loaded. */
  get info(): PiecewiseBytes {
    this.#info ??= this.part(".debug_info") ?? new PiecewiseBytes(new Uint8Array(0));
    return this.#info;
  }

  abbreviationsAt(offset: number, encoding: Encoding): AbbreviationTable {
    const { version, offsetSize, addressSize } = encoding;
    const key = `${offset} ${version <= 2} ${offsetSize} ${addressSize}`;
    let table = this.#abbreviations.get(key);
    if (table === undefined) {
      const bytes = this.section(".debug_abbrev") ?? new Uint8Array(0);
      const most = bytes.length * WORK_FACTOR + WORK_FLOOR;
      table = new AbbreviationTable(bytes, offset, encoding, (spent) => {
        this.#abbreviationWork += spent;
        if (this.#abbreviationWork > most)
          throw new FormatError("malformed", offset, ".debug_abbrev", "tables overlap");
      });
      this.#abbreviations.set(key, table);
    }
    return table;
  }

  /** Range lists that overlap without end would let a small file keep us busy for long. */
  spendRanges(position: number): void {
    this.#rangeWork++;
    if (this.#rangeWork > this.#rangeWorkLimit)
      throw new FormatError("malformed", position, "range list", "lists overlap too often");
  }

  get #rangeWorkLimit(): number {
    this.#mostRangeWork ??=
      this.#sizeOf(".debug_info", ".debug_rnglists", ".debug_ranges") * WORK_FACTOR + WORK_FLOOR;
    return this.#mostRangeWork;
  }

  #sizeOf(...names: readonly string[]): number {
    return names.reduce((sum, name) => sum + (this.part(name)?.bytes.length ?? 0), 0);
  }
}

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
