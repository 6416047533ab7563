import type { WasteFile, WasteFrame, WasteIp } from "../../model/waste/waste.ts";
import { fromOwn } from "../frames/own-place.ts";
import { SourceSums, type SourceTable } from "./source-table.ts";

/**
 * The source lines whose stores and loads are in vain: bytes overwritten unread, stores of what is there, loads of what was loaded.
 * What a library does counts at the program's line that called it, where calling contexts were recorded.
 */
export function wasteLines({ stores, loads }: WasteFile): SourceTable {
  const sums = new SourceSums("waste", [
    { key: "deadBytes", head: "DEAD", unit: "bytes" },
    { key: "silentStores", head: "SILENT", unit: "count" },
    { key: "redundantLoads", head: "REDUNDANT", unit: "count" },
    { key: "bytesWritten", unit: "bytes" },
    { key: "stores", unit: "count" },
    { key: "loads", unit: "count" },
  ]);
  for (const { ips, dead_overwritten: deadBytes, nof_silent, bytes_written, nof_stores } of stores) {
    const values = { deadBytes, silentStores: nof_silent };
    if (deadBytes + nof_silent > 0)
      sums.add(ownLine(ips), { ...values, bytesWritten: bytes_written, stores: nof_stores });
  }
  for (const { ips, nof_silent, nof_redundant = nof_silent, nof_loads } of loads)
    if (nof_redundant > 0) sums.add(ownLine(ips), { redundantLoads: nof_redundant, loads: nof_loads });
  return sums.byPart();
}

function ownLine(ips: readonly WasteIp[]): WasteFrame {
  return fromOwn<WasteFrame>(ips.flatMap((ip) => [ip, ...(ip.inlined ?? [])])).stack[0] ?? {};
}
