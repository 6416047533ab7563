import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import type { ContextGroups, GroupBy } from "../groups.ts";
import { METRICS, type Metric, type MetricKey, measureGroups } from "../metrics.ts";
import { type PairedGroups, pairGroups } from "./pair-groups.ts";

/** A metric in both profiles. */
export interface MetricChange {
  readonly metric: Metric;
  /** Of the whole profile: a sum, or a mean over all blocks. */
  readonly total: OldAndNew;
  /** One value per pair of groups, 0 where a profile has no such group. */
  readonly old: Float64Array;
  readonly new: Float64Array;
}

export interface OldAndNew {
  readonly old: number;
  readonly new: number;
}

/** What changed from one heap profile of a program to another one. */
export interface HeapDiff extends PairedGroups {
  /** What both profiles know. */
  readonly metrics: readonly MetricChange[];
}

/** Compares two profiles, group by group. */
export function diffHeaps(older: HeapProfile, newer: HeapProfile, by: GroupBy): HeapDiff {
  const paired = pairGroups(older, newer, by);
  const areTimesAlike = older.description.clock.unit === newer.description.clock.unit;
  const metrics = METRICS.flatMap((metric): MetricChange[] => {
    if (isTime(metric.key) && !areTimesAlike) return [];
    const [old, now] = [
      measureGroups(older, paired.old, metric.key),
      measureGroups(newer, paired.new, metric.key),
    ];
    if (old === undefined || now === undefined) return [];
    const totalOf = (profile: HeapProfile) =>
      measureGroups(profile, everything(profile, by), metric.key)![0]!;
    return [
      {
        metric,
        total: { old: totalOf(older), new: totalOf(newer) },
        old: Float64Array.from(paired.pairs, (pair) => (pair.old === undefined ? 0 : old[pair.old]!)),
        new: Float64Array.from(paired.pairs, (pair) => (pair.new === undefined ? 0 : now[pair.new]!)),
      },
    ];
  });
  return { ...paired, metrics };
}

/** What the clock decides: how long blocks live, and whether that is hardly any time. */
function isTime(key: MetricKey): boolean {
  return key === "lifetime" || key === "temporary";
}

/** Indices of the pairs whose values differ, largest difference first; equal ones keep their order. */
export function rankChanges({ old, new: now }: Pick<MetricChange, "old" | "new">): number[] {
  const sizeOf = (pair: number) => Math.abs(now[pair]! - old[pair]!);
  return Array.from(old.keys())
    .filter((pair) => now[pair] !== old[pair])
    .sort((a, b) => sizeOf(b) - sizeOf(a));
}

function everything({ contexts: { length } }: HeapProfile, by: GroupBy): ContextGroups {
  const contexts = Array.from({ length }, (_, context) => context as IndexIntoContextTable);
  return { by, length: 1, groupOf: new Int32Array(length), contexts: [contexts] };
}
