import type { HeapProfile } from "../model/heap-profile.ts";
import { knowsField, siteColumn } from "../model/known-fields.ts";
import { type ContextGroups, groupContexts, sumByGroup } from "./groups.ts";
import { copiedBytes, spareBytes } from "./growth.ts";
import { reachOf } from "./live-blocks.ts";
import { temporaryBlocks } from "./temporary.ts";

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

/** One value per group; undefined where the profile does not know (peak and live without a run, fields it lacks). */
export function measureGroups(
  profile: HeapProfile,
  groups: ContextGroups,
  key: MetricKey,
): Float64Array | undefined {
  const { mibs, site } = profile.contexts;
  const known = (field: "allocCount" | "totalSize" | "totalLifetime" | "totalAccessCount") =>
    knowsField(profile, field) ? sum(mibs[field]) : undefined;
  const sum = (column: ArrayLike<number> | ArrayLike<bigint>) => sumByGroup(groups, column);
  const sumOrNone = (column: Float64Array | undefined) => column && sum(column);
  switch (key) {
    case "bytes":
      return known("totalSize");
    case "peak":
      return sumOrNone(siteColumn(profile, "peakBytes"));
    case "live":
      return sumOrNone(siteColumn(profile, "liveBytes"));
    case "lost":
      return site && reachOf(profile) && sum(site.lostBytes.map((b, i) => b + site.indirectlyLostBytes[i]!));
    case "count":
      return known("allocCount");
    case "accesses":
      return known("totalAccessCount");
    case "density":
      return divide(known("totalAccessCount"), known("totalSize"));
    case "lifetime":
      return divide(known("totalLifetime"), known("allocCount"));
    case "temporary":
      return sumOrNone(temporaryBlocks(profile)?.blocks);
    case "copied":
      return sumOrNone(copiedBytes(profile));
    case "spare":
      return sumOrNone(spareBytes(profile));
    default:
      throw new RangeError(`no such metric: ${key satisfies never}`);
  }
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
