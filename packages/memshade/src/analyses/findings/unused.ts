import type { HeapProfile } from "../../model/heap-profile.ts";
import type { BlockMeasure } from "../block-measure.ts";
import { heapTotals } from "../totals.ts";
import { neverAccessed, writtenNeverRead } from "../unused-blocks.ts";
import { MOST_SHARE } from "../waste/waste-finding.ts";
import type { NeverReadFinding, UnusedFinding } from "./finding.ts";
import { blocksBySite, LEAST_BYTES } from "./heap-blocks.ts";

/**
 * Places of which nearly all blocks were never accessed, or written and never read: some entries of a table that nobody asks for
 * are how tables work. Where it is not known what the host reads, blocks that are
 * written may be for the host, and those that the host asks for may be for itself.
 */
export function unusedFindings(profile: HeapProfile): (UnusedFinding | NeverReadFinding)[] {
  const { counters, knownHost } = profile.description;
  if (counters === "none") return [];
  const unused = findingsOf(profile, "unused", neverAccessed(profile));
  if (knownHost !== true) return unused.filter(({ place }) => place.path[0]!.address !== undefined);
  return [...unused, ...findingsOf(profile, "never-read", writtenNeverRead(profile))];
}

function findingsOf<Kind extends "unused" | "never-read">(
  profile: HeapProfile,
  kind: Kind,
  found: BlockMeasure | undefined,
) {
  const { allocatedBytes } = heapTotals(profile);
  if (found === undefined || allocatedBytes === 0) return [];
  return blocksBySite(profile, found)
    .filter(({ blocks, bytes, allocated }) => bytes >= LEAST_BYTES && blocks >= MOST_SHARE * allocated)
    .map(({ place, blocks, bytes, allocated }) => ({
      kind,
      tool: "heap" as const,
      place,
      amount: bytes,
      unit: "bytes" as const,
      part: bytes / allocatedBytes,
      blocks,
      allocated,
    }));
}
