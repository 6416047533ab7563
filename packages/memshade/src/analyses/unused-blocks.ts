import type { HeapProfile } from "../model/heap-profile.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";

/**
 * Blocks that nobody read or wrote. Without the run's own count, only contexts with no access at all are
 * certain, so the result is a lower bound.
 */
export function neverAccessed(profile: HeapProfile): BlockMeasure {
  const { site, mibs, length } = profile.contexts;
  if (site !== undefined) {
    return blockMeasure(site.neverAccessed, site.neverAccessedBytes);
  }
  const blocks = new Float64Array(length);
  const bytes = new Float64Array(length);
  if (profile.description.unknownFields?.includes("maxAccessCount")) return blockMeasure(blocks, bytes, true);
  for (let context = 0; context < length; context++) {
    if (mibs.maxAccessCount[context] === 0n) {
      blocks[context] = mibs.allocCount[context]!;
      bytes[context] = Number(mibs.totalSize[context]);
    }
  }
  return blockMeasure(blocks, bytes, true);
}

/** Blocks that were written but never read. Undefined where reads and writes were not told apart. */
export function writtenNeverRead(profile: HeapProfile): BlockMeasure | undefined {
  const { site } = profile.contexts;
  return site && blockMeasure(site.writtenNeverRead, site.writtenNeverReadBytes);
}
