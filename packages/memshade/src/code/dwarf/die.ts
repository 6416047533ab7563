import { entryOf } from "../../ground/bytes/entries.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { PiecewiseBytes } from "../../ground/bytes/piecewise.ts";
import * as dw from "./constants.ts";
import { DW_FORM_implicit_const } from "./constants.ts";
import { Cursor, readInitialLength, stringAt } from "./cursor.ts";
import { type Encoding, type FormValue, formSize, readForm, skipSized } from "./forms.ts";

/** Shape of a debugging information entry: its tag, its attributes and their forms. */
export interface Abbreviation {
  readonly tag: number;
  readonly hasChildren: boolean;
  readonly attributes: readonly number[];
  readonly forms: readonly number[];
  readonly constants: readonly number[];
  readonly sizes: readonly number[];
  /** Steps that skip the values: numbers of bytes, or (negative) forms whose size depends on the bytes. */
  readonly skips: readonly number[];
}

/** Codes above go to a map, so that a sparse code does not make a large array. Real programs have no larger codes. */
const LARGEST_CODE = 2 ** 16;

/** Table of `.debug_abbrev`. It is read only as far as the requested codes need. */
export class AbbreviationTable {
  readonly #byCode: (Abbreviation | undefined)[] = [];
  readonly #byLargeCode = new Map<number, Abbreviation>();
  readonly #cursor: Cursor;
  readonly #encoding: Encoding;
  readonly #spend: (bytes: number) => void;
  #complete = false;

  /** @param spend receives the number of bytes read, and throws if the total is too large */
  constructor(bytes: Uint8Array, offset: number, encoding: Encoding, spend: (bytes: number) => void) {
    this.#cursor = new Cursor(bytes, offset, ".debug_abbrev");
    this.#encoding = encoding;
    this.#spend = spend;
  }

