import type { WasteFile, WasteIp, WasteValue } from "../../model/waste/waste.ts";

export const WASTE_KEYS = ["dead", "silent", "redundant"] as const;
export type WasteKey = (typeof WASTE_KEYS)[number];

/** A site with its waste. */
export interface RankedWaste {
  ips: readonly WasteIp[];
  /** Bytes overwritten before anything read them; silent stores; redundant (or, without `--pairs`, silent) loads. */
  value: number;
  /** Bytes written; stores; loads. */
  whole: number;
  operations: number;
  /** Of loads, with `--pairs` and the like: the commonest values that came again, and the part of loaded bytes that is 0. */
  values?: readonly WasteValue[] | undefined;
  zeroPart?: number | undefined;
}

/** Sites by one kind of waste, those without any left out. */
export function rankWaste(file: WasteFile, by: WasteKey, order: "largest" | "smallest"): RankedWaste[] {
  const rows: RankedWaste[] =
    by === "redundant"
      ? file.loads.map((load) => ({
          ips: load.ips,
          value: load.nof_redundant ?? load.nof_silent,
          whole: load.nof_loads,
          operations: load.nof_loads,
          ...(load.values === undefined ? {} : { values: load.values }),
          ...(load.bytes_zero === undefined || load.bytes_loaded === 0
            ? {}
            : { zeroPart: load.bytes_zero / load.bytes_loaded }),
        }))
      : file.stores.map((store) => ({
          ips: store.ips,
          value: by === "dead" ? store.dead_overwritten : store.nof_silent,
          whole: by === "dead" ? store.bytes_written : store.nof_stores,
          operations: store.nof_stores,
        }));
  const sign = order === "largest" ? -1 : 1;
  return rows.filter(({ value }) => value > 0).sort((a, b) => sign * (a.value - b.value));
}
