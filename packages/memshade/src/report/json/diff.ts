import type { FindingDiff } from "../../analyses/diff/finding-diff.ts";
import { type HeapDiff, rankChanges } from "../../analyses/diff/heap-diff.ts";
import type { MetricKey } from "../../analyses/metrics.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import { gapsOf } from "../gaps.ts";
import { findingDiffJson } from "./findings.ts";
import { createSiteWriter } from "./sites.ts";
import { jsonText } from "./text.ts";

export const DIFF_SCHEMA = "memshade-diff";
export const DIFF_VERSION = 1;

export interface DiffJsonOptions {
  /** As they were named. */
  readonly inputs: { readonly old: string; readonly new: string };
  readonly by: MetricKey;
  readonly rows: number;
  readonly findings?: FindingDiff | undefined;
}

/**
 * A comparison as JSON (docs/report-json.md).
 *
 * @returns undefined where one of the profiles does not know the metric
 */
export function diffJson(
  profiles: { readonly old: HeapProfile; readonly new: HeapProfile },
  diff: HeapDiff,
  { inputs, by, rows, findings }: DiffJsonOptions,
): string | undefined {
  const change = diff.metrics.find(({ metric }) => metric.key === by);
  if (change === undefined) return undefined;
  const ranking = rankChanges(change);
  const { unit } = change.metric;
  const oldSite = createSiteWriter(profiles.old, diff.old);
  const newSite = createSiteWriter(profiles.new, diff.new);
  return jsonText({
    schema: DIFF_SCHEMA,
    version: DIFF_VERSION,
    old: inputs.old,
    new: inputs.new,
    by,
    unit: unit === "clock" ? profiles.new.description.clock.unit : unit,
    group: diff.new.by,
    clock: { old: profiles.old.description.clock, new: profiles.new.description.clock },
    notTracked: { old: gapsOf(profiles.old), new: gapsOf(profiles.new) },
    totals: Object.fromEntries(diff.metrics.map(({ metric, total }) => [metric.key, total])),
    rows: ranking.slice(0, rows).map((row) => {
      const pair = diff.pairs[row]!;
      return {
        kind: pair.old === undefined ? "new" : pair.new === undefined ? "gone" : "changed",
        change: change.new[row]! - change.old[row]!,
        values: Object.fromEntries(
          diff.metrics.map(({ metric, old, new: now }) => [metric.key, { old: old[row], new: now[row] }]),
        ),
        old: pair.old === undefined ? null : oldSite(pair.old),
        new: pair.new === undefined ? null : newSite(pair.new),
      };
    }),
    rowsOmitted: Math.max(0, ranking.length - rows),
    unchanged: diff.pairs.length - ranking.length,
    findings: findings && findingDiffJson(findings),
  });
}
