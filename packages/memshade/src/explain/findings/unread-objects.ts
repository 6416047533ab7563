import type { ModuleObjects } from "../../profile/model/objects.ts";
import { MODULE_SPAN } from "../../profile/model/waste.ts";
import { fromOwn } from "../analyses/frames/own-place.ts";
import { busiestPaths, objectTotals, typeName, unreadTypes } from "../analyses/objects.ts";
import {
  type FindingKind,
  type FindingPlace,
  type Found,
  LEAST_COMMON_PART,
  OF_OBJECTS,
} from "./finding-kind.ts";
import { LEAST_BYTES } from "./heap-blocks.ts";

/** Garbage-collected objects of a type whose fields are never read. */
export interface UnreadObjectsFinding extends Found<"unread-objects", "objects"> {
  /** Number of objects. `place` has made most of them. */
  readonly objects: number;
  /** Name of the type. */
  readonly type: string;
}

export const unreadObjects: FindingKind<UnreadObjectsFinding> = {
  kind: "unread-objects",
  meaning:
    "Garbage-collected objects of a type of which no instruction reads a field or an element. The program makes them, may write them, and drops them.",
  advice:
    "Make the objects only where their fields are read. Comparing references and testing types does not count as reading.",
  more: "tools/objects.md#fields",
  sources: ["objects"],
  find: ({ objects: profile }) => {
    if (profile === undefined) return [];
    const { bytes: totalBytes } = objectTotals(profile);
    return unreadTypes(profile).flatMap(({ part, type }): UnreadObjectsFinding[] => {
      const { bytes, objects } = type;
      const place = bytes < LEAST_BYTES ? undefined : placeOfType(part, type.index);
      if (place === undefined) return [];
      return [
        {
          kind: "unread-objects",
          tool: "objects",
          amount: bytes,
          unit: "bytes",
          part: bytes / totalBytes,
          place,
          objects,
          type: typeName(type),
        },
      ];
    });
  },
  leastPart: LEAST_COMMON_PART,
  sentence: ({ type }) => ({ before: `in ${type} by`, after: "are never read", short: "by" }),
  whole: OF_OBJECTS,
  weight: "unread-fields",
  treeWeights: ["unread-fields", "object-bytes"],
};

/** Returns the location that makes most objects of a type; undefined if no code makes them. */
export function placeOfType(part: ModuleObjects, type: number): FindingPlace | undefined {
  const { module, sites } = part;
  let site = -1;
  sites.forEach((candidate, index) => {
    if (candidate.type === type && (site < 0 || candidate.bytes > sites[site]!.bytes)) site = index;
  });
  const stack = busiestPaths(part).get(site);
  if (stack === undefined) return undefined;
  const path = fromOwn(stack).stack.map(({ name, file, line, offset }) => ({
    ...(name === undefined ? {} : { function: name }),
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(offset === undefined ? {} : { address: module * MODULE_SPAN + offset }),
  }));
  return path.length === 0 ? undefined : { path };
}
