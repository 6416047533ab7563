import type { CheckedLimit } from "../../../explain/limits/check-limits.ts";
import type { Clock } from "../../../profile/model/run.ts";

/** A checked limit, with its reason and source. */
export interface ReportedLimit extends CheckedLimit {
  /** Reason given for the limit. */
  readonly reason?: string | undefined;
  /** File and line of the limit; undefined if it was given on the command line. */
  readonly written?: { readonly file: string; readonly line: number } | undefined;
}

export type Outcome = "holds" | "failed" | "undecided";

export function outcomeOf({ passed, undecided }: ReportedLimit): Outcome {
  return passed ? "holds" : undecided.length > 0 ? "undecided" : "failed";
}

export interface CheckedRunReport {
  /** Name of the run as the user typed it. */
  readonly run: string;
  readonly baseline?: string | undefined;
  /** Short name of the program. */
  readonly program: string;
  /** Clock of the heap. */
  readonly clock?: Clock | undefined;
  readonly limits: readonly ReportedLimit[];
  /** Sentences: data that the figures do not cover, and suppressions. */
  readonly notes: readonly string[];
  /** Maps a recorded path to its path in the repository, with slashes. */
  readonly locate: (file: string) => string;
}

/** Returns the limits that the data cannot decide. */
export function undecidedLimits({ limits }: CheckedRunReport): ReportedLimit[] {
  return limits.filter(({ undecided }) => undecided.length > 0);
}

/** Returns the limits that failed, the largest relative excess first. */
export function failedLimits({ limits }: CheckedRunReport): ReportedLimit[] {
  const excess = ({ value, allowed }: ReportedLimit) => Math.abs(value - allowed) / Math.max(allowed, 1);
  return limits
    .filter(({ passed, undecided }) => !passed && undecided.length === 0)
    .sort((a, b) => excess(b) - excess(a));
}
