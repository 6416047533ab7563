import { partitionPoint } from "../../ground/bytes/columns.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { viewOf } from "../../ground/bytes/numbers.ts";
import * as dw from "./constants.ts";
import { Cursor } from "./cursor.ts";
import {
  type AbbreviationTable,
  type Contributions,
  Die,
  DwarfSections,
  type FileOfEntries,
  isTypeUnit,
  readUnitHeader,
  UNIT_HEAD_BYTES,
  type Unit,
  type UnitAttributes,
  type UnitBases,
  type UnitHeader,
} from "./die.ts";

/** Debug information of one file: its sections, and the units of `.debug_info` and `.debug_types`. */
export class DwarfFile extends DwarfSections implements FileOfEntries {
  /** Supplementary file shared by several files (dwz), if it was found. */
  shared: DwarfFile | undefined;
  #units: readonly Unit[] | undefined;
  readonly #compilationUnits = new Map<number, Unit>();
  #typeUnits: ReadonlyMap<bigint, Unit> | undefined;
  #packageIndex: PackageIndex | undefined | null = null;

  /** Compilation and skeleton units in the order of the section. Everything after a damaged header is left out. */
  get units(): readonly Unit[] {
    this.#units ??= this.#readUnits();
    return this.#units;
  }

  #readUnits(): Unit[] {
    const units: Unit[] = [];
    const { packageIndex } = this;
    const { bytes: info } = this.info;
    for (let offset = 0; offset < info.length; ) {
      this.info.load(offset, offset + UNIT_HEAD_BYTES);
      try {
        const header = readUnitHeader(info, offset);
        const cachedUnit = this.#compilationUnits.get(offset);
        units.push(cachedUnit ?? new LoadedUnit(this, header, packageIndex?.contributionsAt(offset)));
        offset = header.end;
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        this.problems.push(error);
        const next = skipUnit(info, offset);
        if (next === undefined) break;
        offset = next;
      }
    }
    return units;
  }

  unitAround(offset: number): Unit | undefined {
    const { units } = this;
    const after = partitionPoint(0, units.length, (index) => units[index].header.offset <= offset);
    const found = units[after - 1];
    return found !== undefined && offset < found.header.end ? found : undefined;
  }

  compilationUnitAt(offset: number): Unit | undefined {
    const cachedUnit = this.#compilationUnits.get(offset);
    if (cachedUnit !== undefined) return cachedUnit;
    const enclosing = this.unitAround(offset);
    const found = enclosing?.header.offset === offset && !isTypeUnit(enclosing) ? enclosing : undefined;
    if (found !== undefined) this.#compilationUnits.set(offset, found);
    return found;
  }

  splitUnit(id: bigint): Unit | undefined {
    const offset = this.packageIndex?.offsetOf(id);
    if (offset !== undefined) return this.compilationUnitAt(offset);
    return this.units.find((unit) => {
      try {
        return !isTypeUnit(unit) && unit.attributes.dwoId === id;
      } catch (error) {
        if (error instanceof FormatError) return false;
        throw error;
      }
    });
  }

  get packageIndex(): PackageIndex | undefined {
    if (this.#packageIndex === null) {
      const index = this.isSplit ? this.source.section(".debug_cu_index") : undefined;
      this.#packageIndex = undefined;
      try {
        if (index !== undefined && index.length > 0) this.#packageIndex = readPackageIndex(index);
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        this.problems.push(error);
      }
    }
    return this.#packageIndex;
  }

  /** Returns the entry of a type by its signature. Units of `.debug_types` (version 4) are not included. */
  typeUnitDie(signature: bigint | undefined): Die | undefined {
    if (signature === undefined) return undefined;
    this.#typeUnits ??= new Map(
      this.units.filter(isTypeUnit).map((unit): [bigint, Unit] => [unit.header.id ?? 0n, unit]),
    );
    const unit = this.#typeUnits.get(signature);
    if (unit === undefined) return undefined;
    for (const child of unit.die.children()) if (child.tag !== dw.DW_TAG_namespace) return child;
    return undefined;
  }
}

