import { type FindingKind, type Found, LEAST_COMMON_PART, OF_ALLOCATED } from "./finding-kind.ts";
import {
  areRecords,
  dropMembers,
  type MembersFacts,
  membersFacts,
  membersInWords,
  membersSentence,
  sizeOf,
} from "./waste/members.ts";
import { PLAIN } from "./waste/waste-finding.ts";

/** Members of blocks that are neither stored to nor read. */
export type ColdFinding = Found<"cold", "waste"> & MembersFacts;

/** Least untouched part of a record to report. */
const COLD_PART = 0.25;

export const cold: FindingKind<ColdFinding> = {
  kind: "cold",
  meaning:
    "Members that are hardly ever accessed beside members that are: they take room in the same cache lines. Of blocks: so few accesses in so long a life that LLVM would allocate them apart.",
  advice: "Move the members behind a pointer, or to the end of the struct.",
  more: "tools/waste.md#blocks-and-their-members",
  sources: ["waste"],
  waste: {
    // A host whose accesses are unknown may access members. Without a type, an untouched part of a block may
    // be spare capacity.
    ofBlocks: (site, { file: { totals } }) => {
      const { type, element = 0, fields = [] } = site;
      if (type === undefined || !areRecords(site) || totals.hostAssumedRead > 0) return [];
      const untouched = fields.filter(({ written }) => !written);
      const share = sizeOf(untouched) / element;
      if (share < COLD_PART) return [];
      return [
        {
          ...PLAIN,
          kind: cold.kind,
          ips: site.ips,
          operations: site.blocks,
          bytes: Math.round((site.bytes * sizeOf(untouched)) / element),
          share,
          object: { site, fields: untouched },
        },
      ];
    },
    part: (bytes, { allocated }) => bytes / allocated,
    facts: membersFacts,
    inWords: (found) => membersInWords(found, "neither stored to nor read"),
    advice: (found) => dropMembers(found, (them) => `move ${them} out of the struct`),
    rows: ["blocks"],
  },
  leastPart: LEAST_COMMON_PART,
  ofBlocks: { after: "drag" },
  sentence: (finding) => membersSentence(finding, "are never touched"),
  whole: OF_ALLOCATED,
  weight: "stored-unread",
  treeWeights: ["bytes", "written"],
};
