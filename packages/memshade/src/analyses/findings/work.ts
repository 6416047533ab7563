import type { HeapProfile } from "../../model/heap-profile.ts";
import { heapTotals } from "../totals.ts";

/**
 * Memory accesses that a `malloc` and its `free` make, about: dlmalloc makes 30 to 60 of them, and what else it executes takes as long
 * again.
 */
export const ACCESSES_PER_BLOCK = 50;

/** The memory accesses that a program makes, those of its allocator among them; undefined where none were counted. */
export function accessesOf(profile: HeapProfile): number | undefined {
  const { totals, counters } = profile.description;
  if (totals === undefined || counters === "none") return undefined;
  const { allocations, heapAccesses } = heapTotals(profile);
  return heapAccesses + totals.otherAccesses + allocations * ACCESSES_PER_BLOCK;
}
