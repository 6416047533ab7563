import type { PlaceFrame } from "../../../explain/findings/finding-kind.ts";
import type { LimitMeasure } from "../../../explain/limits/measure.ts";
import { jsonText } from "../json/text.ts";
import {
  type CheckedRunReport,
  failedLimits,
  type Outcome,
  outcomeOf,
  type ReportedLimit,
  undecidedLimits,
} from "./checked.ts";
import { limitSentence, lineOf } from "./words.ts";

const CHECK_SCHEMA = "memshade-check";
const CHECK_VERSION = 1;

interface CheckJson {
  /** Name and version of the format. */
  schema: typeof CHECK_SCHEMA;
  version: typeof CHECK_VERSION;
  /** Run, as named on the command line. */
  run: string;
  /** Baseline, if a limit counts from it. */
  baseline: string | null;
  /** Short name of the program. */
  program: string;
  /** True if all limits hold. */
  passed: boolean;
  /** Limits that fail, and limits [without a result](ci.md). */
  failed: number;
  undecided: number;
  /** Limits, in the order in which they were given. */
  limits: readonly LimitJson[];
  /** Sentences: data that the figures do not cover, suppressed amounts, and suppressions without effect. */
  notTracked: readonly string[];
}

interface LimitJson {
  /** Text of the limit. */
  limit: string;
  /** Word of the measure (`memshade check --list`). */
  measure: string;
  /** Tool: `heap`, `waste`, `workingset`, … or `findings`. */
  tool: LimitMeasure["tool"];
  /** Unit of the amounts: `bytes`, `blocks` … */
  unit: LimitMeasure["unit"];
  /** Filters that choose locations. */
  filters: readonly { readonly key: string; readonly glob: string }[];
  /** True if the limit holds, whatever may be missing in the figures. */
  passed: boolean;
  /** Result. */
  outcome: Outcome;
  /** Reasons why there is no result, as ends of sentences. */
  undecided: readonly string[];
  /** Bounds of the true value; equal to `value` for exact figures. null: there is no upper bound. */
  atLeast: number;
  atMost: number | null;
  /** Value of the run. */
  value: number;
  /** Comparison: `<`, `<=`, `=` … */
  relation: string;
  /** Value that the run's is compared with, in the unit: percentages are converted. */
  allowed: number;
  /** Amount that a limit in per cent refers to. */
  whole: number | null;
  /** Value of the baseline. */
  baseline: number | null;
  /** True if the filters choose a location of the run; null without filters. */
  choosesAny: boolean | null;
  /** Location that has most, or that grew most. */
  most: MostJson | null;
  /** Suppressed amounts: location and reason of each. */
  suppressed: readonly {
    readonly place: string;
    readonly reason?: string | undefined;
    readonly amount: number;
  }[];
  /** Reason given for the limit. */
  reason: string | null;
  /** File and line of the limit in a budget. */
  written: { readonly file: string; readonly line: number } | null;
  /** Result as a sentence. */
  says: string;
}

interface MostJson {
  /** Amount, and that of the baseline. */
  amount: number;
  before: number | null;
  /** Source line, with the file from the root of the repository. */
  line: { readonly file: string; readonly line: number } | null;
  /** Kind of the finding, of limits on findings. */
  finding: string | null;
  /** Frames, the program's own first, and the frames that it called in libraries. */
  path: readonly PlaceFrame[];
  inside: readonly PlaceFrame[];
}

/** Measures that can be limited (`memshade check --list --format json`). */
interface MeasuresJson {
  /** Name and version of the format. */
  schema: "memshade-measures";
  version: 2;
  /** Measures. */
  measures: readonly {
    /** Word, and other words for it. */
    readonly word: string;
    readonly also: readonly string[];
    /** Tool that records it. */
    readonly tool: LimitMeasure["tool"];
    /** Unit of amounts. */
    readonly unit: LimitMeasure["unit"];
    /** Meaning. */
    readonly what: string;
    /** Measure that limits in per cent are a part of. */
    readonly percentOf: string | null;
    /** Recording that a run needs, and that its locations need. */
    readonly needs: string;
    readonly needsForPlaces: string | null;
  }[];
}

/** Formats the result as JSON (docs/report-json.md). */
export function checkJson(report: CheckedRunReport): string {
  const { run, baseline, program, limits, notes } = report;
  const [failed, undecided] = [failedLimits(report).length, undecidedLimits(report).length];
  const document: CheckJson = {
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
  };
  return jsonText(document);
}

function limitJson(checked: ReportedLimit, report: CheckedRunReport): LimitJson {
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
  const document: MeasuresJson = {
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
  };
  return jsonText(document);
}
