import { neverAccessed } from "../analyses/unused-blocks.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_ALLOCATED } from "./finding-kind.ts";
import { blocksSentence, inModule, mostlyInVain } from "./heap-blocks.ts";

/** Blocks that were neither read nor written. */
export interface UnusedFinding extends Found<"unused", "heap"> {
  /** Blocks concerned. */
  readonly blocks: number;
  /** All blocks that the site allocated. */
  readonly allocated: number;
}

export const unused: FindingKind<UnusedFinding> = {
  kind: "unused",
  also: ["never accessed"],
  meaning:
    "Blocks that no instruction of the program reads or writes between their allocation and their release.",
  advice: "Allocate the blocks at their first use, or not at all.",
  more: "concepts.md#unused-blocks",
  sources: ["use"],
  find: inModule((heap) => mostlyInVain(heap, "unused", neverAccessed(heap))),
  leastPart: LEAST_COMMON_PART,
  ofBlocks: { after: "leak" },
  sums: ["blocks", "allocated"],
  sentence: (finding) => blocksSentence(finding, "never used"),
  whole: OF_ALLOCATED,
  weight: "unaccessed",
  treeWeights: ["unaccessed", "bytes"],
};
