import type { FindingDiff } from "../../../explain/diff/finding-diff.ts";
import { displayedNames } from "../../../explain/diff/renamed-functions.ts";
import { adviceOf, type Finding, wholeOfPart } from "../../../explain/findings/index.ts";
import { findingInWords } from "../findings.ts";

/** Returns the findings of a run as JSON (docs/report-json.md), each with its sentence and advice. */
export function findingsJson(findings: readonly Finding[]): object[] {
  return findings.map((finding) => ({
    ...finding,
    partOf: wholeOfPart(finding).long,
    says: findingInWords(finding),
    advice: adviceOf(finding),
  }));
}

/** Returns the findings that came or went from one run to another. */
export function findingDiffJson({ new: fresh, gone, kept, renamed }: FindingDiff): object {
  const names = Array.from(displayedNames(renamed), ([old, now]) => ({ old, new: now }));
  return {
    new: findingsJson(fresh),
    gone: findingsJson(gone),
    kept,
    ...(names.length === 0 ? {} : { renamed: names }),
  };
}
