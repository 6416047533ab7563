import { formatBytes } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { libraryOf } from "../analyses/frames/libraries.ts";
import type { StaticsReport } from "../analyses/statics.ts";
import { type FindingKind, type FindingSentence, type Found, LEAST_PART } from "./finding-kind.ts";

/** A table or variable that the program does not read, or hardly: `place` has its name and declaration. */
export interface UnreadDataFinding extends Found<"unread-data", "heap"> {
  /** Size of the whole variable. */
  readonly bytes: number;
  /** True if the unread bytes were written. */
  readonly written: boolean;
}

export const unreadData: FindingKind<UnreadDataFinding> = {
  kind: "unread-data",
  also: ["untouched data"],
  meaning:
    "A table or variable of which this run reads less than half. It takes room in the module's file and, from the start, in its memory. " +
    "Zeros that the program never touches take no room and are not reported.",
  advice:
    "Make the table smaller, load it at its first use, or leave it out of the build. Other input may need it.",
  more: "concepts.md#static-data",
  sources: ["statics"],
  find: ({ statics, heap }) => (statics === undefined ? [] : unreadDataFindings(statics, heap)),
  leastPart: LEAST_PART,
  sentence: dataSentence,
  whole: { short: "of data and heap", long: "of static data and the heap at its peak" },
  weight: "static-unread",
  treeWeights: [],
  isOfVariable: true,
};

/** Page size of the system: smaller savings have no effect. */
const PAGE_BYTES = 4096;

/**
 * Finds named variables whose larger part is never read: they take space in the module's file and, from the
 * start, in its memory. Untouched zeros take space in neither. If the larger part is read, the rest may be
 * for other input. Written bytes may be meant for a host whose reads are unknown.
 */
export function unreadDataFindings(
  statics: StaticsReport,
  heap: HeapProfile | undefined,
): UnreadDataFinding[] {
  const { totals, knownHost } = heap?.description ?? {};
  const whole = statics.bytes + (totals?.peakBytes ?? 0);
  return statics.objects.flatMap((object): UnreadDataFinding[] => {
    const { kind, name, file, line, bytes, untouchedBytes, isBrought } = object;
    const unreadBytes = knownHost === true ? object.unreadBytes : 0;
    const amount = (isBrought ? untouchedBytes : 0) + unreadBytes;
    if (kind !== "variable" || amount < PAGE_BYTES || amount <= bytes / 2) return [];
    // A program cannot make a library's table smaller.
    if (libraryOf({ file }) !== undefined) return [];
    const place = { path: [{ function: name, file, ...(line === 0 ? {} : { line }) }] };
    const part = amount / whole;
    return [
      {
        kind: "unread-data",
        tool: "heap",
        place,
        amount,
        unit: "bytes",
        part,
        bytes,
        written: unreadBytes > 0,
      },
    ];
  });
}

/** Forms `48.0 KiB  of 64.0 KiB of crc_table are never read`, `48.0 KiB  all of crc_table is never read`. */
function dataSentence({ amount, bytes, written }: UnreadDataFinding): FindingSentence {
  const predicate = written ? "written, never read" : "never read";
  return amount === bytes
    ? { before: "all of", after: `is ${predicate}` }
    : { before: `of ${formatBytes(bytes)} of`, after: `are ${predicate}`, short: "of" };
}
