import type { PageLane, PageTimeline } from "../data/page-data.ts";

/** Intervals `[from, to)` of a timeline. */
export interface Intervals {
  readonly from: number;
  readonly to: number;
}

/** Where an interval begins, on the timeline's clock; of the number of intervals, where the last one ends. */
export function beginOf({ start, ends }: PageTimeline, interval: number): number {
  return interval <= 0 ? start : ends[Math.min(interval, ends.length) - 1];
}

/** The interval that a part of the whole time (0 to 1) lies in. */
export function intervalAt(timeline: PageTimeline, part: number): number {
  const { start, ends } = timeline;
  const at = start + part * (ends[ends.length - 1] - start);
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Where an interval begins, as a part of the whole time (0 to 1). */
export function partAt(timeline: PageTimeline, interval: number): number {
  const whole = timeline.ends[timeline.ends.length - 1] - timeline.start;
  return whole > 0 ? (beginOf(timeline, interval) - timeline.start) / whole : 0;
}

/** What a lane has in some intervals, in its unit. */
export interface LaneSum {
  value: number;
  /** "end": where they end; "most": the most in one of them; "sum": in all together. */
  kind: "end" | "most" | "sum";
}

/** Levels are of the end. What intervals used cannot be added up: they may use the same memory. */
export function sumLane({ shape, values }: PageLane, { from, to }: Intervals): LaneSum {
  const part = values.subarray(from, to);
  if (shape === "level") return { value: part.at(-1) ?? 0, kind: "end" };
  if (shape === "most" || shape === "used")
    return { value: part.reduce((most, value) => Math.max(most, value), 0), kind: "most" };
  return { value: part.reduce((sum, value) => sum + value, 0), kind: "sum" };
}

/** Equal parts of all intervals, at most so many. */
export function chunks(intervals: number, most: number): Intervals[] {
  const size = Math.max(1, Math.ceil(intervals / most));
  return Array.from({ length: Math.ceil(intervals / size) }, (_, index) => ({
    from: index * size,
    to: Math.min(intervals, (index + 1) * size),
  }));
}
