import type { SourceLine } from "../../../analyses/source-lines.ts";
import { counted } from "../../../model/counted.ts";
import { formatBytes, formatCount } from "../../format.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { displayWidth, padLeft, printable } from "../common/text.ts";

/** Lines of source shown before and behind a line that allocates. */
const AROUND = 2;
const USUAL_ROWS = 10;
const COLUMN = 10;

/** Source text by file name, split into lines; undefined where the file was not found. */
export type SourceReader = (file: string) => readonly string[] | undefined;

export interface SourceReportOptions extends ScreenOptions {
  /** Lines that allocate to show. */
  readonly rows?: number | undefined;
}

/** The lines that allocate most, with their numbers beside the source text. */
export function sourceReport(
  lines: readonly SourceLine[],
  read: SourceReader,
  options: SourceReportOptions,
): string {
  const screen = new Screen(options);
  const { heading, faint } = screen.paint;
  if (lines.length === 0) {
    screen.print(
      "No source lines are known: the modules have no debug information, or were not found again.",
    );
    return screen.text();
  }
  const shown = lines.slice(0, options.rows ?? USUAL_ROWS);
  const heads = ["BYTES", "BLOCKS", "ACCESSES"].map((head) => padLeft(head, COLUMN)).join("");
  for (const file of new Set(shown.map((line) => line.file))) {
    const ofFile = shown.filter((line) => line.file === file);
    const text = read(file);
    screen.print("", heading(printable(file)));
    if (text === undefined)
      screen.print(faint("  (the file was not found: --path-map FROM=TO tells where it is)"));
    screen.print(faint(heads));
    printFile(screen, ofFile, text);
  }
  if (shown.length < lines.length) {
    screen.print(
      "",
      faint(
        `${counted(lines.length - shown.length, "more line allocates", "more lines allocate")}: -n shows more`,
      ),
    );
  }
  return screen.text().replace(/^\n/, "");
}

function printFile(screen: Screen, lines: readonly SourceLine[], text: readonly string[] | undefined): void {
  const byNumber = new Map(lines.map((line) => [line.line, line]));
  const numbers = [...byNumber.keys()].sort((one, other) => one - other);
  const width = String((numbers.at(-1) ?? 0) + AROUND).length;
  let last = 0;
  for (const number of numbers) {
    const reach = text === undefined ? 0 : AROUND;
    const start = Math.max(last + 1, number - reach, 1);
    if (last > 0 && start > last + 1)
      screen.print(screen.paint.faint(`${" ".repeat(3 * COLUMN + width)}  ⋮`));
    for (let at = start; at <= number + reach; at++) {
      if (text !== undefined && at > text.length) break;
      if (at > number && byNumber.has(at)) break;
      screen.print(lineOf(screen, at, byNumber.get(at), text?.[at - 1] ?? "", width));
      last = at;
    }
  }
}

function lineOf(
  screen: Screen,
  number: number,
  line: SourceLine | undefined,
  text: string,
  width: number,
): string {
  const { amount, faint } = screen.paint;
  const cells =
    line === undefined
      ? " ".repeat(3 * COLUMN)
      : padLeft(formatBytes(line.bytes), COLUMN) +
        padLeft(formatCount(line.blocks), COLUMN) +
        padLeft(formatCount(line.accesses), COLUMN);
  const source = printable(text.replaceAll("\t", "  "));
  const room = screen.width - 3 * COLUMN - width - 5;
  const shown = screen.isWide ? source : cutEnd(source, room);
  const place = `  ${padLeft(String(number), width)} │ `;
  return (
    (line === undefined ? cells : amount(cells)) + faint(place) + (line === undefined ? faint(shown) : shown)
  );
}

function cutEnd(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${text.slice(0, Math.max(width - 1, 0))}…`;
}
