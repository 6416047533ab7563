import type { Metric, MetricKey } from "../../../analyses/metrics.ts";
import type { Clock } from "../../../model/run.ts";
import { clockUnit, formatBytes, formatCount, formatLifetime, formatMean } from "../../format.ts";

/** Heads of columns with metrics. */
export const HEADS: { readonly [Key in MetricKey]: string } = {
  bytes: "BYTES",
  peak: "PEAK",
  live: "LIVE",
  lost: "LOST",
  count: "BLOCKS",
  accesses: "ACCESSES",
  density: "ACC/B",
  lifetime: "LIFETIME",
  temporary: "TEMPORARY",
  copied: "COPIED",
  spare: "SPARE",
};

/** Whether the unit of the virtual clock stands behind each lifetime, or elsewhere: see {@link unitOf}. */
type PlaceOfUnit = "behind" | "elsewhere";

/** The unit of a metric's values in brackets, where these are lifetimes on a virtual clock; else nothing. */
export function unitOf({ unit }: Metric, clock: Clock): string {
  return unit === "clock" && clock.kind === "virtual" ? ` (${clockUnit(clock)})` : "";
}

/** How values of a metric are written. */
export function formatterOf(
  metric: Metric,
  clock: Clock,
  place: PlaceOfUnit = "behind",
): (value: number) => string {
  switch (metric.unit) {
    case "bytes":
      return formatBytes;
    case "count":
      return formatCount;
    case "accessesPerByte":
      return formatMean;
    case "clock":
      if (place === "elsewhere" && clock.kind === "virtual") return formatMean;
      return (value) => formatLifetime(value, clock);
    default:
      throw new RangeError(`no such unit: ${metric.unit satisfies never}`);
  }
}
