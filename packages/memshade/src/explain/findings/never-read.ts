import { formatBytes, formatCount } from "../../profile/model/format.ts";
import { writtenNeverRead } from "../analyses/unused-blocks.ts";
import {
  type FindingKind,
  type Found,
  LEAST_COMMON_PART,
  OF_ALLOCATED,
  OF_MOVED_OR_ALLOCATED,
} from "./finding-kind.ts";
import { blocksSentence, inModule, LEAST_BYTES, mostlyInVain } from "./heap-blocks.ts";
import { areBlocksUnread } from "./waste/members.ts";
import { PLAIN, type WasteFinding } from "./waste/waste-finding.ts";
import { blocksOf, locationText } from "./waste/waste-words.ts";

/** Blocks that were written and never read. */
export interface NeverReadFinding extends Found<"never-read", "heap" | "waste"> {
  /** Blocks concerned. */
  readonly blocks: number;
  /** All blocks that the site allocated. */
  readonly allocated: number;
}

/** Least part of a site's blocks: above it, most of the work that fills them is in vain. */
const MOST = 1 / 2;

export const neverRead: FindingKind<NeverReadFinding> = {
  kind: "never-read",
  also: ["written but never read", "unread"],
  meaning: "Blocks that the program writes and never reads: making their content is wasted work.",
  advice: "Do not make the blocks, or fill them only when their content is needed.",
  more: "concepts.md#unused-blocks",
  sources: ["use", "waste"],
  // If the host's reads are unknown, written blocks may be meant for it.
  find: inModule((heap) =>
    heap.description.knownHost === true ? mostlyInVain(heap, "never-read", writtenNeverRead(heap), MOST) : [],
  ),
  waste: {
    ofBlocks(site) {
      // Bytes of a block that were never stored to cost no work.
      const bytes = Math.min(site.unread_bytes, site.never_read);
      if (!areBlocksUnread(site) || bytes < LEAST_BYTES) return [];
      return [
        {
          ...PLAIN,
          ips: site.ips,
          operations: site.blocks,
          kind: neverRead.kind,
          bytes,
          wasted: site.unread_blocks,
          share: bytes / site.bytes,
          object: { site, fields: [] },
        },
      ];
    },
    part: (bytes, { moved, allocated }) => Math.max(bytes / moved, bytes / allocated),
    facts: ({ wasted = 0, operations }) => ({ blocks: wasted, allocated: operations }),
    inWords: (found) =>
      `${whichBlocks(found)} from ${locationText(found)} ${found.wasted === 1 ? "is" : "are"} stored to and never read: ${formatBytes(found.bytes)}.`,
    advice: ({ wasted }) =>
      wasted === 1 ? "Do not make the block, or fill it only when its content is needed." : neverRead.advice,
    rows: ["blocks"],
    whole: OF_MOVED_OR_ALLOCATED,
    weight: "stored-unread",
  },
  leastPart: LEAST_COMMON_PART,
  ofBlocks: { after: "unused" },
  sums: ["blocks", "allocated"],
  sentence: (finding) => blocksSentence(finding, "written but never read", "never read"),
  whole: OF_ALLOCATED,
  weight: "unread",
  treeWeights: ["unread", "stored-unread", "bytes", "dead-ended"],
};

function whichBlocks({ object, wasted = 0, operations }: WasteFinding): string {
  const { site } = object!;
  if (wasted !== operations) return `${formatCount(wasted)} of the ${blocksOf(site)}`;
  if (wasted === 1) return `The block of ${formatCount(site.size)} bytes`;
  return wasted === 2 ? `Both ${blocksOf(site).replace("2 ", "")}` : `All ${blocksOf(site)}`;
}
