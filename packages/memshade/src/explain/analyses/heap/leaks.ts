import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { siteColumn } from "../../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "../block-measure.ts";

/**
 * Blocks that were live at the end of the run. Undefined where the profile does not know: a MIB does not
 * tell a block that was freed from one that was live when the profile was written.
 */
export function leaks(profile: HeapProfile): BlockMeasure | undefined {
  return measureOf(siteColumn(profile, "liveBlocks"), siteColumn(profile, "liveBytes"));
}

/** Blocks that were live when the whole heap was largest. Undefined where the profile does not know. */
export function liveAtPeak(profile: HeapProfile): BlockMeasure | undefined {
  return measureOf(siteColumn(profile, "peakBlocks"), siteColumn(profile, "peakBytes"));
}

function measureOf(
  blocks: Float64Array | undefined,
  bytes: Float64Array | undefined,
): BlockMeasure | undefined {
  if (bytes === undefined || blocks !== undefined) return bytes && blockMeasure(blocks!, bytes);
  return { ...blockMeasure(new Float64Array(bytes.length), bytes), lacksBlocks: true };
}
