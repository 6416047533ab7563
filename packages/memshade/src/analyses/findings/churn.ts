import type { HeapProfile } from "../../model/heap-profile.ts";
import { temporaryBlocks } from "../temporary.ts";
import { heapTotals } from "../totals.ts";
import type { ChurnFinding } from "./finding.ts";
import { blocksBySite } from "./heap-blocks.ts";

/**
 * Memory accesses that a `malloc` and its `free` make, about: dlmalloc makes 30 to 60 of them, and what else it executes takes as long
 * again.
 */
const ACCESSES_PER_BLOCK = 50;

/** Of a place's blocks, the part from which on it is one that makes temporary blocks. */
const MOST = 0.5;

/**
 * Places that keep making blocks which are freed before the next one is made. Their part is that of the program's memory accesses which
 * the allocator makes for them: where little is allocated beside much other work, it is none that matters.
 */
export function churnFindings(profile: HeapProfile): ChurnFinding[] {
  const { clock, totals, counters } = profile.description;
  if (clock.kind !== "virtual" || totals === undefined || counters === "none") return [];
  const { allocations, heapAccesses } = heapTotals(profile);
  const work = heapAccesses + totals.otherAccesses + allocations * ACCESSES_PER_BLOCK;
  return blocksBySite(profile, temporaryBlocks(profile))
    .filter(({ blocks, allocated }) => blocks > 1 && blocks >= MOST * allocated)
    .map(({ place, blocks, allocated }) => ({
      kind: "churn",
      tool: "heap",
      place,
      amount: blocks,
      unit: "blocks",
      part: (blocks * ACCESSES_PER_BLOCK) / work,
      blocks,
      allocated,
    }));
}
