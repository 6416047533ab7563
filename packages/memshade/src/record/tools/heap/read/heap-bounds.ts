import { BLOCK_FIGURES, type Bound, unseenBounds } from "../../../../profile/model/bound.ts";
import { counted } from "../../../../profile/model/counted.ts";
import type { ShadowTotals } from "./read-shadow.ts";

/**
 * Returns which figures of the heap are bounds instead of exact counts. Full tables are reported by
 * `heap.overflow` instead.
 */
export function boundsOfBlocks(instances: readonly ShadowTotals[]): Bound[] {
  const sum = (field: keyof ShadowTotals): number =>
    instances.reduce((total, instance) => total + instance[field], 0);
  const [meanwhile, unmatched, overlaps] = [sum("meanwhile"), sum("unmatchedFrees"), sum("overlaps")];
  const [outside, nearlyFull] = [sum("outside"), sum("nearlyFullCounters")];
  const bounds: Bound[] = [];
  if (meanwhile > 0)
    bounds.push({
      figures: BLOCK_FIGURES,
      are: "either",
      because: `${counted(meanwhile, "allocation was", "allocations were")} made while the profile was read`,
    });
  if (unmatched > 0)
    bounds.push({
      figures: ["allocated", "peak", "accesses"],
      are: "least",
      because: `${counted(unmatched, "block was freed", "blocks were freed")} whose allocation was not recorded`,
    });
  if (overlaps > 0)
    bounds.push({
      figures: ["peak", "left", "lost", "lives", "unused"],
      are: "either",
      because: `${counted(overlaps, "block was", "blocks were")} handed out over live ones, whose release was not recorded`,
    });
  if (outside > 0)
    bounds.push(
      ...unseenBounds(
        `${counted(outside, "block was", "blocks were")} outside the recorded memory`,
        BLOCK_FIGURES.filter((figure) => figure !== "allocated"),
      ),
    );
  if (nearlyFull > 0)
    bounds.push({
      figures: ["accesses"],
      are: "least",
      because: "counters of accesses may have wrapped",
    });
  if (instances.length > 1 && sum("peakBytes") > Math.max(...instances.map(({ peakBytes }) => peakBytes)))
    bounds.push({
      figures: ["peak"],
      are: "most",
      because: `the peak is the sum of the peaks of ${instances.length} instances, which may have been at different times`,
    });
  return bounds;
}
