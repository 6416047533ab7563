import type { AbbreviationTable } from "./abbreviations.ts";
import { UnitType } from "./constants.ts";
import { type EntryNames, readEntryNames } from "./entry-names.ts";
import { type LineTable, readLineTable } from "./line-table.ts";
import type { DebugSections, SplitLoader } from "./sections.ts";
import { readSubroutines, type Subroutines } from "./subroutines.ts";
import { readUnitHeaders, Unit } from "./unit.ts";
import { indexUnits, type UnitIndex } from "./unit-index.ts";

/** A function around an address, or one that was inlined there. */
export interface DwarfFrame {
  readonly linkageName?: string | undefined;
  readonly name?: string | undefined;
  readonly file?: string | undefined;
  /** 0 where it is not known, as the column and the discriminator. */
  readonly line: number;
  readonly column: number;
  readonly discriminator: number;
  readonly startLine: number;
  readonly startFile?: string | undefined;
  /** First address of a function of one piece. */
  readonly startAddress?: number | undefined;
  readonly inlined: boolean;
}

/**
 * The debug information of an object, read as far as questions need it. No member throws, whatever the bytes are:
 * what is damaged counts as absent.
 */
export class Dwarf {
  readonly #sections: DebugSections;
  readonly #loadSplit: SplitLoader | undefined;
  #units: Unit[] | undefined;
  #index: UnitIndex | undefined;
  readonly #abbreviations = new Map<string, AbbreviationTable>();
  readonly #subroutines = new Map<Unit, Subroutines>();
  readonly #lines = new Map<string, LineTable | undefined>();
  readonly #names = new Map<Unit, Map<number, EntryNames>>();
  readonly #splits = new Map<Unit, Unit | undefined>();

  constructor(sections: DebugSections, loadSplit?: SplitLoader) {
    this.#sections = sections;
    this.#loadSplit = loadSplit;
  }

  /** Units of code, in the order of the file, without type units. */
  get units(): readonly Unit[] {
    if (this.#units === undefined) {
      const info = this.#sections.section(".debug_info");
      this.#units = info === undefined ? [] : this.#readUnits(info, this.#sections);
    }
    return this.#units;
  }

