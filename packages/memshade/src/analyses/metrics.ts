import type { HeapProfile } from "../model/heap-profile.ts";
import { type ContextGroups, groupContexts, sumByGroup } from "./groups.ts";
import { type HeapColumnKey, heapColumn } from "./heap/heap-columns.ts";

export type MetricKey =
  | "bytes"
  | "peak"
  | "live"
  | "lost"
  | "count"
  | "accesses"
  | "density"
  | "lifetime"
  | "temporary"
  | "copied"
  | "spare";

/**
 * What sites can be ranked by.
 *
 * `unit`: "bytes", "count" (of blocks or accesses), "accessesPerByte", or "clock" (units of the
 * profile's clock). `isAdditive`: values of different sites add up, so that shares make sense.
 */
export interface Metric {
  readonly key: MetricKey;
  readonly title: string;
  readonly unit: "bytes" | "count" | "accessesPerByte" | "clock";
  readonly isAdditive: boolean;
}

export const METRICS: readonly Metric[] = [
  { key: "bytes", title: "bytes allocated", unit: "bytes", isAdditive: true },
  { key: "peak", title: "bytes live at the peak", unit: "bytes", isAdditive: true },
  { key: "live", title: "bytes live at the end", unit: "bytes", isAdditive: true },
  { key: "lost", title: "bytes lost at the end", unit: "bytes", isAdditive: true },
  { key: "count", title: "blocks allocated", unit: "count", isAdditive: true },
  { key: "accesses", title: "accesses", unit: "count", isAdditive: true },
  { key: "density", title: "accesses per byte allocated", unit: "accessesPerByte", isAdditive: false },
  { key: "lifetime", title: "mean lifetime", unit: "clock", isAdditive: false },
  { key: "temporary", title: "temporary blocks", unit: "count", isAdditive: true },
  { key: "copied", title: "bytes copied as blocks grew", unit: "bytes", isAdditive: true },
  { key: "spare", title: "bytes behind the last one used", unit: "bytes", isAdditive: true },
];

const COLUMN_OF = {
  bytes: "bytes",
  peak: "peakBytes",
  live: "liveBytes",
  lost: "lostBytes",
  count: "blocks",
  accesses: "accesses",
  temporary: "temporaryBlocks",
  copied: "copiedBytes",
  spare: "spareBytes",
} as const satisfies Record<Exclude<MetricKey, "density" | "lifetime">, HeapColumnKey>;

/** One value per group; undefined where the profile does not know (peak and live without a run, fields it lacks). */
export function measureGroups(
  profile: HeapProfile,
  groups: ContextGroups,
  key: MetricKey,
): Float64Array | undefined {
  const of = (column: HeapColumnKey): Float64Array | undefined => {
    const amounts = heapColumn(profile, column)?.amounts;
    return amounts && sumByGroup(groups, amounts);
  };
  if (key === "density") return divide(of("accesses"), of("bytes"));
  if (key === "lifetime") return divide(of("lifetimes"), of("blocks"));
  return of(COLUMN_OF[key]);
}

/** The metrics that a profile knows. */
export function knownMetrics(profile: HeapProfile): MetricKey[] {
  const groups = groupContexts(profile, "path");
  return METRICS.map(({ key }) => key).filter((key) => measureGroups(profile, groups, key) !== undefined);
}

/**
 * Indices of the values, largest first (or smallest first); equal values keep their order. Largest first
 * leaves out zeros: such a site has no part in what is ranked.
 */
export function rank(values: Float64Array, order: "largest" | "smallest" = "largest"): number[] {
  const indices = Array.from(values.keys());
  return order === "largest"
    ? indices.filter((index) => values[index]! > 0).sort((a, b) => values[b]! - values[a]!)
    : indices.sort((a, b) => values[a]! - values[b]!);
}

function divide(
  dividends: Float64Array | undefined,
  divisors: Float64Array | undefined,
): Float64Array | undefined {
  return (
    divisors && dividends?.map((dividend, index) => (divisors[index] === 0 ? 0 : dividend / divisors[index]!))
  );
}
