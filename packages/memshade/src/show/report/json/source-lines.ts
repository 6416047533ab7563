import type { SourceTable } from "../../../explain/source/source-table.ts";
import type { SourceReader } from "../terminal/common/source-report.ts";

export interface SourceLinesJsonOptions {
  /** Name of the profile as the user typed it. */
  readonly input: string;
  readonly rows?: number | undefined;
}

/** Source lines with the figures of one tool. Only this report has text of source files. */
interface SourceLinesReportJson {
  /** Name and version of the format. */
  schema: "memshade-source-lines";
  version: 2;
  /** Run, as named on the command line. */
  input: string;
  /** Tool: "heap", "waste", "workingset" or "objects". */
  tool: string;
  /** Lines, those with the largest part of any figure first. */
  lines: readonly SourceLineJson[];
  /** Number of lines left out by `-n`. */
  omitted: number;
}

/** Line with its [measures](glossary.md#measures), by their words, if the run has them by location. */
interface SourceLineJson {
  /** Source position. */
  file: string;
  line: number;
  /** Text of the line; null if the file was not found. */
  text: string | null;
  [word: string]: string | number | null;
}

/**
 * Formats a tool's figures of source lines as JSON, each line with its text if the file was found
 * (docs/report-json.md).
 */
export function sourceLinesJson(
  { tool, columns, lines }: SourceTable,
  read: SourceReader,
  { input, rows }: SourceLinesJsonOptions,
): string {
  const shown = lines.slice(0, rows);
  const document: SourceLinesReportJson = {
    schema: "memshade-source-lines",
    version: 2,
    input,
    tool,
    lines: shown.map(({ file, line, values }) => ({
      file,
      line,
      ...Object.fromEntries(columns.map(({ key }, index) => [key, values[index] ?? null])),
      text: read(file)?.[line - 1] ?? null,
    })),
    omitted: lines.length - shown.length,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