  #readUnits(info: Uint8Array, sections: DebugSections, skeleton?: Unit): Unit[] {
    return readUnitHeaders(info)
      .filter(({ unitType }) => unitType !== UnitType.type && unitType !== UnitType.split_type)
      .map((header) => new Unit(header, info, sections, skeleton));
  }

  /** Forgets that the files of split units were not found, so that they are asked for again. */
  retrySplits(): void {
    for (const [unit, split] of this.#splits) {
      if (split === undefined) {
        this.#splits.delete(unit);
        this.#subroutines.delete(unit);
      }
    }
  }

  unitAt(address: number): Unit | undefined {
    this.#index ??= indexUnits(this.units, this.#sections.section(".debug_aranges"));
    return this.units[this.#index.unitAt(address)];
  }

  /**
   * The functions at `address`, innermost first, the real one last. One frame without a name where only the line is
   * known, none where nothing is.
   */
  frames(address: number): DwarfFrame[] {
    const unit = this.unitAt(address);
    if (unit === undefined) return [];
    const owner = this.#splitOf(unit) ?? unit;
    const subroutines = this.#subroutinesOf(owner);
    const chain = subroutines.chainAt(address);
    const lines = this.#linesOf(unit);
    const place = lines === undefined ? undefined : placeAt(lines, address, unit.directory);
    if (chain.length === 0) {
      return place === undefined ? [] : [{ ...place, startLine: 0, inlined: false }];
    }
    const frames: DwarfFrame[] = [];
    let at = place ?? NOWHERE;
    for (const subroutine of chain) {
      const names = this.#namesOf(owner, subroutines.entries[subroutine]);
      const start = subroutines.starts[subroutine];
      frames.push({
        linkageName: names.linkageName,
        name: names.name,
        ...at,
        startLine: names.declarationLine || 0,
        startFile: this.#declarationFile(names, unit),
        startAddress: start < 0 ? undefined : start,
        inlined: subroutines.inlined[subroutine],
      });
      const call = subroutines.callOf(subroutine);
      if (call === undefined) continue;
      const { line, column, discriminator } = call;
      at = { file: lines?.path(call.file, unit.directory), line, column, discriminator };
    }
    return frames;
  }

  #declarationFile({ declarationFile, declarationUnit }: EntryNames, unit: Unit): string | undefined {
    if (declarationFile === undefined || Number.isNaN(declarationFile)) return undefined;
    const owner = declarationUnit.skeleton ?? declarationUnit;
    return this.#linesOf(owner === unit ? unit : owner)?.path(declarationFile, owner.directory);
  }

  /** The unit of code that has the DIE at an offset of `.debug_info`. */
  unitOfEntry(entry: number): Unit | undefined {
    const { units } = this;
    let low = 0;
    let high = units.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (units[middle].header.offset > entry) high = middle;
      else low = middle + 1;
    }
    const unit = units[low - 1];
    return unit?.contains(entry) ? unit : undefined;
  }

  #splitOf(unit: Unit): Unit | undefined {
    if (this.#splits.has(unit)) return this.#splits.get(unit);
    const { split } = unit;
    let found: Unit | undefined;
    if (split !== undefined) {
      const { name, id } = split;
      const sections = this.#loadSplit?.({ name, id, directory: unit.directory });
      const info = sections?.section(".debug_info");
      if (sections !== undefined && info !== undefined) {
        found = this.#readUnits(info, sections, unit).find((candidate) => candidate.id === id);
      }
    }
    this.#splits.set(unit, found);
    return found;
  }

  #subroutinesOf(unit: Unit): Subroutines {
    let subroutines = this.#subroutines.get(unit);
    if (subroutines === undefined) {
      this.#shareAbbreviations(unit);
      subroutines = readSubroutines(unit);
      this.#subroutines.set(unit, subroutines);
    }
    return subroutines;
  }

  #shareAbbreviations(unit: Unit): void {
    if (unit.skeleton !== undefined) return;
    const { abbreviations, version, addressSize, offsetSize } = unit.header;
    const key = `${abbreviations} ${version} ${addressSize} ${offsetSize}`;
    const known = this.#abbreviations.get(key);
    if (known === undefined) this.#abbreviations.set(key, unit.abbreviations);
    else unit.shareAbbreviations(known);
  }

  #namesOf(unit: Unit, entry: number): EntryNames {
    let known = this.#names.get(unit);
    if (known === undefined) {
      known = new Map();
      this.#names.set(unit, known);
    }
    let names = known.get(entry);
    if (names === undefined) {
      const unitOf = unit.skeleton === undefined ? (at: number) => this.unitOfEntry(at) : () => undefined;
      names = readEntryNames(unit, entry, unitOf);
      known.set(entry, names);
    }
    return names;
  }

  #linesOf(unit: Unit): LineTable | undefined {
    const offset = unit.lineProgram;
    if (offset === undefined) return undefined;
    const key = `${offset}`;
    if (!this.#lines.has(key)) {
      let table: LineTable | undefined;
      try {
        table = readLineTable(unit.sections, offset, unit.header.addressSize);
      } catch {
        table = undefined;
      }
      this.#lines.set(key, table);
    }
    return this.#lines.get(key);
  }
}

interface Place {
  file: string | undefined;
  line: number;
  column: number;
  discriminator: number;
}

const NOWHERE: Place = { file: undefined, line: 0, column: 0, discriminator: 0 };

function placeAt(lines: LineTable, address: number, directory: string): Place | undefined {
  const row = lines.rowAt(address);
  if (row < 0) return undefined;
  const { rows } = lines;
  const file = lines.path(rows.file[row], directory);
  if (file === undefined) return undefined;
  return { file, line: rows.line[row], column: rows.column[row], discriminator: rows.discriminator[row] };
}
