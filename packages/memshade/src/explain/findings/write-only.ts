import { formatBytes } from "../../profile/model/format.ts";
import type { WasteStore } from "../../profile/model/waste.ts";
import {
  type FindingKind,
  type Found,
  LEAST_COMMON_PART,
  OF_MOVED_OR_ALLOCATED,
  type WasteSearch,
} from "./finding-kind.ts";
import {
  areBlocksUnread,
  areRecords,
  dropMembers,
  isOfLibrary,
  type MembersFacts,
  membersFacts,
  membersInWords,
  membersSentence,
  sizeOf,
} from "./waste/members.ts";
import { PLAIN, storeShape, type WasteFinding } from "./waste/waste-finding.ts";
import { locationText } from "./waste/waste-words.ts";

/** Members of blocks that are stored to and never read. Without members: the bytes that `place` stores to blocks. */
export type WriteOnlyFinding = Found<"write-only", "waste"> & MembersFacts;

/** Least part of a place's stored bytes: above it, most of its work is in vain. */
const MOST = 1 / 2;

const STORES: MembersFacts = { type: undefined, element: 0, fields: [] };

export const writeOnly: FindingKind<WriteOnlyFinding> = {
  kind: "write-only",
  meaning: "Members of a type, or offsets in blocks, that the program writes and never reads.",
  advice: "Remove the member, or fill it only where it is read.",
  more: "tools/waste.md#blocks-and-their-members",
  sources: ["waste"],
  waste: {
    ofBlocks: (site) => {
      const { element = 0, fields = [] } = site;
      const written = fields.filter(({ written }) => written);
      if (areBlocksUnread(site) || written.length === 0 || !areRecords(site) || isOfLibrary(site)) return [];
      const size = sizeOf(written);
      return [
        {
          ...PLAIN,
          ips: site.ips,
          operations: site.blocks,
          kind: writeOnly.kind,
          // Some blocks are not full of elements.
          bytes: Math.min(site.never_read, Math.round((site.bytes * size) / element)),
          share: size / element,
          object: { site, fields: written },
        },
      ];
    },
    ofStore: storedInVain,
    part: (bytes, { moved, allocated }) => Math.max(bytes / moved, bytes / allocated),
    facts: (found) => (found.object === undefined ? STORES : membersFacts(found)),
    inWords: (found) =>
      found.object === undefined
        ? `${formatBytes(found.bytes)} stored by ${locationText(found)} are never read: they are unread when their blocks are freed or the program ends.`
        : membersInWords(found, "stored to and never read"),
    advice: (found) =>
      found.object === undefined
        ? writeOnly.advice
        : dropMembers(
            found,
            (them) => `fill ${them} only where ${them === "it" ? "it is" : "they are"} read`,
          ),
    rows: ["blocks", "stores"],
  },
  leastPart: LEAST_COMMON_PART,
  ofBlocks: { after: "never-read" },
  sentence: (finding) =>
    finding.fields.length === 0
      ? {
          before: "stored by",
          after: "are never read until their blocks are freed or the program ends",
          shortAfter: "are never read",
        }
      : membersSentence(finding, "are never read"),
  whole: OF_MOVED_OR_ALLOCATED,
  weight: "stored-unread",
  treeWeights: ["bytes", "written"],
};

/**
 * Finds stores most of whose bytes are unread when their blocks are freed, or at the program's end. Where blocks
 * and members tell as much, `wasteFindings` leaves these out.
 */
function storedInVain(store: WasteStore, index: number, { file, partners }: WasteSearch): WasteFinding[] {
  const { dead_deallocated: freed, dead_exit: unreadAtExit, bytes_written: written } = store;
  const bytes = freed + unreadAtExit;
  if (file.blocks === undefined || store.frame === true || bytes < MOST * written) return [];
  // Blocks and members tell more than a store into them. A fill of far more than is used is the exception.
  if (file.blocks.length > 0 && store.class !== "copy") return [];
  return [{ ...storeShape(store, index, partners), kind: writeOnly.kind, bytes, share: bytes / written }];
}
