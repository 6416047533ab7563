import type { HeapProfile } from "../../model/heap-profile.ts";
import type { StaticsReport } from "../statics/static-objects.ts";
import type { UnreadDataFinding } from "./finding.ts";

/** Systems keep memory in such pages: with less, nothing is won. */
const PAGE_BYTES = 4096;

/**
 * Variables with a name of which nobody reads the larger part: they are in the module's file, and in its memory from the start. Zeros that
 * nobody touches are in neither. What is read for the larger part may be a table whose rest is for other input; what is written may be
 * for the host, where it is not known what that reads.
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
