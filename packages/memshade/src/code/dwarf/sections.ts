import { FormatError } from "../../ground/bytes/errors.ts";
import { PiecewiseBytes } from "../../ground/bytes/piecewise.ts";
import { AbbreviationTable } from "./abbreviations.ts";
import { stringAt } from "./cursor.ts";
import type { Encoding } from "./forms.ts";

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
