import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../profile/model/indices.ts";
import { type InstanceHeap, liveBytesOf } from "../../../profile/model/over-time/heap-intervals.ts";
import { groupContexts } from "../groups.ts";
import { rowsOfContexts } from "./heap-phases.ts";

/** What a site's contexts held at the ends of intervals. */
export interface SiteOverTime {
  readonly contexts: readonly IndexIntoContextTable[];
  readonly liveBytes: Float64Array;
  readonly most: number;
}

/** The sites of an instance that held anything at the end of an interval, those first that held most. */
export function sitesOverTime(profile: HeapProfile, { intervals, contexts }: InstanceHeap): SiteOverTime[] {
  const count = intervals.start.length;
  const rows = rowsOfContexts(profile);
  const byRow = new Map(contexts.map((context) => [rows.get(context.stackId), liveBytesOf(context, count)]));
  const sites = groupContexts(profile, "site").contexts.map((own) => {
    const liveBytes = new Float64Array(count);
    for (const row of own)
      byRow.get(row)?.forEach((bytes, i) => {
        liveBytes[i]! += bytes;
      });
    return { contexts: own, liveBytes, most: liveBytes.reduce((most, bytes) => Math.max(most, bytes), 0) };
  });
  return sites.filter(({ most }) => most > 0).sort((a, b) => b.most - a.most);
}
