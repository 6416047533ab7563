import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { type Finding, kindOf } from "../findings/index.ts";

/** What runs can have found in their heaps, so that what one of them has and another has not came or went. */
export type ComparableFindings = "all" | "leaks" | "none";

/** Profiles that know other things of blocks find other things in them. */
export function comparableFindings(runs: readonly RecordedTools[]): ComparableFindings {
  const known = (of: (heap: NonNullable<RecordedTools["heap"]>["description"]) => unknown) =>
    new Set(runs.map(({ heap }) => heap && JSON.stringify(of(heap.description)))).size === 1;
  if (!known(({ importedFrom, clock }) => [importedFrom, clock.kind])) return "none";
  const areAlike = known(({ counters, unknownFields = [], unknownSiteFields = [] }) => [
    counters,
    unknownFields.toSorted(),
    unknownSiteFields.toSorted(),
  ]);
  return areAlike ? "all" : "leaks";
}

/** Findings without those that the other side may have, and could not tell. */
export function comparableOf(findings: readonly Finding[], comparable: ComparableFindings): Finding[] {
  return findings.filter(
    ({ tool, kind }) =>
      tool !== "heap" ||
      comparable === "all" ||
      (comparable === "leaks" && kindOf({ kind }).isComparable === true),
  );
}
