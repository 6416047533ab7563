import type { StackMetric } from "../../../analyses/call-tree/weighted-stacks.ts";
import { formatBytes, formatCount, formatLifetime } from "../../format.ts";

/** How values of a metric of call paths are written. */
export function stackFormat({ unit }: StackMetric): (value: number) => string {
  switch (unit) {
    case "bytes":
      return formatBytes;
    case "count":
      return formatCount;
    case "nanoseconds":
      return (value) => formatLifetime(value / 1e6, { kind: "wall", unit: "ms" });
    default:
      throw new RangeError(`no such unit: ${unit satisfies never}`);
  }
}
