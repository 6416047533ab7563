import type { Metric, MetricKey } from "../../../analyses/metrics.ts";
import type { Clock } from "../../../model/run.ts";
import { formatBytes, formatCount, formatLifetime, formatMean } from "../../format.ts";

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

/** How values of a metric are written. */
export function formatterOf(metric: Metric, clock: Clock): (value: number) => string {
  switch (metric.unit) {
    case "bytes":
      return formatBytes;
    case "count":
      return formatCount;
    case "accessesPerByte":
      return formatMean;
    case "clock":
      return (value) => formatLifetime(value, clock);
    default:
      throw new RangeError(`no such unit: ${metric.unit satisfies never}`);
  }
}
