import { printable } from "../terminal/common/text.ts";
import {
  type CheckedRunReport,
  failedLimits,
  type Outcome,
  outcomeOf,
  type ReportedLimit,
  undecidedLimits,
} from "./checked.ts";
import {
  amountInWords,
  comparisonInWords,
  contributorInWords,
  emptyInWords,
  limitSentence,
  lineOf,
  outcomeInWords,
} from "./words.ts";

/** GitHub shows this many annotations of a kind per step. */
const MOST_ANNOTATIONS = 10;
/** GitHub rejects longer summaries. */
const MOST_SUMMARY_BYTES = 1 << 20;

const SIGNS: { readonly [Key in Outcome]: string } = { holds: "✅", failed: "❌", undecided: "❔ undecided" };

/** Formats workflow commands that annotate the lines of a change with the failed limits, and the outcome. */
export function checkGithub(report: CheckedRunReport): string {
  const [failed, undecided] = [failedLimits(report), undecidedLimits(report)];
  const empty = report.limits.flatMap((checked) => emptyInWords(checked) ?? []);
  return [
    ...failed.slice(0, MOST_ANNOTATIONS).map((checked) => annotation(checked, report)),
    ...failed
      .slice(MOST_ANNOTATIONS)
      .map((checked) => printable(`failed: ${checked.limit.text}: ${limitSentence(checked, report)}`)),
    ...undecided.slice(0, MOST_ANNOTATIONS).map((checked) => annotation(checked, report)),
    ...undecided
      .slice(MOST_ANNOTATIONS)
      .map((checked) => printable(`undecided: ${checked.limit.text}: ${limitSentence(checked, report)}`)),
    ...empty.slice(0, MOST_ANNOTATIONS).map((sentence) => `::notice title=memshade::${data(sentence)}`),
    `memshade check: ${outcomeInWords(report)}`,
    "",
  ].join("\n");
}

function annotation(checked: ReportedLimit, report: CheckedRunReport): string {
  const level = outcomeOf(checked) === "undecided" ? "warning" : "error";
  return workflowCommand(level, lineOf(checked, report.locate), {
    title: checked.limit.text,
    text: limitSentence(checked, report),
  });
}

/** Formats a command that annotates a line of a change. */
export function workflowCommand(
  level: "error" | "warning",
  line: { readonly file: string; readonly line: number } | undefined,
  { title, text }: { readonly title: string; readonly text: string },
): string {
  const place =
    line === undefined ? "" : `file=${property(line.file)},line=${line.line},endLine=${line.line},`;
  return `::${level} ${place}title=${property(`memshade: ${title}`)}::${data(text)}`;
}

/** Escapes a message of a workflow command. */
function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** Formats the result as Markdown for the summary of a job, within GitHub's size limit. */
export function checkSummary(report: CheckedRunReport): string {
  const { limits, program, run, baseline, clock } = report;
  const hasBaseline = limits.some((checked) => checked.baseline !== undefined);
  const shown = [...failedLimits(report), ...undecidedLimits(report)];
  const rows = [...shown, ...limits.filter(({ passed }) => passed)].map((checked) => {
    const { limit, measure } = checked;
    const before = checked.baseline === undefined ? "" : amountInWords(checked.baseline, measure.unit, clock);
    return [
      SIGNS[outcomeOf(checked)],
      code(limit.text),
      ...(hasBaseline ? [cell(before)] : []),
      cell(comparisonInWords(checked, clock)),
      cell(contributorInWords(checked, report) ?? ""),
    ];
  });
  const head = ["", "limit", ...(hasBaseline ? ["baseline"] : []), "now", "where"];
  const compared = baseline === undefined ? "" : `, compared with ${code(baseline)}`;
  const lines = [
    `### Memory of ${cell(program)}: ${outcomeInWords(report)}`,
    "",
    `${code(run)}${compared}`,
    "",
    line(head),
    line(head.map(() => "---")),
  ];
  const size = (text: string) => new TextEncoder().encode(text).length;
  const cutNote = "… and more: memshade check prints all of them.";
  let room = MOST_SUMMARY_BYTES - size(lines.join("\n")) - 2 * cutNote.length;
  for (const row of rows) {
    const next = line(row);
    room -= size(next) + 1;
    if (room < 0) {
      lines.push("", cutNote);
      break;
    }
    lines.push(next);
  }
  return `${lines.join("\n")}\n\n`;
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** Escapes text for a cell of a Markdown table. */
function cell(text: string): string {
  return printable(text).replace(/[\\`*_[\]<>|&#~$]/g, (character) => `&#${character.codePointAt(0)};`);
}

function code(text: string): string {
  const shown = printable(text).replaceAll("|", "\\|");
  return shown.includes("`") ? cell(text) : `\`${shown}\``;
}
