import type { CheckedLimit } from "../../../explain/limits/check-limits.ts";
import type { Clock } from "../../../profile/model/run.ts";

/** A limit that was checked, with what the person said who set it. */
export interface ReportedLimit extends CheckedLimit {
  /** Why the limit is what it is. */
  readonly reason?: string | undefined;
  /** Where it was written, where that is a file. */
  readonly written?: { readonly file: string; readonly line: number } | undefined;
}

export type Outcome = "holds" | "failed" | "undecided";

export function outcomeOf({ passed, undecided }: ReportedLimit): Outcome {
  return passed ? "holds" : undecided.length > 0 ? "undecided" : "failed";
}

/** What all forms of the result show. */
export interface CheckedRunReport {
  /** As it was named. */
  readonly run: string;
  readonly baseline?: string | undefined;
  /** Short name of the program. */
  readonly program: string;
  /** Of the heap. */
  readonly clock?: Clock | undefined;
  readonly limits: readonly ReportedLimit[];
  /** Sentences: what the figures do not cover, and what was suppressed. */
  readonly notes: readonly string[];
  /** A recorded path as it is called in the repository, with slashes. */
  readonly locate: (file: string) => string;
}

/** Those of which it is not known whether they hold. */
export function undecidedLimits({ limits }: CheckedRunReport): ReportedLimit[] {
  return limits.filter(({ undecided }) => undecided.length > 0);
}

/** Those that failed, what exceeds its limit by the largest part first. */
export function failedLimits({ limits }: CheckedRunReport): ReportedLimit[] {
  const excess = ({ value, allowed }: ReportedLimit) => Math.abs(value - allowed) / Math.max(allowed, 1);
  return limits
    .filter(({ passed, undecided }) => !passed && undecided.length === 0)
    .sort((a, b) => excess(b) - excess(a));
}
