import { functionGuid } from "../../formats/memprof/index.ts";
import type { WasteIp } from "../../model/waste/waste.ts";
import { loadWaste } from "../../runs/waste.ts";
import { loadWorkingSet } from "../../runs/working-set.ts";
import type { StoredFrame, StoredWaste } from "../stored-run.ts";

/** Places where something was stored or loaded for nothing, and all bytes that were overwritten unread. */
export function wasteOf(folder: string): { readonly rows: readonly StoredWaste[]; readonly bytes: number } {
  const waste = loadWaste(folder);
  if (waste === undefined) return { rows: [], bytes: 0 };
  const rows = [
    ...waste.stores.flatMap(({ ips, dead_overwritten, bytes_silent, nof_silent, nof_stores }) => [
      row("dead", ips, dead_overwritten, nof_stores),
      row("silent", ips, bytes_silent, nof_silent),
    ]),
    ...waste.loads.map(({ ips, bytes_redundant = 0, nof_redundant = 0 }) =>
      row("redundant", ips, bytes_redundant, nof_redundant),
    ),
    ...(waste.blocks ?? []).map(({ ips, unread_bytes, unread_blocks }) =>
      row("unread-blocks", ips, unread_bytes, unread_blocks),
    ),
    ...(waste.blocks ?? []).map(({ ips, never_read, blocks }) => row("never-read", ips, never_read, blocks)),
  ];
  return { rows: rows.filter(({ bytes }) => bytes > 0), bytes: waste.totals.deadOverwritten };
}

function row(kind: string, ips: readonly WasteIp[], bytes: number, count: number): StoredWaste {
  return { kind, place: frameOf(ips[0]!), bytes, count };
}

function frameOf({
  function: name = "",
  file,
  line = 0,
  startLine = 0,
  address,
  module = "",
}: WasteIp): StoredFrame {
  const isPlaced = line !== 0;
  return {
    guid: functionGuid(name),
    lineOffset: isPlaced ? Math.max(0, line - startLine) : address % 2 ** 32,
    column: 0,
    inline: false,
    name,
    file,
    line,
    ...(isPlaced ? {} : { place: { buildId: module, offset: address % 2 ** 32 } }),
  };
}

/** The working set of all instances, one after the other, at the finest scale. */
export function workingSetOf(folder: string): {
  readonly rows: readonly { readonly start: number; readonly accesses: number; readonly bytes: number }[];
  readonly largest: number;
} {
  const { instances, lineBytes } = loadWorkingSet(folder);
  const rows = instances.flatMap(({ levels: [finest] }) =>
    finest === undefined
      ? []
      : finest.start.map((start, index) => ({
          start,
          accesses: finest.end[index]! - start,
          bytes: (finest.counts.lines?.[index] ?? 0) * lineBytes,
        })),
  );
  return { rows, largest: rows.reduce((most, { bytes }) => Math.max(most, bytes), 0) };
}
