import { bareName, codeOffset } from "../../../explain/analyses/frames/place-names.ts";
import type { Contributor } from "../../../explain/limits/check-limits.ts";
import type { Relation } from "../../../explain/limits/limit.ts";
import type { LimitMeasure } from "../../../explain/limits/measure.ts";
import type { LimitFrame } from "../../../explain/limits/measured-place.ts";
import { agreeing, groupDigits } from "../../../profile/model/counted.ts";
import { formatBytes, formatLifetime, formatMean } from "../../../profile/model/format.ts";
import type { Clock } from "../../../profile/model/run.ts";
import { findingInWords } from "../findings.ts";
import { type CheckedRunReport, failedLimits, type ReportedLimit, undecidedLimits } from "./checked.ts";

type Unit = LimitMeasure["unit"];

const ONE: { readonly [Key in Exclude<Unit, "bytes" | "clock" | "accessesPerByte" | "part">]: string } = {
  blocks: "block",
  accesses: "access",
  stores: "store",
  loads: "load",
  misses: "miss",
  references: "reference",
  intervals: "interval",
  objects: "object",
  findings: "finding",
};

/** Formats an amount to the last digit, since limits are exact: `8.00 MiB (8,388,609 B)`, `12 blocks`. */
export function amountInWords(amount: number, unit: Unit, clock?: Clock): string {
  switch (unit) {
    case "bytes":
      return Math.abs(amount) < 1024
        ? `${digits(amount)} B`
        : `${sign(amount)}${formatBytes(Math.abs(amount))} (${digits(amount)} B)`;
    case "accessesPerByte":
      return `${formatMean(amount)} per byte`;
    case "part":
      return percent(100 * amount);
    case "clock":
      return clock === undefined ? formatMean(amount) : formatLifetime(amount, clock);
    default:
      return `${digits(amount)} ${agreeing(amount, ONE[unit], `${ONE[unit]}${unit.endsWith("sses") ? "es" : "s"}`)}`;
  }
}

function digits(amount: number): string {
  const whole = Math.trunc(amount);
  const part = Math.abs(amount - whole);
  return `${sign(amount)}${groupDigits(Math.abs(whole))}${part === 0 ? "" : part.toFixed(2).slice(1)}`;
}

const sign = (amount: number): string => (amount < 0 ? "-" : "");

const NOT: { readonly [Key in Relation]: string } = {
  "<": "not below",
  "<=": "more than",
  "=": "not",
  ">=": "less than",
  ">": "not above",
};
const IS: { readonly [Key in Relation]: string } = {
  "<": "below",
  "<=": "at most",
  "=": "as it has to be:",
  ">=": "at least",
  ">": "above",
};

/** Words for a limit's relation after "not known whether". */
const ASKED: { readonly [Key in Relation]: string } = {
  "<": "below",
  "<=": "at most",
  "=": "exactly",
  ">=": "at least",
  ">": "above",
};

/** Formats an inexact amount: `at least 70.1 MiB (…)`. */
function boundInWords({ range: { least, most }, value }: ReportedLimit, words: string): string {
  if (least === most) return words;
  return `${least === value ? "at least" : most === value ? "at most" : "about"} ${words}`;
}

/**
 * Formats the amount of a run and the outcome of its limit: `13.2 KiB (13,512 B), not below 8.00 KiB (8,192
 * B)`.
 */
export function comparisonInWords(checked: ReportedLimit, clock?: Clock): string {
  const { limit, measure, passed, undecided, whole } = checked;
  const isUndecided = undecided.length > 0;
  const relation = isUndecided
    ? `not known whether ${ASKED[limit.relation]}`
    : (passed ? IS : NOT)[limit.relation];
  const amount = (value: number) => amountInWords(value, measure.unit, clock);
  if (whole !== undefined) {
    const share = whole === 0 ? 0 : (100 * checked.value) / whole;
    const exact = (value: number) => (measure.unit === "bytes" ? `${digits(value)} B` : amount(value));
    return `${boundInWords(checked, percent(share))} (${exact(checked.value)} of ${exact(whole)}), ${relation} ${limit.amount.value} %`;
  }
  const from = checked.baseline === undefined ? "" : `, ${baselineInWords(checked, clock)}`;
  return `${boundInWords(checked, amount(checked.value))}, ${relation} ${amount(checked.allowed)}${from}`;
}

function baselineInWords({ limit, measure, value, baseline = 0 }: ReportedLimit, clock?: Clock): string {
  const change = value - baseline;
  const part =
    baseline === 0 || change === 0 ? "" : ` (${change > 0 ? "+" : ""}${percent((100 * change) / baseline)})`;
  const words = amountInWords(change, measure.unit, clock);
  const changeText = change === 0 ? "as before" : `${change > 0 ? "+" : ""}${words}${part}`;
  const step = limit.amount.isPercent
    ? `${limit.amount.value} %`
    : amountInWords(limit.amount.value, measure.unit, clock);
  const allows = `${limit.from === "above" ? "+" : "-"}${step}`;
  return `where the baseline has ${amountInWords(baseline, measure.unit, clock)} and the limit allows ${allows}: ${changeText}`;
}

