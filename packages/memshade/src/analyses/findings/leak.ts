import type { HeapProfile } from "../../model/heap-profile.ts";
import { leaks } from "../leaks.ts";
import type { LeakFinding } from "./finding.ts";
import { blocksBySite } from "./heap-blocks.ts";

/** Places of which several blocks were live at the end: what a program has one of may live as long as that. */
export function leakFindings(profile: HeapProfile): LeakFinding[] {
  const found = leaks(profile);
  const { peakBytes } = profile.description.totals ?? {};
  if (found === undefined || peakBytes === undefined || peakBytes === 0) return [];
  return blocksBySite(profile, found)
    .filter(({ blocks }) => blocks > 1)
    .map(({ place, blocks, bytes, allocated }) => ({
      kind: "leak",
      tool: "heap",
      place,
      amount: bytes,
      unit: "bytes",
      part: bytes / peakBytes,
      blocks,
      allocated,
    }));
}
