import { formatBytes, plural } from "../../profile/model/format.ts";
import { objectTotals, unreadFields } from "../analyses/objects.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_OBJECTS } from "./finding-kind.ts";
import { LEAST_BYTES } from "./heap-blocks.ts";

/** A field of garbage-collected objects that is never read: `place` names it. */
export interface UnreadFieldFinding extends Found<"unread-field", "objects"> {
  /** Number of objects with the field. */
  readonly objects: number;
  /** Bytes of the field in each object. */
  readonly each: number;
  /** True if the field was written after the objects were made. */
  readonly written: boolean;
}

export const unreadField: FindingKind<UnreadFieldFinding> = {
  kind: "unread-field",
  meaning:
    "A field of garbage-collected objects that no instruction reads in any object, through their own type, its supertypes or its subtypes.",
  advice:
    "Remove the field, or move it to a subtype or a table for the few objects that need it. Other input may read it.",
  more: "tools/objects.md#fields",
  sources: ["objects"],
  find: ({ objects: profile }) => {
    if (profile === undefined) return [];
    const { bytes: totalBytes } = objectTotals(profile);
    return unreadFields(profile)
      .filter(({ isOfLanguage, bytes }) => !isOfLanguage && bytes >= LEAST_BYTES)
      .map(({ name, each, bytes, objects, written }) => ({
        kind: "unread-field",
        tool: "objects",
        amount: bytes,
        unit: "bytes",
        part: bytes / totalBytes,
        place: { path: [{ function: name }] },
        objects,
        each,
        written,
      }));
  },
  leastPart: LEAST_COMMON_PART,
  sentence: ({ each, objects, written }) => {
    const predicate = written ? "written, never read" : "never read";
    const size = `${formatBytes(each)} in ${plural(objects, "object")}`;
    return { before: "in", after: `(${size}), ${predicate}`, shortAfter: predicate };
  },
  whole: OF_OBJECTS,
  weight: "unread-fields",
  treeWeights: ["unread-fields", "object-bytes"],
};
