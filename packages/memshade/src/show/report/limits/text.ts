import type { Paint } from "../terminal/common/paint.ts";
import { printable, wrapWords } from "../terminal/common/text.ts";
import { type CheckedRunReport, type Outcome, outcomeOf, type ReportedLimit } from "./checked.ts";
import {
  becauseInWords,
  comparisonInWords,
  contributorInWords,
  emptyInWords,
  outcomeInWords,
} from "./words.ts";

const MARGIN = " ".repeat(7);
const MARKS: { readonly [Key in Outcome]: string } = {
  holds: "ok     ",
  failed: "FAILED ",
  undecided: "UNDECIDED ",
};

/** Formats the result for a terminal of `columns` columns. */
export function checkText(report: CheckedRunReport, paint: Paint, columns: number): string {
  const { run, baseline, limits, notes } = report;
  const wrapped = (text: string, style: (line: string) => string = (line) => line) =>
    wrapWords(printable(text), columns - MARGIN.length).map((line) => MARGIN + style(line));
  const lines = [
    paint.heading(
      printable(`Limits of ${run}`) +
        (baseline === undefined ? "" : `, compared with ${printable(baseline)}`),
    ),
    "",
  ];
  for (const checked of limits) lines.push(...limitLines(checked, report, paint, wrapped));
  if (notes.length > 0) {
    lines.push("", paint.warning("! Gaps in the figures, and suppressions"));
    lines.push(...notes.flatMap((note) => wrapped(note, paint.warning)));
  }
  lines.push("", paint.strong(outcomeInWords(report)));
  return `${lines.join("\n")}\n`;
}

function limitLines(
  checked: ReportedLimit,
  report: CheckedRunReport,
  paint: Paint,
  wrapped: (text: string, style?: (line: string) => string) => string[],
): string[] {
  const { limit, passed, reason, suppressed } = checked;
  const mark = MARKS[outcomeOf(checked)];
  const contributor = contributorInWords(checked, report);
  const empty = emptyInWords(checked);
  return [
    (passed ? paint.amount : paint.warning)(mark) + paint.strong(printable(limit.text)),
    ...wrapped(comparisonInWords(checked, report.clock)),
    ...becauseInWords(checked).flatMap((because) => wrapped(because, paint.warning)),
    ...(passed || contributor === undefined ? [] : wrapped(contributor)),
    ...(reason === undefined ? [] : wrapped(`reason: ${reason}`, paint.faint)),
    ...suppressed.flatMap(({ suppression }) =>
      wrapped(`without what ${suppression.place} suppresses: ${suppression.reason}`, paint.faint),
    ),
    ...(empty === undefined ? [] : wrapped(empty, paint.warning)),
  ];
}
