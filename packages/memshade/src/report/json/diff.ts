import type { FindingDiff } from "../../analyses/diff/finding-diff.ts";
import type { HeapDiff } from "../../analyses/diff/heap-diff.ts";
import type { MetricKey } from "../../analyses/metrics.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import { gapsOf } from "../gaps.ts";
import { diffRowsJson } from "./diff-rows.ts";
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
  const { unit } = change.metric;
  const sites = {
    old: createSiteWriter(profiles.old, diff.old),
    new: createSiteWriter(profiles.new, diff.new),
  };
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
    ...diffRowsJson({
      pairs: diff.pairs,
      changes: diff.metrics,
      by: change,
      most: rows,
      describe: (side, group) => sites[side](group),
    }),
    findings: findings && findingDiffJson(findings),
  });
}