  get(code: number): Abbreviation {
    const abbreviation = this.#byCode[code] ?? this.#find(code);
    if (abbreviation === undefined)
      throw new FormatError("malformed", this.#cursor.position, ".debug_abbrev", `there is no code ${code}`);
    return abbreviation;
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
    // The flag is set until the row is read, so that a damaged table is not read again.
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

export interface DwarfSource {
  section(name: string): Uint8Array | undefined;
  /** Returns a section that can be read in pieces, or undefined if it can be read only as a whole. */
  sectionInPieces?(name: string): PiecewiseBytes | undefined;
  /**
   * Returns the index of the program's section (relocatable objects only) to which the address at an offset
   * of a section belongs.
   */
  targetSection?(name: string, offset: number): number | undefined;
}

/** Limit of the work on damaged sections, as a multiple of their size. Sound sections are read once or twice. */
const WORK_FACTOR = 64;
const WORK_FLOOR = 2 ** 20;

/** Bytes in which the end of a string is searched first. */
const STRING_BYTES = 128;

export class DwarfSections {
  /** True for split units (`.dwo`, `.dwp`), whose sections have names of their own. */
  readonly isSplit: boolean;
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

  /**
   * Returns a whole section by its name in a program. In split files, `.debug_info` is found as `.debug_info.dwo`.
   */
  section(name: string): Uint8Array | undefined {
    return this.part(name)?.loadAll();
  }

  /** Returns a section like `section`, but only the loaded parts have content. */
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

  stringAt(name: string, offset: number): string | undefined {
    const part = this.part(name);
    if (part === undefined || !(offset >= 0 && offset < part.bytes.length)) return undefined;
    for (let end = offset + STRING_BYTES; ; end += end - offset) {
      part.loadSome(offset, end);
      const nul = part.bytes.indexOf(0, offset);
      if ((nul >= 0 && nul < end) || end >= part.bytes.length) return stringAt(part.bytes, offset);
    }
  }

  /**
   * Returns the section of the program to which the address at an offset of a section belongs, if each
   * section has its own addresses.
   */
  targetSection(name: string, offset: number): number | undefined {
    return this.isSplit ? undefined : this.source.targetSection?.(name, offset);
  }

  get info(): PiecewiseBytes {
    this.#info ??= this.part(".debug_info") ?? new PiecewiseBytes(new Uint8Array(0));
    return this.#info;
  }

  abbreviationsAt(offset: number, encoding: Encoding): AbbreviationTable {
    const { version, offsetSize, addressSize } = encoding;
    const key = `${offset} ${version <= 2} ${offsetSize} ${addressSize}`;
    return entryOf(this.#abbreviations, key, () => {
      const bytes = this.section(".debug_abbrev") ?? new Uint8Array(0);
      const most = bytes.length * WORK_FACTOR + WORK_FLOOR;
      return new AbbreviationTable(bytes, offset, encoding, (spent) => {
        this.#abbreviationWork += spent;
        if (this.#abbreviationWork > most)
          throw new FormatError("malformed", offset, ".debug_abbrev", "tables overlap");
      });
    });
  }

  /** Limits work on range lists: endlessly overlapping lists could make a small file take very long. */
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

/** Unit header (DWARF 5, section 7.5.1) of versions 2 to 5. Offsets count from the section's start. */
export interface UnitHeader extends Encoding {
  readonly offset: number;
  readonly end: number;
  readonly unitType: number;
  readonly abbreviationOffset: number;
  readonly dieOffset: number;
  /** Id of a skeleton or split unit of version 5, signature of a type unit. */
  readonly id: bigint | undefined;
}

/** @throws FormatError if no unit can be read; the position of the next unit is unknown then */
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

/** Bytes at a unit's start that are loaded first: mostly enough for its header and its own entry. */
export const UNIT_HEAD_BYTES = 512;

/** Offsets of a unit's contributions to the sections of a package file (`.dwp`). */
export interface Contributions {
  readonly abbreviations: number;
  readonly line: number;
  readonly stringOffsets: number;
  readonly rangeLists: number;
}

export function isTypeUnit({ header: { unitType } }: { readonly header: UnitHeader }): boolean {
  return unitType === dw.DW_UT_type || unitType === dw.DW_UT_split_type;
}

/** Length of the chain of references that is followed for an attribute; real chains have two or three links. */
const LONGEST_CHAIN = 64;

export interface UnitAttributes {
  readonly lineOffset: number | undefined;
  readonly compilationDirectory: string;
  readonly name: string;
  readonly dwoName: string | undefined;
  readonly dwoId: bigint | undefined;
}

export interface UnitBases {
  readonly strings: number;
  readonly addresses: number;
  readonly rangeLists: number;
}

/** Unit of `.debug_info`, as its entries and their readers see it. */
export interface Unit {
  readonly file: FileOfEntries;
  readonly header: UnitHeader;
  readonly contributions: Contributions | undefined;
  readonly isSplit: boolean;
  /** Unit in the program that has the addresses and the line table of a split unit. */
  skeleton: Unit | undefined;
  readonly abbreviations: AbbreviationTable;
  /**
   * Entry of the unit itself.
   *
   * @throws FormatError if it cannot be read
   */
  readonly die: Die;
  readonly attributes: UnitAttributes;
  /** Starts of the tables that indices (`strx`, `addrx`, `rnglistx`) refer to. */
  readonly bases: UnitBases;
  /** Base of the range lists' entries, unless a list sets another one. */
  readonly baseAddress: number | undefined;
  /** Base of the range list offsets in its split half, in version 4. */
  readonly rangesBase: number;
  load(): void;
  dieAt(offset: number): Die;
  /**
   * Reads attributes of the unit's own entry, which mostly needs only the unit's first bytes. Strings cannot be
   * read.
   *
   * @throws FormatError if it cannot be read
   */
  fromOwnEntry<T>(read: (die: Die) => T): T;
  addressAt(index: number): number | undefined;
  textAtIndex(index: number): string | undefined;
}

export interface FileOfEntries extends DwarfSections {
  readonly shared: FileOfEntries | undefined;
  unitAround(offset: number): Unit | undefined;
  typeUnitDie(signature: bigint | undefined): Die | undefined;
}

/** Entry, decoded attribute by attribute. Objects are created only for the few entries that are inspected. */
export class Die {
  readonly unit: Unit;
  readonly offset: number;
  readonly abbreviation: Abbreviation;
  readonly #values: number;
  readonly #end: number;

  /** @param end end of the loaded bytes; without it, the whole unit is loaded */
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

  find(attribute: number): FormValue | undefined {
    const { attributes, forms, constants, sizes } = this.abbreviation;
    const place = attributes.indexOf(attribute);
    if (place < 0) return undefined;
    const { header } = this.unit;
    const cursor = this.#cursorAt(this.#values);
    for (let i = 0; i < place; i++) skipSized(cursor, sizes[i], header);
    return readForm(cursor, forms[place], constants[place], header);
  }

  /** Finds an attribute of this entry or of its origins; also returns the entry that has it. */
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

  inheritedText(attributes: readonly number[]): string | undefined {
    const found = this.findInherited(attributes);
    return found?.die.textOf(found.value);
  }

  textOf(value: FormValue): string | undefined {
    return textOf(this.unit, value);
  }

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

  /** Returns the exact 64-bit value of an attribute of eight bytes. */
  big64(attribute: number): bigint | undefined {
    const place = this.abbreviation.attributes.indexOf(attribute);
    if (place < 0) return undefined;
    const form = this.abbreviation.forms[place];
    if (form !== dw.DW_FORM_data8 && form !== dw.DW_FORM_ref_sig8) return undefined;
    const cursor = this.#cursorAt(this.#values);
    for (let i = 0; i < place; i++) readForm(cursor, this.abbreviation.forms[i], 0, this.unit.header);
    return cursor.big64();
  }

  /**
   * Returns the entry that an attribute refers to; undefined if the attribute is absent or refers to no
   * entry.
   */
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

  /**
   * Entries directly below this one.
   *
   * @throws FormatError if they are damaged
   */
  *children(): Generator<Die> {
    for (const { die } of this.descendants(1)) yield die;
  }

  /**
   * Entries below this one in their order. Direct children have depth 1; entries deeper than `deepest` are skipped.
   *
   * @throws FormatError if they are damaged
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
