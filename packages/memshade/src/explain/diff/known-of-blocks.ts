import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { type Finding, kindOf } from "../findings/index.ts";

/** Kinds of heap findings that all runs can have, so that a difference is a change. */
export type ComparableFindings = "all" | "leaks" | "none";

/** Returns the comparable kinds: profiles with different block data have different findings. */
export function comparableFindings(runs: readonly RecordedTools[]): ComparableFindings {
  const areEqual = (factOf: (heap: NonNullable<RecordedTools["heap"]>["description"]) => unknown) =>
    new Set(runs.map(({ heap }) => heap && JSON.stringify(factOf(heap.description)))).size === 1;
  if (!areEqual(({ importedFrom, clock }) => [importedFrom, clock.kind])) return "none";
  const areAlike = areEqual(({ counters, unknownFields = [], unknownSiteFields = [] }) => [
    counters,
    unknownFields.toSorted(),
    unknownSiteFields.toSorted(),
  ]);
  return areAlike ? "all" : "leaks";
}

/** Removes findings that the other side cannot detect. */
export function comparableOf(findings: readonly Finding[], comparable: ComparableFindings): Finding[] {
  return findings.filter(
    ({ tool, kind }) =>
      tool !== "heap" ||
      comparable === "all" ||
      (comparable === "leaks" && kindOf({ kind }).isComparable === true),
  );
}
