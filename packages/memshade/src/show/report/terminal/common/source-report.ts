import type { SourceColumn, SourceLine, SourceTable } from "../../../../explain/source/source-table.ts";
import { formatBytes, formatCount, plural } from "../../../../profile/model/format.ts";
import { printWrapped } from "./header.ts";
import { Screen, type ScreenOptions } from "./screen.ts";
import { cutEnd, padLeft, printable } from "./text.ts";

/** Source lines shown before and after a line with figures. */
const AROUND = 2;
const USUAL_ROWS = 10;
const COLUMN = 10;
/**
 * Columns reserved for the source text. Figure columns that would take from them are left out, the last ones
 * first.
 */
const LEAST_TEXT = 40;

const TITLES: { readonly [Tool in SourceTable["tool"]]: string } = {
  heap: "Source lines that allocate",
  waste: "Source lines with wasted stores and loads",
  workingset: "Source lines of the working set",
  objects: "Source lines that make garbage-collected objects",
};

const NO_LINES =
  "No source lines to show: the run has no such figures, or its modules have no debug information or were not found.";

/** Returns the text of a source file, split into lines; undefined if the file was not found. */
export type SourceReader = (file: string) => readonly string[] | undefined;

export interface SourceReportOptions extends ScreenOptions {
  readonly rows?: number | undefined;
}

/** Formats the source lines with the largest figures, each figure beside its line. */
export function sourceReport(table: SourceTable, read: SourceReader, options: SourceReportOptions): string {
  const screen = new Screen(options);
  const { lines } = table;
  const { heading, faint, strong } = screen.paint;
  screen.printEnds(TITLES[table.tool], plural(lines.length, "line"), strong);
  if (lines.length === 0) {
    screen.print("");
    printWrapped(screen, NO_LINES, "", "");
    return screen.text();
  }
  const shown = lines.slice(0, options.rows ?? USUAL_ROWS);
  const columns = columnsOf(screen, table);
  const heads = columns.map(({ head = "" }) => padLeft(head, COLUMN)).join("");
  for (const file of new Set(shown.map((line) => line.file))) {
    const ofFile = shown.filter((line) => line.file === file);
    const text = read(file);
    screen.print("", heading(printable(file)));
    if (text === undefined) screen.print(faint("  (the file was not found: --path-map FROM=TO finds it)"));
    screen.print(faint(heads));
    new FileLines(screen, columns, ofFile, text).print();
  }
  if (shown.length < lines.length)
    screen.print("", faint(`… and ${plural(lines.length - shown.length, "more line")}: -n N shows them`));
  return screen.text();
}

/** A column of the table, with its index among the values of a line. */
type ShownColumn = SourceColumn & { readonly at: number };

/** Returns the columns that have values, as many as leave room for the source text. */
function columnsOf(screen: Screen, { columns, lines }: SourceTable): ShownColumn[] {
  const filled = columns
    .map((column, at) => ({ ...column, at }))
    .filter(({ head, at }) => head !== undefined && lines.some(({ values }) => (values[at] ?? 0) > 0));
  if (screen.isWide) return filled;
  return filled.slice(0, Math.max(1, Math.floor((screen.width - LEAST_TEXT) / COLUMN)));
}

/** The shown lines of one file, with their surrounding lines. */
class FileLines {
  readonly #screen: Screen;
  readonly #columns: readonly ShownColumn[];
  readonly #byNumber: ReadonlyMap<number, SourceLine>;
  readonly #text: readonly string[] | undefined;
  readonly #numbers: readonly number[];
  /** Width of line numbers. */
  readonly #width: number;

  constructor(
    screen: Screen,
    columns: readonly ShownColumn[],
    lines: readonly SourceLine[],
    text: readonly string[] | undefined,
  ) {
    this.#screen = screen;
    this.#columns = columns;
    this.#byNumber = new Map(lines.map((line) => [line.line, line]));
    this.#text = text;
    this.#numbers = [...this.#byNumber.keys()].sort((a, b) => a - b);
    this.#width = String((this.#numbers.at(-1) ?? 0) + AROUND).length;
  }

  print(): void {
    const screen = this.#screen;
    const text = this.#text;
    const byNumber = this.#byNumber;
    const reach = text === undefined ? 0 : AROUND;
    let last = 0;
    for (const number of this.#numbers) {
      const start = Math.max(last + 1, number - reach, 1);
      if (last > 0 && start > last + 1)
        screen.print(screen.paint.faint(`${" ".repeat(this.#columns.length * COLUMN + this.#width)}  ⋮`));
      for (let at = start; at <= number + reach; at++) {
        if (text !== undefined && at > text.length) break;
        if (at > number && byNumber.has(at)) break;
        screen.print(this.#lineOf(at));
        last = at;
      }
    }
  }

  #lineOf(number: number): string {
    const screen = this.#screen;
    const columns = this.#columns;
    const width = this.#width;
    const { amount, faint } = screen.paint;
    const line = this.#byNumber.get(number);
    const cells = columns
      .map((column) => padLeft(line === undefined ? "" : cellOf(column, line), COLUMN))
      .join("");
    const source = printable((this.#text?.[number - 1] ?? "").replaceAll("\t", "  "));
    const place = `  ${padLeft(String(number), width)} │ `;
    const room = screen.width - cells.length - place.length;
    const shown = screen.isWhole ? source : cutEnd(source, room);
    return (
      (line === undefined ? cells : amount(cells)) +
      faint(place) +
      (line === undefined ? faint(shown) : shown)
    );
  }
}

function cellOf({ unit, at }: ShownColumn, { values }: SourceLine): string {
  const value = values[at] ?? 0;
  if (value === 0) return "";
  return unit === "bytes" ? formatBytes(value) : formatCount(Math.max(1, value));
}
