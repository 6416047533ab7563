import { amount, amountInWords, difference, formatCount } from "../app/parts/amounts.ts";
import type { PageLane, PageTimeline } from "../data/page-data.ts";
import { beginOf, type Intervals, sumLane } from "./intervals.ts";
import type { Plot } from "./plots.ts";

/** What the lanes say of a range: `1,000 – 2,000 allocations: live heap 12 MiB at its end, +3 MiB; …`. */
export function rangeInWords(timeline: PageTimeline, range: Intervals, plots: readonly Plot[]): string {
  const [begin, end] = [beginOf(timeline, range.from), beginOf(timeline, range.to)];
  const lanes = plots.flatMap(({ area, line }) => (line === undefined ? [area] : [area, line]));
  return `${clock(timeline, begin)} – ${clock(timeline, end)}${unitOf(timeline)}: ${lanes.map((lane) => laneInWords(lane, range)).join(", ")}`;
}

/** What the lanes say of one interval. */
export function momentInWords(timeline: PageTimeline, interval: number, plots: readonly Plot[]): string {
  return rangeInWords(timeline, { from: interval, to: interval + 1 }, plots);
}

function laneInWords(lane: PageLane, range: Intervals): string {
  const { value, kind } = sumLane(lane, range);
  const words = amountInWords(value, lane.unit);
  if (kind === "sum") return `${lane.label} ${words}`;
  if (kind === "most") return lane.shape === "most" ? `at most ${words}` : `${lane.label} at most ${words}`;
  const before = range.from > 0 ? lane.values[range.from - 1] : undefined;
  const change = before === undefined ? "" : ` (${difference(value - before, lane.unit)})`;
  return `${lane.label} ${words} at the end${change}`;
}

/** Nanoseconds have their unit in each amount. */
function unitOf({ unit }: PageTimeline): string {
  return unit === "ns" ? "" : ` ${unit}`;
}

function clock({ unit }: PageTimeline, value: number): string {
  return unit === "ns" ? amount(value, "ns") : formatCount(value);
}
