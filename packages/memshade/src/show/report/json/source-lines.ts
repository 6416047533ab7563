import type { SourceTable } from "../../../explain/source/source-table.ts";
import type { SourceReader } from "../terminal/common/source-report.ts";
import { type CutJson, RankedList } from "./text.ts";

/** Source lines with the figures of one tool. Only this report has text of source files. */
interface SourceLinesReportJson extends CutJson {
  /** Name and version of the format. */
  schema: "memshade-source-lines";
  version: 3;
  /** Run, as named on the command line. */
  input: string;
  /** Tool: "heap", "waste", "workingset" or "objects". */
  tool: string;
  /** Lines, those with the largest part of any figure first. */
  lines: RankedList<SourceLineJson>;
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
 * Returns a tool's figures of source lines for JSON, each line with its text if the file was found
 * (docs/report-json.md).
 *
 * @param input run, as named on the command line
 */
export function sourceLinesJson(
  { tool, columns, lines }: SourceTable,
  read: SourceReader,
  input: string,
): SourceLinesReportJson {
  return {
    schema: "memshade-source-lines",
    version: 3,
    input,
    tool,
    lines: RankedList.of(lines, ({ file, line, values }) => ({
      file,
      line,
      ...Object.fromEntries(columns.map(({ key }, index) => [key, values[index] ?? null])),
      text: read(file)?.[line - 1] ?? null,
    })),
  };
}
