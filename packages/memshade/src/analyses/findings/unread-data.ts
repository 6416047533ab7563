import type { HeapProfile } from "../../model/heap-profile.ts";
import { notRead } from "../statics/rank-statics.ts";
import type { StaticsReport } from "../statics/static-objects.ts";
import type { UnreadDataFinding } from "./finding.ts";

/** Systems keep memory in such pages: with less, nothing is won. */
const PAGE_BYTES = 4096;

/**
 * Variables with a name of which nobody reads the larger part. They are in the module's file, if not zero, and in its memory from the
 * start. What is read for the larger part may be a table whose rest is for other input.
 */
export function unreadDataFindings(
  statics: StaticsReport,
  heap: HeapProfile | undefined,
): UnreadDataFinding[] {
  const whole = statics.bytes + (heap?.description.totals?.peakBytes ?? 0);
  return statics.objects.flatMap((object): UnreadDataFinding[] => {
    const { kind, name, file, line, bytes, unreadBytes } = object;
    const amount = notRead(object);
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
