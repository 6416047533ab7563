import type { FindingDiff } from "../../../explain/diff/finding-diff.ts";
import { displayedNames } from "../../../explain/diff/renamed-functions.ts";
import type { Found } from "../../../explain/findings/finding-kind.ts";
import { adviceOf, type Finding, wholeOfPart } from "../../../explain/findings/index.ts";
import { findingInWords } from "../findings.ts";

/**
 * Problem that a person can fix, over all reported tools. A report has at most five, those with the largest parts first.
 * A program without problems has none.
 */
export interface FindingJson extends Found {
  /** Total that the part refers to, in words. */
  readonly partOf: string;
  /** Sentence with the whole location. */
  readonly says: string;
  /** Action to take. */
  readonly advice: string;
}

/** Comparison of findings. Findings of the same kind and function are the same. */
export interface FindingDiffJson {
  /** Findings that only one of the runs has. */
  readonly new: readonly FindingJson[];
  readonly gone: readonly FindingJson[];
  /** Number of findings that both runs have. */
  readonly kept: number;
  /** Functions with different names in the runs; absent if there are none. */
  readonly renamed?: readonly { readonly old: string; readonly new: string }[];
}

/** Returns the findings of a run as JSON (docs/report-json.md), each with its sentence and advice. */
export function findingsJson(findings: readonly Finding[]): FindingJson[] {
  return findings.map((finding) => ({
    ...finding,
    partOf: wholeOfPart(finding).long,
    says: findingInWords(finding),
    advice: adviceOf(finding),
  }));
}

/** Returns the findings that came or went from one run to another. */
export function findingDiffJson({ new: fresh, gone, kept, renamed }: FindingDiff): FindingDiffJson {
  const names = Array.from(displayedNames(renamed), ([old, now]) => ({ old, new: now }));
  return {
    new: findingsJson(fresh),
    gone: findingsJson(gone),
    kept,
    ...(names.length === 0 ? {} : { renamed: names }),
  };
}
