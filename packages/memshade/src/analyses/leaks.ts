import type { HeapProfile } from "../model/heap-profile.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";

/**
 * Blocks that were live at the end of the run. Undefined where the profile does not know: a MIB does not
 * tell a block that was freed from one that was live when the profile was written.
 */
export function leaks(profile: HeapProfile): BlockMeasure | undefined {
  const { site } = profile.contexts;
  return site && blockMeasure(site.liveBlocks, site.liveBytes);
}

/** Blocks that were live when the whole heap was largest. Undefined where the profile does not know. */
export function liveAtPeak(profile: HeapProfile): BlockMeasure | undefined {
  const { site } = profile.contexts;
  return site && blockMeasure(site.peakBlocks, site.peakBytes);
}
