import { formatBytes, formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { FEWEST_RECORDS } from "../../profile/model/waste.ts";
import { blockMeasure } from "../analyses/block-measure.ts";
import { shortName } from "../analyses/frames/place-names.ts";
import { sumOf } from "../analyses/groups.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_ALLOCATED } from "./finding-kind.ts";
import { blocksBySite, inModule } from "./heap-blocks.ts";
import { areRecords } from "./waste/members.ts";
import { PLAIN } from "./waste/waste-finding.ts";
import { blocksOf, locationText } from "./waste/waste-words.ts";

/** Holes between the members of a type that another order of its members would close. */
export interface PaddingFinding extends Found<"padding", "heap" | "waste"> {
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
  sources: ["heap", "waste"],
  find: inModule(holesInBlocks),
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
    weight: "stored-unread",
  },
  leastPart: LEAST_COMMON_PART,
  sentence: ({ type, size, needed }) => ({
    before: "in blocks of",
    after: `are holes in ${type}: ${formatCount(needed)} of its ${formatCount(size)} bytes would do`,
    short: "of",
    shortAfter: `are holes in ${type}`,
  }),
  whole: OF_ALLOCATED,
  weight: "bytes",
  treeWeights: ["bytes", "written"],
};

/** Finds sites whose blocks are records of a type with holes, and stay: holes in temporary blocks take no memory. */
function holesInBlocks(profile: HeapProfile): PaddingFinding[] {
  const { holes, mibs, length, site } = profile.contexts;
  const { peakBytes = 0 } = profile.description.totals ?? {};
  if (holes === undefined || site === undefined) return [];
  const all = Array.from(mibs.totalSize, Number);
  const whole = all.reduce((sum, bytes) => sum + bytes, 0);
  const blocks = Float64Array.from({ length }, (_, row) =>
    holes[row] === undefined ? 0 : mibs.allocCount[row]!,
  );
  const bytes = Float64Array.from(all, (bytes, row) => {
    const { size, needed } = holes[row] ?? { size: 1, needed: 1 };
    return (bytes * (size - needed)) / size;
  });
  return blocksBySite(profile, blockMeasure(blocks, bytes)).flatMap(({ place, contexts, bytes: amount }) => {
    const types = new Map(contexts.flatMap((row) => holes[row] ?? []).map((each) => [each.type, each]));
    const [type, ...more] = types.values();
    const records = contexts.reduce((sum, row) => sum + all[row]!, 0) / (type?.size ?? 1);
    if (type === undefined || more.length > 0 || records < FEWEST_RECORDS) return [];
    const holesAtPeak = (sumOf(site.peakBytes, contexts) * (type.size - type.needed)) / type.size;
    if (holesAtPeak < LEAST_COMMON_PART * peakBytes) return [];
    return [{ kind: "padding", tool: "heap", place, amount, unit: "bytes", part: amount / whole, ...type }];
  });
}