function percent(share: number): string {
  return `${Number(share.toPrecision(4))} %`;
}

/**
 * Formats the largest contributor: `most at parse (src/parse.c:88): 3.10 MiB (3,250,585 B)`; undefined if the
 * measure has no code location.
 */
export function contributorInWords(
  checked: ReportedLimit,
  { clock, locate }: Pick<CheckedRunReport, "clock" | "locate">,
): string | undefined {
  const { most, measure } = checked;
  if (most === undefined) return undefined;
  const { finding } = most.place;
  if (finding !== undefined) return `first: ${finding.kind}: ${findingInWords(finding, { locate })}`;
  const amount = amountInWords(most.amount, measure.unit, clock);
  const place = placeInWords(most, locate);
  if (most.before === undefined) return `most at ${place}: ${amount}`;
  return `most new at ${place}: ${amount}, ${amountInWords(most.before, measure.unit, clock)} before`;
}

function placeInWords(
  { place: { path, inside = [] } }: Contributor,
  locate: (file: string) => string,
): string {
  const via = inside.at(-1);
  const called = via === undefined ? "" : ` via ${functionInWords(via)}`;
  return frameInWords(path[0]!, locate) + called;
}

/** Formats `parse (src/parse.c:88)`. */
export function frameInWords(frame: LimitFrame, locate: (file: string) => string): string {
  const { file, line } = frame;
  if (file === undefined) return functionInWords(frame);
  return `${functionInWords(frame)} (${locate(file)}${line === undefined ? "" : `:${line}`})`;
}

function functionInWords({ function: name, module, address }: LimitFrame): string {
  if (name !== undefined) return bareName(name);
  const offset = address === undefined ? "" : codeOffset(address);
  return module === undefined
    ? `a function without a name${offset === "" ? "" : ` at ${offset}`}`
    : module + offset;
}

/** Describes a limit in one sentence. */
export function limitSentence(checked: ReportedLimit, report: CheckedRunReport): string {
  const { limit, reason, measure } = checked;
  const contributor = contributorInWords(checked, report);
  const parts = [
    `${measure.id}${filtersInWords(limit.filters)} is ${comparisonInWords(checked, report.clock)}`,
    ...becauseInWords(checked),
    ...(contributor === undefined ? [] : [contributor]),
    ...(reason === undefined ? [] : [`the reason of the limit: ${reason}`]),
  ];
  return parts.join("; ");
}

function filtersInWords(filters: ReportedLimit["limit"]["filters"]): string {
  return filters.length === 0 ? "" : `[${filters.map(({ key, glob }) => `${key}=${glob}`).join(",")}]`;
}

/**
 * Returns the line at which a limit's failure is shown: the line with the largest amount, else that of the
 * limit.
 */
export function lineOf(
  { most, written }: ReportedLimit,
  locate: (file: string) => string,
): { readonly file: string; readonly line: number } | undefined {
  const frame = most?.place.path.find(
    ({ file, line }) => file !== undefined && line !== undefined && line > 0,
  );
  if (frame !== undefined) return { file: locate(frame.file!), line: frame.line! };
  return written && { file: locate(written.file), line: written.line };
}

/** Returns why a limit is undecided. */
export function becauseInWords({ undecided }: ReportedLimit): string[] {
  return undecided.length === 0 ? [] : [`undecided because ${undecided.join("; ")}`];
}

/** Formats `2 of 5 limits failed, 1 is undecided`. */
export function outcomeInWords(report: CheckedRunReport): string {
  const { limits } = report;
  const [failed, undecided] = [failedLimits(report).length, undecidedLimits(report).length];
  const limitsText = `${limits.length} ${agreeing(limits.length, "limit")}`;
  if (failed + undecided === 0) return limits.length === 1 ? "the limit holds" : `all ${limitsText} hold`;
  const open = undecided === 0 ? [] : [`${undecided} ${agreeing(undecided, "is", "are")} undecided`];
  if (failed > 0) return [`${failed} of ${limitsText} failed`, ...open].join(", ");
  return limits.length === 1
    ? "the limit is undecided"
    : `${undecided} of ${limitsText} ${agreeing(undecided, "is", "are")} undecided`;
}

/** Returns a remark on a limit whose filters match no code location of the run. */
export function emptyInWords({ limit, choosesAny }: ReportedLimit): string | undefined {
  return choosesAny === false
    ? `${limit.text}: no place of the run is chosen, so there is nothing of it`
    : undefined;
}
