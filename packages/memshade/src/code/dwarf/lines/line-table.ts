import { FormatError } from "../../../ground/bytes/errors.ts";
import { Cursor, readInitialLength } from "../cursor.ts";
import type { Unit } from "../die.ts";
import { type LineHeader, readLineHeader, runLineProgram } from "./line-header.ts";
import { type LinePlace, LineRows, NO_SECTION } from "./line-rows.ts";

export type PathStyle = "absolute" | "relative" | "basename";

/** Line table of a unit. Its files are read at once, its rows at the first lookup. */
export class LineTable {
  readonly #unit: Unit;
  readonly #header: LineHeader;
  readonly #line: Uint8Array;
  #rows: LineRows | undefined;

  constructor(unit: Unit, line: Uint8Array, header: LineHeader) {
    this.#unit = unit;
    this.#line = line;
    this.#header = header;
  }

  get rowCount(): number {
    return this.#rows?.count ?? 0;
  }

  /** Returns the row of an address; in relocatable objects, of an address in `section`. */
  find(
    address: number,
    {
      section = NO_SECTION,
      skipLineZero = false,
    }: { section?: number | undefined; skipLineZero?: boolean } = {},
  ): (LinePlace & { approximate?: boolean }) | undefined {
    this.#rows ??= this.#readRows();
    return this.#rows.find(address, section, skipLineZero);
  }

  #readRows(): LineRows {
    const rows = new LineRows();
    const { file } = this.#unit;
    const sectionAt = (offset: number) => file.targetSection(".debug_line", offset);
    try {
      runLineProgram(this.#line, this.#header, rows, sectionAt);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      file.problems.push(error);
    }
    return rows.finish();
  }

  path(file: number, style: PathStyle, compilationDirectory: string): string | undefined {
    const { version, files, directories } = this.#header;
    const entry = files[version >= 5 ? file : file - 1];
    if (entry === undefined) return undefined;
    const { name, directory } = entry;
    if (isAbsolute(name)) return name;
    if (style === "basename") return name.slice(name.lastIndexOf("/") + 1);
    let folder = "";
    if (version >= 5) {
      if (directory !== 0 || style !== "relative") folder = directories[directory] ?? "";
    } else folder = directories[directory - 1] ?? "";
    // Directory 0 is the compilation directory itself from version 5 on.
    const startsInCompilation = style === "absolute" && (version < 5 || directory !== 0);
    const prefix = startsInCompilation && !isAbsolute(folder) ? compilationDirectory : "";
    return joinPaths([prefix, folder, name]);
  }
}

const LONGEST_INITIAL_LENGTH = 12;

/** Returns the line table of a unit; undefined if it has none, or a damaged header. */
export function lineTableOf(unit: Unit): LineTable | undefined {
  const { file } = unit;
  const part = file.part(".debug_line");
  try {
    // Split units only have a table of files, at the start of their contribution.
    const offset = unit.isSplit ? (unit.contributions?.line ?? 0) : unit.attributes.lineOffset;
    if (part === undefined || offset === undefined) return undefined;
    const { bytes: line } = part;
    part.load(offset, offset + LONGEST_INITIAL_LENGTH);
    part.load(
      offset,
      offset + LONGEST_INITIAL_LENGTH + readInitialLength(new Cursor(line, offset, ".debug_line")).length,
    );
    const sections = {
      line,
      stringAt: (at: number) => file.stringAt(".debug_str", at),
      lineStringAt: (at: number) => file.stringAt(".debug_line_str", at),
      textAtIndex: (index: number) => unit.textAtIndex(index),
    };
    return new LineTable(unit, line, readLineHeader(sections, offset, unit.header.addressSize));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    file.problems.push(error);
    return undefined;
  }
}

/** True for paths that are absolute on any system, as programs may have been compiled elsewhere. */
function isAbsolute(path: string): boolean {
  return path.startsWith("/") || path.startsWith("\\") || /^[A-Za-z]:[\\/]/.test(path);
}

function joinPaths(parts: readonly string[]): string {
  let path = "";
  for (const part of parts) {
    if (part === "") continue;
    if (path === "") path = part;
    else if (path.endsWith("/")) path += part.replace(/^\/+/, "");
    else path += part.startsWith("/") ? part : `/${part}`;
  }
  return path;
}
