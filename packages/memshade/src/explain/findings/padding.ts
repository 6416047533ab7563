import { formatBytes, formatCount } from "../../profile/model/format.ts";
import { shortName } from "../analyses/frames/place-names.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_ALLOCATED } from "./finding-kind.ts";
import { areRecords } from "./waste/members.ts";
import { PLAIN } from "./waste/waste-finding.ts";
import { blocksOf, locationText } from "./waste/waste-words.ts";

/** Holes between the members of a type that another order of its members would close. */
export interface PaddingFinding extends Found<"padding", "waste"> {
  /** Name of the type, its size, and its size in the best order. Bytes. */
  readonly type: string;
  readonly size: number;
  readonly needed: number;
}

export const padding: FindingKind<PaddingFinding> = {
  kind: "padding",
  also: ["holes"],
  meaning:
    "Bytes between the members of a type that the compiler leaves free, because each member begins at a multiple of its alignment. Counted are those that another order of the members would save.",
  advice: "Order the members by size, the largest first.",
  more: "tools/waste.md#blocks-and-their-members",
  sources: ["waste"],
  waste: {
    ofBlocks: (site) => {
      const { type, padding: holes = 0, element = 0 } = site;
      if (type === undefined || holes === 0 || !areRecords(site)) return [];
      return [
        {
          ...PLAIN,
          kind: padding.kind,
          ips: site.ips,
          operations: site.blocks,
          bytes: Math.round((site.bytes * holes) / element),
          share: holes / element,
          object: { site, fields: [] },
        },
      ];
    },
    part: (bytes, { allocated }) => bytes / allocated,
    facts: ({ object }) => {
      const { type, element = 0, padding: holes = 0 } = object!.site;
      return { type: shortName(type!.name), size: element, needed: element - holes };
    },
    inWords: (found) =>
      `${formatBytes(found.bytes)} are holes between members in the ${blocksOf(found.object!.site)} from ${locationText(found)}.`,
    advice: () => padding.advice,
    rows: ["blocks"],
  },
  leastPart: LEAST_COMMON_PART,
  sentence: ({ type, size, needed }) => ({
    before: "in blocks of",
    after: `are holes in ${type}: ${formatCount(needed)} of its ${formatCount(size)} bytes would do`,
    short: "of",
    shortAfter: `are holes in ${type}`,
  }),
  whole: OF_ALLOCATED,
  weight: "stored-unread",
  treeWeights: ["bytes", "written"],
};
