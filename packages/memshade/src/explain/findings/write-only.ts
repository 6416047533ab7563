import { type FindingKind, type Found, LEAST_COMMON_PART, OF_MOVED_OR_ALLOCATED } from "./finding-kind.ts";
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
import { PLAIN } from "./waste/waste-finding.ts";

/** Members of blocks that are stored to and never read. */
export type WriteOnlyFinding = Found<"write-only", "waste"> & MembersFacts;

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
    part: (bytes, { moved, allocated }) => Math.max(bytes / moved, bytes / allocated),
    facts: membersFacts,
    inWords: (found) => membersInWords(found, "stored to and never read"),
    advice: (found) =>
      dropMembers(found, (them) => `fill ${them} only where ${them === "it" ? "it is" : "they are"} read`),
    rows: ["blocks"],
  },
  leastPart: LEAST_COMMON_PART,
  ofBlocks: { after: "never-read" },
  sentence: (finding) => membersSentence(finding, "are never read"),
  whole: OF_MOVED_OR_ALLOCATED,
  weight: "stored-unread",
  treeWeights: ["bytes", "written"],
};
