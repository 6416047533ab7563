import { formatBytes, formatPercent, groupDigits } from "../../format.ts";
import { padLeft } from "../common/text.ts";

/** What is printed of the figures that the unwinder has of an object. */
export interface CfiStatistics {
  readonly architecture: string;
  readonly sections: readonly { readonly name: string; readonly bytes: number }[];
  readonly fdes: number;
  readonly rows: number;
  readonly gaps: number;
  readonly simpleRows: number;
  readonly expressionRows: number;
  readonly problemCount: number;
  readonly ruleSets: number;
  readonly entries: number;
  readonly tableBytes: number;
  readonly dictionaryBytes: number;
}

/** What the call frame information of an object consists of, and what the table of it takes. */
export function cfiStatisticsText(file: string, statistics: CfiStatistics): string {
  const { architecture, sections, rows, gaps, simpleRows, expressionRows, problemCount } = statistics;
  const named = sections.map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`).join(", ");
  const line = (label: string, count: number, note = "") =>
    `${label.padEnd(25)}${padLeft(groupDigits(count), 12)}${note === "" ? "" : `  ${note}`}`;
  return `${[
    `${file}: ${architecture}, ${named === "" ? "no call frame information" : named}`,
    "",
    line("FDEs", statistics.fdes),
    line("rows", rows),
    line("gaps between functions", gaps),
    line("rows with a simple rule", simpleRows, formatPercent(simpleRows, rows)),
    line("rows with an expression", expressionRows, formatPercent(expressionRows, rows)),
    line("problems", problemCount),
    "",
    line("distinct rules", statistics.ruleSets, formatBytes(statistics.dictionaryBytes)),
    line("entries of the table", statistics.entries, formatBytes(statistics.tableBytes)),
  ].join("\n")}\n`;
}
