import { FormatError } from "../bytes/errors.ts";
import { partitionPoint } from "../bytes/partition-point.ts";
import { PiecewiseBytes } from "../bytes/piecewise.ts";
import { AbbreviationTable } from "./abbreviations.ts";
import * as dw from "./constants.ts";
import { stringAt } from "./cursor.ts";
import type { Die } from "./die.ts";
import type { Encoding } from "./forms.ts";
import { type PackageIndex, readPackageIndex } from "./package-index.ts";
import { readUnitHeader, UNIT_HEAD_BYTES, Unit } from "./unit.ts";

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

/** The debug information of one file: its sections, and the units of `.debug_info` and `.debug_types`. */
export class DwarfFile {
  /** Whether the units are split ones (`.dwo`, `.dwp`); their sections have names of their own. */
  readonly isSplit: boolean;
  /** The file that several share (dwz), if it is there. */
  shared: DwarfFile | undefined;
  /** What was found to be damaged so far. */
  readonly problems: FormatError[] = [];
  readonly #source: DwarfSource;
  readonly #parts = new Map<string, PiecewiseBytes | undefined>();
  readonly #abbreviations = new Map<string, AbbreviationTable>();
  #info: PiecewiseBytes | undefined;
  #units: readonly Unit[] | undefined;
  /** Those that were asked for, by offset. */
  readonly #compilationUnits = new Map<number, Unit>();
  #typeUnits: ReadonlyMap<bigint, Unit> | undefined;
  #packageIndex: PackageIndex | undefined | null = null;
  #abbreviationWork = 0;
  #rangeWork = 0;
  #mostRangeWork: number | undefined;

  constructor(source: DwarfSource, isSplit = false) {
    this.#source = source;
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
      part = this.#source.sectionInPieces?.(own);
      if (part === undefined) {
        const whole = this.#source.section(own);
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
    return this.isSplit ? undefined : this.#source.targetSection?.(name, offset);
  }

  /** `.debug_info`, with the units that were loaded. */
  get info(): PiecewiseBytes {
    this.#info ??= this.part(".debug_info") ?? new PiecewiseBytes(new Uint8Array(0));
    return this.#info;
  }

  /** Compilation and skeleton units in the order of the section; whatever follows a damaged header is left out. */
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
        const known = this.#compilationUnits.get(offset);
        units.push(known ?? new Unit(this, header, packageIndex?.contributionsAt(offset)));
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

  /** The unit that an offset of `.debug_info` lies in. */
  unitAround(offset: number): Unit | undefined {
    const { units } = this;
    const after = partitionPoint(0, units.length, (index) => units[index].header.offset <= offset);
    const found = units[after - 1];
    return found !== undefined && offset < found.header.end ? found : undefined;
  }

  /** The unit that starts at an offset, unless it is one of types. */
  compilationUnitAt(offset: number): Unit | undefined {
    const known = this.#compilationUnits.get(offset);
    if (known !== undefined) return known;
    const around = this.unitAround(offset);
    const found = around?.header.offset === offset && !isTypeUnit(around) ? around : undefined;
    if (found !== undefined) this.#compilationUnits.set(offset, found);
    return found;
  }

  /** The split unit with an id. */
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
      const index = this.isSplit ? this.#source.section(".debug_cu_index") : undefined;
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
    if (this.#rangeWork > this.mostRangeWork) {
      throw new FormatError("malformed", position, "range list", "lists overlap too often");
    }
  }

  /** How many entries of range lists may be read. */
  get mostRangeWork(): number {
    this.#mostRangeWork ??=
      this.#sizeOf(".debug_info", ".debug_rnglists", ".debug_ranges") * WORK_FACTOR + WORK_FLOOR;
    return this.#mostRangeWork;
  }

  #sizeOf(...names: readonly string[]): number {
    return names.reduce((sum, name) => sum + (this.part(name)?.bytes.length ?? 0), 0);
  }

  /** The entry of a type by its signature. Units of `.debug_types` (version 4) are not among them. */
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

export function isTypeUnit({ header: { unitType } }: Unit): boolean {
  return unitType === dw.DW_UT_type || unitType === dw.DW_UT_split_type;
}

/** Where the unit behind one of an unknown kind starts, if its length can be believed. */
function skipUnit(info: Uint8Array, offset: number): number | undefined {
  if (offset + 4 > info.length) return undefined;
  const view = new DataView(info.buffer, info.byteOffset, info.byteLength);
  const length = view.getUint32(offset, true);
  const next = offset + 4 + length;
  return length >= 2 && length < 0xfffffff0 && next < info.length ? next : undefined;
}
