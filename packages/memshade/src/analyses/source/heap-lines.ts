import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../model/indices.ts";
import { siteFrameOfContext } from "../../model/site-frame.ts";
import { SourceSums, type SourceTable } from "./source-table.ts";

/** The source lines that allocate, by bytes. `liveBytes` were never released. */
export function heapLines(profile: HeapProfile): SourceTable {
  const { contexts, frames, strings } = profile;
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
        bytes: Number(contexts.mibs.totalSize[row]),
        blocks: Number(contexts.mibs.allocCount[row]),
        accesses: Number(contexts.mibs.totalAccessCount[row]),
        liveBytes: contexts.site?.liveBytes[row],
      },
    );
  }
  return sums.byFirst();
}
