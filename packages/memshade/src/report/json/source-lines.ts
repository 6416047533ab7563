import type { SourceLine } from "../../analyses/source-lines.ts";
import type { SourceReader } from "../terminal/heap/source-report.ts";

export interface SourceLinesJsonOptions {
  /** How the user named the profile. */
  readonly input: string;
  readonly rows?: number | undefined;
}

/** The source lines that allocate as JSON, each with its text where the file was found (docs/report-json.md). */
export function sourceLinesJson(
  lines: readonly SourceLine[],
  read: SourceReader,
  { input, rows }: SourceLinesJsonOptions,
): string {
  const shown = lines.slice(0, rows);
  const document = {
    schema: "memshade-source-lines",
    version: 1,
    input,
    lines: shown.map((line) => ({
      ...line,
      liveBytes: line.liveBytes ?? null,
      text: read(line.file)?.[line.line - 1] ?? null,
    })),
    omitted: lines.length - shown.length,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
