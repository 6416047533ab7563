import type { WasteFile, WasteIp } from "../../model/waste/waste.ts";
import type { PlaceFrame } from "../findings/finding.ts";
import { fromOwn, type JudgedFrame } from "../frames/own-place.ts";
import type { GroupBy } from "../groups.ts";
import { type PlaceMetric, PlaceSums, type PlaceTable } from "./place-diff.ts";

const sum = (key: string, title: string, head: string, unit: "bytes" | "count" = "count"): PlaceMetric => ({
  ...{ key, title, head, unit },
  combine: "sum",
});

const METRICS: readonly PlaceMetric[] = [
  sum("dead", "dead bytes", "DEAD", "bytes"),
  sum("silent", "silent stores", "SILENT"),
  sum("redundant", "redundant loads", "REDUNDANT"),
  sum("written", "bytes written", "WRITTEN", "bytes"),
  sum("stores", "stores", "STORES"),
  sum("loads", "loads", "LOADS"),
];

export const WASTE_DIFF_KEYS = METRICS.map(({ key }) => key);

/** The places of two runs that store and load in vain. What redundant loads are depends on how a run was recorded. */
export function wasteTables(
  older: WasteFile,
  newer: WasteFile,
  group: GroupBy,
): { old: PlaceTable; new: PlaceTable } {
  const areAlike = older.options.engine === newer.options.engine;
  return { old: wastePlaces(older, group, areAlike), new: wastePlaces(newer, group, areAlike) };
}

function wastePlaces({ stores, loads }: WasteFile, group: GroupBy, withRedundant: boolean): PlaceTable {
  const metrics = METRICS.filter(({ key }) => withRedundant || key !== "redundant");
  const sums = new PlaceSums("waste", metrics, group);
  for (const { ips, bytes_dead: dead, nof_silent: silent, bytes_written: written, nof_stores } of stores)
    sums.add(pathOf(ips), { dead, silent, written, stores: nof_stores });
  for (const { ips, nof_silent, nof_redundant: redundant = nof_silent, nof_loads } of loads)
    sums.add(pathOf(ips), { redundant, loads: nof_loads });
  return sums.table();
}

function pathOf(ips: readonly WasteIp[]): readonly PlaceFrame[] {
  const frames = ips.flatMap((ip): (PlaceFrame & JudgedFrame)[] => [
    ip,
    ...(ip.inlined ?? []).map((frame) => ({ ...frame, module: ip.module, address: ip.address })),
  ]);
  return fromOwn(frames).stack;
}
