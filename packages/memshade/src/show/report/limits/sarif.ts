import type { LimitFrame } from "../../../explain/limits/measured-place.ts";
import { type SarifResult, sarifText } from "../sarif.ts";
import {
  type CheckedRunReport,
  failedLimits,
  outcomeOf,
  type ReportedLimit,
  undecidedLimits,
} from "./checked.ts";
import { frameInWords, limitSentence, lineOf } from "./words.ts";

/** Formats failed limits, and undecided ones as warnings, as SARIF: a rule for each measure. */
export function checkSarif(report: CheckedRunReport): string {
  const reported = [...failedLimits(report), ...undecidedLimits(report)];
  const rules = [...new Set(reported.map(({ measure }) => measure))];
  return sarifText(
    report.program,
    rules.map(({ id, meaning, needs, tool }) => ({
      id,
      title: `Limit of ${id}`,
      meaning: `${id}: ${meaning}.`,
      help: `${id}: ${meaning}. It takes ${needs}. memshade report RUN shows who has it.`,
      tags: ["memory", tool],
      severity: "error",
    })),
    reported.map((checked) => resultOf(checked, report)),
  );
}

function resultOf(checked: ReportedLimit, report: CheckedRunReport): SarifResult {
  const { limit, measure, most } = checked;
  const own = most?.place.path[0];
  return {
    rule: measure.id,
    level: outcomeOf(checked) === "undecided" ? "warning" : "error",
    text: `${limit.text}: ${limitSentence(checked, report)}`,
    // Readers reject results without a location, so the program stands for a missing one.
    place: lineOf(checked, report.locate) ?? { file: report.program, line: 1 },
    identity: `${limit.text}\n${own?.function ?? ""}\n${own?.file ?? ""}`,
    calls: (most?.place.path ?? [])
      .filter(hasLine)
      .toReversed()
      .map((frame) => ({
        file: report.locate(frame.file),
        line: frame.line,
        text: frameInWords(frame, report.locate),
      })),
  };
}

function hasLine(frame: LimitFrame): frame is LimitFrame & { file: string; line: number } {
  return frame.file !== undefined && frame.line !== undefined && frame.line > 0;
}
