import { counted } from "../../profile/model/counted.ts";
import { formatBytes, formatCount, plural } from "../../profile/model/format.ts";
import { type FindingKind, type Found, LEAST_PART, OF_MOVED } from "./finding-kind.ts";
import { PLAIN } from "./waste/waste-finding.ts";
import { locationText } from "./waste/waste-words.ts";

/** Blocks that grow in small steps, so that they are copied again and again. */
export interface MovedFinding extends Found<"moved", "waste"> {
  /** Moves of blocks. */
  readonly moves: number;
}

/** Least copied bytes per byte of growth; growth by half at a time copies about two. */
const USUAL_COPIES = 4;

export const moved: FindingKind<MovedFinding> = {
  kind: "moved",
  meaning: "Blocks that realloc copies again and again because they grow in small steps.",
  advice: "Grow the block by half at a time, or allocate its final size at once.",
  more: "tools/waste.md#reports",
  sources: ["waste"],
  waste: {
    ofReallocations: ({ ips, calls, grown, moves, moved: bytes }) =>
      moves < 2 || bytes <= USUAL_COPIES * grown
        ? []
        : [
            {
              ...PLAIN,
              kind: moved.kind,
              ips,
              bytes,
              operations: calls,
              wasted: moves,
              share: moves / calls,
            },
          ],
    part: (bytes, wholes) => bytes / wholes.moved,
    facts: ({ wasted = 0 }) => ({ moves: wasted }),
    // The heap's record has the growth of all blocks, and not only of those that move.
    isReported: ({ heap }) =>
      heap?.description.totals?.growth === undefined || heap.description.counters === "none",
    inWords: (found) =>
      `${formatCount(found.wasted ?? 0)} of the ${formatCount(found.operations)} reallocations of ${locationText(found)} move their block: ${formatBytes(found.bytes)} are copied to where there is more room.`,
    advice: () => moved.advice,
    rows: ["reallocations"],
  },
  leastPart: LEAST_PART,
  sums: ["moves"],
  sentence: ({ moves }) => ({
    before: "copied by",
    after: `as realloc moves blocks ${counted(moves, "time", "times")}`,
    shortAfter: `in ${plural(moves, "move")}`,
  }),
  whole: OF_MOVED,
  weight: "moved-bytes",
  treeWeights: ["moved-bytes", "written"],
};
