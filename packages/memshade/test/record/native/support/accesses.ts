import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { runIn } from "./record.ts";

export function accessesBySize(folder: string): Map<number, { blocks: number; accesses: number }> {
  const { contexts } = readRaw(readFileSync(join(folder, runIn(folder).files.heap!)));
  const all = new Map<number, { blocks: number; accesses: number }>();
  for (const { mib } of contexts) {
    const { blocks = 0, accesses = 0 } = all.get(mib.minSize) ?? {};
    all.set(mib.minSize, {
      blocks: blocks + mib.allocCount,
      accesses: accesses + Number(mib.totalAccessCount),
    });
  }
  return all;
}
