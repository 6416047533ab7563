import { groupDigits } from "../../../../profile/model/counted.ts";
import { formatBytes, formatPercent } from "../../../../profile/model/format.ts";
import { padLeft, printable } from "../common/text.ts";

/** Figures of a table of unwind rules, in bytes where they are sizes. */
interface FormStatistics {
  readonly ruleSets: number;
  readonly entries: number;
  readonly tableBytes: number;
  readonly dictionaryBytes: number;
}

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
  readonly lul: FormStatistics;
  readonly threeRegisters: FormStatistics;
  readonly calleeSaved: FormStatistics;
}

/** What the call frame information of an object consists of, and what tables of it take. */
export function cfiStatisticsText(file: string, statistics: CfiStatistics): string {
  const { architecture, sections, rows, gaps, simpleRows, expressionRows, problemCount } = statistics;
  const named = sections.map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`).join(", ");
  const line = (label: string, count: number, note = "") =>
    `${label.padEnd(25)}${padLeft(groupDigits(count), 12)}${note === "" ? "" : `  ${note}`}`;
  const form = (label: string, { ruleSets, entries, tableBytes, dictionaryBytes }: FormStatistics) => {
    const perRow = rows === 0 ? "–" : (tableBytes / rows).toFixed(2);
    const cells = [
      groupDigits(ruleSets),
      groupDigits(entries),
      formatBytes(tableBytes),
      formatBytes(dictionaryBytes),
      perRow,
    ];
    return `${label.padEnd(27)}${cells.map((cell) => padLeft(cell, 10)).join("")}`;
  };
  return `${[
    `${printable(file)}: ${architecture}, ${named === "" ? "no call frame information" : named}`,
    "",
    line("FDEs", statistics.fdes),
    line("rows", rows),
    line("gaps between functions", gaps),
    line("rows with a simple rule", simpleRows, formatPercent(simpleRows, rows)),
    line("rows with an expression", expressionRows, formatPercent(expressionRows, rows)),
    line("problems", problemCount),
    "",
    `${"FORM".padEnd(27)}${["RULE SETS", "ENTRIES", "TABLE", "RULES", "BYTES/ROW"].map((head) => padLeft(head, 10)).join("")}`,
    form("extents (LUL)", statistics.lul),
    form("compact, three registers", statistics.threeRegisters),
    form("compact, all callee-saved", statistics.calleeSaved),
  ].join("\n")}\n`;
}
