import type { LimitMeasure } from "../../../explain/limits/measure.ts";
import { jsonText } from "../json/text.ts";
import {
  type CheckedRunReport,
  failedLimits,
  outcomeOf,
  type ReportedLimit,
  undecidedLimits,
} from "./checked.ts";
import { limitSentence, lineOf } from "./words.ts";

const CHECK_SCHEMA = "memshade-check";
const CHECK_VERSION = 1;

/** Formats the result as JSON (docs/report-json.md). */
export function checkJson(report: CheckedRunReport): string {
  const { run, baseline, program, limits, notes } = report;
  const [failed, undecided] = [failedLimits(report).length, undecidedLimits(report).length];
  return jsonText({
    schema: CHECK_SCHEMA,
    version: CHECK_VERSION,
    run,
    baseline: baseline ?? null,
    program,
    passed: failed + undecided === 0,
    failed,
    undecided,
    limits: limits.map((checked) => limitJson(checked, report)),
    notTracked: notes,
  });
}

function limitJson(checked: ReportedLimit, report: CheckedRunReport): object {
  const { limit, measure, most, suppressed } = checked;
  return {
    limit: limit.text,
    measure: measure.id,
    tool: measure.tool,
    unit: measure.unit,
    filters: limit.filters,
    passed: checked.passed,
    outcome: outcomeOf(checked),
    undecided: checked.undecided,
    atLeast: checked.range.least,
    atMost: checked.range.most === Number.POSITIVE_INFINITY ? null : checked.range.most,
    value: checked.value,
    relation: limit.relation,
    allowed: checked.allowed,
    whole: checked.whole ?? null,
    baseline: checked.baseline ?? null,
    choosesAny: checked.choosesAny ?? null,
    most:
      most === undefined
        ? null
        : {
            amount: most.amount,
            before: most.before ?? null,
            line: lineOf(checked, report.locate) ?? null,
            finding: most.place.finding?.kind ?? null,
            path: most.place.path,
            inside: most.place.inside ?? [],
          },
    suppressed: suppressed.map(({ suppression: { place, reason }, amount }) => ({ place, reason, amount })),
    reason: checked.reason ?? null,
    written: checked.written ?? null,
    says: limitSentence(checked, report),
  };
}

/** Formats the measures that can be limited as JSON (docs/report-json.md). */
export function measuresJson(measures: readonly LimitMeasure[]): string {
  return jsonText({
    schema: "memshade-measures",
    version: 2,
    measures: measures.map(({ id, also, tool, unit, meaning, partOf, needs, needsForPlaces }) => ({
      word: id,
      also,
      tool,
      unit,
      what: meaning,
      percentOf: partOf ?? null,
      needs,
      needsForPlaces: needsForPlaces ?? null,
    })),
  });
}
