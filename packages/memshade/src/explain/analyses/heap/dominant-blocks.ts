import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { siteColumn } from "../../../profile/model/known-fields.ts";

/** The fewest blocks that were more than half of the heap when it was largest. */
export interface DominantBlocks {
  readonly blocks: number;
  readonly bytes: number;
  /** All that was live then. */
  readonly peakBlocks: number;
  readonly peakBytes: number;
}

/** Blocks of one context count with their mean size. Undefined where the profile does not know its peak, or has none. */
export function dominantBlocks(profile: HeapProfile): DominantBlocks | undefined {
  const { contexts } = profile;
  const [allBlocks, allBytes] = [siteColumn(profile, "peakBlocks"), siteColumn(profile, "peakBytes")];
  if (allBlocks === undefined || allBytes === undefined) return undefined;
  const groups = Array.from({ length: contexts.length }, (_, row) => ({
    blocks: allBlocks[row],
    size: allBytes[row] / allBlocks[row],
  })).filter(({ blocks }) => blocks > 0);
  const peakBytes = groups.reduce((sum, { blocks, size }) => sum + blocks * size, 0);
  const peakBlocks = groups.reduce((sum, { blocks }) => sum + blocks, 0);
  groups.sort((a, b) => b.size - a.size);
  const found = { blocks: 0, bytes: 0 };
  for (const { blocks, size } of groups) {
    const missing = Math.floor((peakBytes / 2 - found.bytes) / size) + 1;
    const taken = Math.min(blocks, missing);
    found.blocks += taken;
    found.bytes += taken * size;
    if (taken < blocks || found.bytes > peakBytes / 2) return { ...found, peakBlocks, peakBytes };
  }
  return undefined;
}
