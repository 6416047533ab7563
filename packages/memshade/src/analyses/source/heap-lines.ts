import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../model/indices.ts";
import { knowsField, siteColumn } from "../../model/known-fields.ts";
import type { Mib } from "../../model/mib.ts";
import { siteFrameOfContext } from "../../model/site-frame.ts";
import { SourceSums, type SourceTable } from "./source-table.ts";

/** The source lines that allocate, by bytes. `liveBytes` were never released. */
export function heapLines(profile: HeapProfile): SourceTable {
  const { contexts, frames, strings } = profile;
  const live = siteColumn(profile, "liveBytes");
  const isKnownOfImport = (field: keyof Mib) =>
    profile.description.importedFrom === undefined || knowsField(profile, field);
  const sums = new SourceSums("heap", [
    { key: "bytes", head: "BYTES", unit: "bytes" },
    { key: "blocks", head: "BLOCKS", unit: "count" },
    { key: "accesses", head: "ACCESSES", unit: "count" },
    { key: "liveBytes", unit: "bytes" },
  ]);
  for (let row = 0; row < contexts.length; row++) {
    const frame = siteFrameOfContext(profile, row as IndexIntoContextTable);
    if (frame === undefined || frames.file[frame] === NONE) continue;
    sums.add(
      { file: strings[frames.file[frame]!]!, line: frames.line[frame]! },
      {
        bytes: isKnownOfImport("totalSize") ? Number(contexts.mibs.totalSize[row]) : undefined,
        blocks: isKnownOfImport("allocCount") ? contexts.mibs.allocCount[row] : undefined,
        accesses: isKnownOfImport("totalAccessCount")
          ? Number(contexts.mibs.totalAccessCount[row])
          : undefined,
        liveBytes: live?.[row],
      },
    );
  }
  return sums.byFirst();
}
