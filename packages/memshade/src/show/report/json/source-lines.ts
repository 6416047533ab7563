import type { SourceTable } from "../../../explain/source/source-table.ts";
import type { SourceReader } from "../terminal/common/source-report.ts";

export interface SourceLinesJsonOptions {
  /** Name of the profile as the user typed it. */
  readonly input: string;
  readonly rows?: number | undefined;
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
  const document = {
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
