import type { HeapProfile } from "../../model/heap-profile.ts";
import { siteColumn } from "../../model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "../block-measure.ts";

/**
 * Blocks that were live at the end of the run. Undefined where the profile does not know: a MIB does not
 * tell a block that was freed from one that was live when the profile was written.
 */
export function leaks(profile: HeapProfile): BlockMeasure | undefined {
  const [blocks, bytes] = [siteColumn(profile, "liveBlocks"), siteColumn(profile, "liveBytes")];
  return blocks && bytes && blockMeasure(blocks, bytes);
}

/** Blocks that were live when the whole heap was largest. Undefined where the profile does not know. */
export function liveAtPeak(profile: HeapProfile): BlockMeasure | undefined {
  const [blocks, bytes] = [siteColumn(profile, "peakBlocks"), siteColumn(profile, "peakBytes")];
  return blocks && bytes && blockMeasure(blocks, bytes);
}
