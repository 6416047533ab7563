import type { HeapProfile } from "../../model/heap-profile.ts";
import { ACCESSES_PER_BLOCK } from "../../model/over-time/drag.ts";
import { heapTotals } from "../totals.ts";

/** The memory accesses that a program makes, those of its allocator among them; undefined where none were counted. */
export function accessesOf(profile: HeapProfile): number | undefined {
  const { totals, counters } = profile.description;
  if (totals?.otherAccesses === undefined || counters === "none") return undefined;
  const { allocations, heapAccesses } = heapTotals(profile);
  return heapAccesses + totals.otherAccesses + allocations * ACCESSES_PER_BLOCK;
}
