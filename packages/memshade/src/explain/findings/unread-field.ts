import { formatBytes, plural } from "../../profile/model/format.ts";
import { objectTotals, unreadFields } from "../analyses/objects.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART, OF_OBJECTS } from "./finding-kind.ts";
import { LEAST_BYTES } from "./heap-blocks.ts";

/** A field of garbage-collected objects that nobody reads: `place` names it. */
export interface UnreadFieldFinding extends Found<"unread-field", "objects"> {
  /** Those that have it. */
  readonly objects: number;
  /** Bytes of it in each of them. */
  readonly each: number;
  /** Whether it was written after they were made. */
  readonly written: boolean;
}

export const unreadField: FindingKind<UnreadFieldFinding> = {
  kind: "unread-field",
  meaning:
    "A field of garbage-collected objects that no instruction reads in any object, through their own type, its supertypes or its subtypes.",
  advice:
    "Leave the field out, or move it to a subtype or a table for the few objects that need it. Other input may read it.",
  more: "tools/objects.md#fields",
  sources: ["objects"],
  find: ({ objects: profile }) => {
    if (profile === undefined) return [];
    const { bytes: all } = objectTotals(profile);
    return unreadFields(profile)
      .filter(({ isOfLanguage, bytes }) => !isOfLanguage && bytes >= LEAST_BYTES)
      .map(({ name, each, bytes, objects, written }) => ({
        kind: "unread-field",
        tool: "objects",
        amount: bytes,
        unit: "bytes",
        part: bytes / all,
        place: { path: [{ function: name }] },
        objects,
        each,
        written,
      }));
  },
  leastPart: LEAST_COMMON_PART,
  sentence: ({ each, objects, written }) => {
    const what = written ? "written, never read" : "never read";
    const size = `${formatBytes(each)} in ${plural(objects, "object")}`;
    return { before: "in", after: `(${size}), ${what}`, shortAfter: what };
  },
  whole: OF_OBJECTS,
  weight: "unread-fields",
  treeWeights: ["unread-fields", "object-bytes"],
};
