import { CHANGE_BYTES, Change, Control, INTERVAL_BYTES, Interval } from "../layout.ts";
import type { ObjectsLayout } from "../memory-plan.ts";

/** Increases of counters in an interval, by their addresses. */
export type IntervalChanges = ReadonlyMap<number, number>;

export function readIntervals(
  view: DataView,
  { intervals, intervalsEnd }: Pick<ObjectsLayout, "intervals" | "intervalsEnd">,
): IntervalChanges[] {
  if (intervals === intervalsEnd) return [];
  const found: IntervalChanges[] = [];
  const end = intervals + view.getUint32(Control.intervals, true);
  for (let at = intervals; at < end; ) {
    const changes = new Map<number, number>();
    const count = view.getFloat64(at + Interval.changes, true);
    at += INTERVAL_BYTES;
    for (let i = 0; i < count && at < end; i++, at += CHANGE_BYTES)
      changes.set(view.getFloat64(at + Change.counter, true), view.getFloat64(at + Change.amount, true));
    found.push(changes);
  }
  return found;
}