/** Returns the end of a unit of an unknown kind, where the next unit starts, if its length is plausible. */
function skipUnit(info: Uint8Array, offset: number): number | undefined {
  if (offset + 4 > info.length) return undefined;
  const view = viewOf(info);
  const length = view.getUint32(offset, true);
  const next = offset + 4 + length;
  return length >= 2 && length < 0xfffffff0 && next < info.length ? next : undefined;
}

/** Unit of `.debug_info`. Its entries are decoded on demand. */
class LoadedUnit implements Unit {
  readonly file: FileOfEntries;
  readonly header: UnitHeader;
  readonly contributions: Contributions | undefined;
  skeleton: Unit | undefined;
  #abbreviations: AbbreviationTable | undefined;
  #bases: UnitBases | undefined;
  #attributes: UnitAttributes | undefined;
  #lowPc: number | undefined | null = null;
  #isLoaded = false;

  constructor(file: FileOfEntries, header: UnitHeader, contributions?: Contributions) {
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

  load(): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    this.file.info.load(this.header.offset, this.header.end);
  }

  fromOwnEntry<T>(read: (die: Die) => T): T {
    const head = this.header.offset + UNIT_HEAD_BYTES;
    if (!this.#isLoaded && head < this.header.end)
      try {
        return read(new Die(this, this.header.dieOffset, head));
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    return read(this.die);
  }

  get die(): Die {
    return this.dieAt(this.header.dieOffset);
  }

  dieAt(offset: number): Die {
    if (!(offset >= this.header.dieOffset && offset < this.header.end))
      throw new FormatError("malformed", offset, "reference", "it leads out of its unit");
    return new Die(this, offset);
  }

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

  /**
   * Bases from the unit's own entry. If the entry is damaged, the usual bases are used, as other entries may still
   * be readable.
   */
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

  get baseAddress(): number | undefined {
    if (this.skeleton !== undefined) return this.skeleton.baseAddress;
    if (this.#lowPc === null)
      this.#lowPc = this.fromOwnEntry(
        (die) => die.address(dw.DW_AT_low_pc) ?? die.address(dw.DW_AT_entry_pc),
      );
    return this.#lowPc;
  }

  get rangesBase(): number {
    return this.die.find(dw.DW_AT_GNU_ranges_base)?.value ?? 0;
  }

  addressAt(index: number): number | undefined {
    const owner = this.skeleton ?? this;
    const { addressSize } = this.header;
    const part = owner.file.part(".debug_addr");
    const at = owner.bases.addresses + index * addressSize;
    if (part === undefined || !(at >= 0 && at + addressSize <= part.bytes.length)) return undefined;
    part.load(at, at + addressSize);
    return new Cursor(part.bytes, at, ".debug_addr").unsigned(addressSize);
  }

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

/** Index of the contributions of units to a package file's sections (`.debug_cu_index`; DWARF 5, section 7.3.5.3). */
class PackageIndex {
  readonly #offsets: ReadonlyMap<bigint, number>;
  readonly #contributions: ReadonlyMap<number, Contributions>;

  constructor(offsets: ReadonlyMap<bigint, number>, contributions: ReadonlyMap<number, Contributions>) {
    this.#offsets = offsets;
    this.#contributions = contributions;
  }

  offsetOf(id: bigint): number | undefined {
    return this.#offsets.get(id);
  }

  contributionsAt(offset: number): Contributions | undefined {
    return this.#contributions.get(offset);
  }
}

/** @throws FormatError if the index is damaged or its version is neither 2 (GNU's) nor 5 */
function readPackageIndex(section: Uint8Array): PackageIndex {
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
  // GNU's format has location lists of version 4 under the number that the standard uses for loclists.
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
