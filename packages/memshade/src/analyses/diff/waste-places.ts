import type { WasteFile } from "../../model/waste/waste.ts";
import { WASTE_METRICS, wastePlaces } from "../call-tree/waste-stacks.ts";
import type { GroupBy } from "../groups.ts";
import { type PlaceMetric, PlaceSums, type PlaceTable } from "./place-diff.ts";

export const WASTE_DIFF_KEYS = WASTE_METRICS.map(({ key }) => key);

/**
 * The places of runs that store and load in vain. What redundant loads are depends on how a run was recorded, and of runs with calling
 * contexts only the places are compared where others have none.
 */
export function wasteTables(files: readonly WasteFile[], group: GroupBy): PlaceTable[] {
  const areAlike = new Set(files.map(({ options }) => options.engine)).size === 1;
  const haveContexts = files.every(({ options }) => options.contexts);
  const metrics = WASTE_METRICS.filter(({ key }) => areAlike || key !== "redundant").map(
    (metric): PlaceMetric => ({
      ...metric,
      unit: metric.unit === "bytes" ? "bytes" : "count",
      combine: "sum",
    }),
  );
  return files.map((file) => {
    const sums = new PlaceSums("waste", metrics, group);
    for (const { path, values } of wastePlaces(haveContexts ? file : withoutCallers(file)))
      sums.add(path, values);
    return sums.table();
  });
}

function withoutCallers(file: WasteFile): WasteFile {
  const innermost = <Row extends WasteFile["stores"][number] | WasteFile["loads"][number]>(
    rows: Row[],
  ): Row[] => rows.map((row) => ({ ...row, ips: row.ips.slice(0, 1) }));
  return { ...file, stores: innermost(file.stores), loads: innermost(file.loads) };
}
