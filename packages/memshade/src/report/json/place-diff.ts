import type { FindingDiff } from "../../analyses/diff/finding-diff.ts";
import { rankChanges } from "../../analyses/diff/heap-diff.ts";
import type { PlaceChange, PlaceDiff } from "../../analyses/diff/place-diff.ts";
import { DIFF_SCHEMA, DIFF_VERSION } from "./diff.ts";
import { findingDiffJson } from "./findings.ts";
import { jsonText } from "./text.ts";

export interface PlaceDiffJsonOptions {
  readonly tool: "waste" | "workingset";
  /** As they were named. */
  readonly inputs: { readonly old: string; readonly new: string };
  readonly notTracked: { readonly old: readonly string[]; readonly new: readonly string[] };
  readonly rows: number;
  readonly findings: FindingDiff;
}

/** A comparison of places as JSON (docs/report-json.md). */
export function placeDiffJson(
  diff: PlaceDiff,
  change: PlaceChange,
  { tool, inputs, notTracked, rows, findings }: PlaceDiffJsonOptions,
): string {
  const ranking = rankChanges(change);
  const pathOf = (side: "old" | "new", place: number | undefined) =>
    place === undefined ? null : { path: diff[side][place]!.path };
  return jsonText({
    schema: DIFF_SCHEMA,
    version: DIFF_VERSION,
    tool,
    old: inputs.old,
    new: inputs.new,
    by: change.metric.key,
    unit: change.metric.unit,
    group: diff.group,
    notTracked,
    totals: Object.fromEntries(diff.changes.map(({ metric, total }) => [metric.key, total])),
    rows: ranking.slice(0, rows).map((row) => {
      const pair = diff.pairs[row]!;
      return {
        kind: pair.old === undefined ? "new" : pair.new === undefined ? "gone" : "changed",
        change: change.new[row]! - change.old[row]!,
        values: Object.fromEntries(
          diff.changes.map(({ metric, old, new: now }) => [metric.key, { old: old[row], new: now[row] }]),
        ),
        old: pathOf("old", pair.old),
        new: pathOf("new", pair.new),
      };
    }),
    rowsOmitted: Math.max(0, ranking.length - rows),
    unchanged: diff.pairs.length - ranking.length,
    findings: findingDiffJson(findings),
  });
}
