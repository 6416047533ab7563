import { type GroupBy, groupContexts } from "../../analyses/groups.ts";
import { METRICS, type MetricKey, measureGroups, rank } from "../../analyses/metrics.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import { gapsOf } from "../gaps.ts";
import { createSiteWriter } from "./sites.ts";
import { jsonText } from "./text.ts";

export const TOP_SCHEMA = "memshade-top";
export const TOP_VERSION = 1;

export interface TopJsonOptions {
  readonly input: string;
  readonly by: MetricKey;
  readonly group: GroupBy;
  readonly order: "largest" | "smallest";
  readonly rows: number;
}

/**
 * A ranking as JSON (docs/report-json.md).
 *
 * @returns undefined where the profile does not know the metric
 */
export function topJson(profile: HeapProfile, options: TopJsonOptions): string | undefined {
  const { input, by, group, order } = options;
  const groups = groupContexts(profile, group);
  const values = measureGroups(profile, groups, by);
  if (values === undefined) {
    return undefined;
  }
  const { isAdditive, unit } = METRICS.find(({ key }) => key === by)!;
  const total = values.reduce((sum, value) => sum + value, 0);
  const ranking = rank(values, order);
  const shown = ranking.slice(0, options.rows);
  const siteOf = createSiteWriter(profile, groups);
  return jsonText({
    schema: TOP_SCHEMA,
    version: TOP_VERSION,
    input,
    by,
    unit: unit === "clock" ? profile.description.clock.unit : unit,
    group,
    order,
    clock: profile.description.clock,
    notTracked: gapsOf(profile),
    total: isAdditive ? total : null,
    rows: shown.map((row) => ({
      value: values[row]!,
      part: isAdditive && total > 0 ? values[row]! / total : null,
      ...siteOf(row),
    })),
    rowsOmitted: ranking.length - shown.length,
  });
}
