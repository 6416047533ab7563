import type { PageLane, PageTimeline } from "../data/page-data.ts";
import { type Colour, mix, type Palette, toText } from "../graph/paint/palette.ts";

/** Heights of plots by shape, CSS pixels. */
const HEIGHTS = { level: 46, most: 46, amount: 26, used: 26 };
/** Gap between two plots, CSS pixels. */
const GAP = 5;

export function heightOf({ area }: Plot): number {
  return HEIGHTS[area.shape];
}

/** Returns the upper edge of each plot, and of the space below the last one. CSS pixels. */
export function topsOf(plots: readonly Plot[]): number[] {
  const tops = [0];
  for (const plot of plots) tops.push(tops[tops.length - 1] + heightOf(plot) + GAP);
  return tops;
}

/** A layer of the first plot's area, from the bottom up; the area above all layers belongs to other sites. */
export interface Layer {
  values: Float64Array;
  colour: Colour;
}

export interface Strip {
  timeline: PageTimeline;
  plots: readonly Plot[];
  layers: readonly Layer[];
  /** Amounts of the selected contexts in the split lane. */
  selected?: Float64Array | undefined;
  palette: Palette;
}

/**
 * Draws plots below each other.
 * @param width total width, CSS pixels
 */
export function drawPlots(context: CanvasRenderingContext2D, strip: Strip, width: number): void {
  const { plots, palette } = strip;
  const tops = topsOf(plots);
  context.clearRect(0, 0, width, tops[tops.length - 1]);
  for (const [index, plot] of plots.entries()) {
    context.fillStyle = toText(palette.panel);
    context.fillRect(0, tops[index], width, heightOf(plot));
    drawPlot(context, strip, index, { width, top: tops[index] });
  }
}

function drawPlot(
  context: CanvasRenderingContext2D,
  { timeline, plots, layers, selected, palette }: Strip,
  index: number,
  { width, top }: { width: number; top: number },
): void {
  const { area, line } = plots[index];
  const height = heightOf(plots[index]);
  const heights = heightsOf(area, timeline);
  const lines = line && heightsOf(line, timeline);
  const highest = Math.max(largest(heights), lines === undefined ? 0 : largest(lines));
  if (highest <= 0) return;
  const y = (value: number) => top + height - (Math.max(0, value) / highest) * height;
  const fill = (from: (interval: number) => number, to: (interval: number) => number) => {
    for (let interval = 0; interval < heights.length; interval++) {
      const left = partAt(timeline, interval) * width;
      const right = partAt(timeline, interval + 1) * width;
      const [bottom, upper] = [y(from(interval)), y(to(interval))];
      // Half a pixel more hides the seam to the next interval.
      context.fillRect(left, upper, right - left + 0.5, bottom - upper);
    }
  };
  context.fillStyle = toText(index === 0 ? mix(palette.panel, palette.dim, 0.45) : palette.series[0]);
  fill(
    () => 0,
    (interval) => heights[interval],
  );
  if (index === 0) {
    const below = new Float64Array(heights.length);
    for (const { values, colour } of layers) {
      context.fillStyle = toText(colour);
      fill(
        (interval) => below[interval],
        (interval) => Math.min(heights[interval], below[interval] + Math.max(0, values[interval])),
      );
      for (let interval = 0; interval < below.length; interval++)
        below[interval] += Math.max(0, values[interval]);
    }
  }
  const stroke = (values: Float64Array, colour: Colour, lineWidth: number) => {
    context.strokeStyle = toText(colour);
    context.lineWidth = lineWidth;
    context.beginPath();
    for (let interval = 0; interval < values.length; interval++) {
      context.lineTo(partAt(timeline, interval) * width, y(values[interval]));
      context.lineTo(partAt(timeline, interval + 1) * width, y(values[interval]));
    }
    context.stroke();
  };
  if (lines !== undefined) stroke(lines, palette.dim, 1);
  if (index === 0 && selected !== undefined) stroke(selected, palette.text, 2);
}

function largest(values: Float64Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** Lanes that share a scale: the first as an area, the second as a line. */
export interface Plot {
  area: PageLane;
  line?: PageLane | undefined;
}

/**
 * Returns the plots of a timeline: the first level lane with its maximum, and accesses. Without a level lane,
 * the first amount lane with another one of the same unit. The table has all lanes.
 */
export function plotsOf({ lanes }: PageTimeline): Plot[] {
  const level = lanes.find(({ shape }) => shape === "level");
  const amount = lanes.find(
    ({ shape, unit }) =>
      (shape === "amount" && (level === undefined || unit === "accesses")) || shape === "used",
  );
  const plots: Plot[] = [];
  if (level !== undefined)
    plots.push({
      area: level,
      line: lanes.find(({ shape, unit }) => shape === "most" && unit === level.unit),
    });
  if (amount !== undefined)
    plots.push({
      area: amount,
      line: lanes.find((lane) => lane !== amount && lane.shape === amount.shape && lane.unit === amount.unit),
    });
  return plots;
}

/**
 * Returns the drawn heights of a lane: levels unchanged, amounts as a rate, because intervals may differ in
 * length.
 */
export function heightsOf({ shape, values }: PageLane, { start, ends }: PageTimeline): Float64Array {
  if (shape !== "amount") return values;
  return values.map((value, interval) => {
    const length = ends[interval] - (interval === 0 ? start : ends[interval - 1]);
    return length > 0 ? value / length : 0;
  });
}

/** Intervals `[from, to)` of a timeline. */
export interface Intervals {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the begin of an interval on the timeline's clock. For the number of intervals, returns the end of
 * the last one.
 */
export function beginOf({ start, ends }: PageTimeline, interval: number): number {
  return interval <= 0 ? start : ends[Math.min(interval, ends.length) - 1];
}

/** Returns the interval at a part of the whole time (0 to 1). */
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

/** Returns the begin of an interval as a part of the whole time (0 to 1). */
export function partAt(timeline: PageTimeline, interval: number): number {
  const whole = timeline.ends[timeline.ends.length - 1] - timeline.start;
  return whole > 0 ? (beginOf(timeline, interval) - timeline.start) / whole : 0;
}

/** Value of a lane over some intervals, in its unit. */
interface LaneSum {
  value: number;
  /** "end": at their end. "most": the maximum of them. "sum": their sum. */
  kind: "end" | "most" | "sum";
}

/**
 * Levels are read at the end. Memory used in several intervals cannot be added up, because it may be the
 * same.
 */
export function sumLane({ shape, values }: PageLane, { from, to }: Intervals): LaneSum {
  const part = values.subarray(from, to);
  if (shape === "level") return { value: part.at(-1) ?? 0, kind: "end" };
  if (shape === "most" || shape === "used")
    return { value: part.reduce((most, value) => Math.max(most, value), 0), kind: "most" };
  return { value: part.reduce((sum, value) => sum + value, 0), kind: "sum" };
}

/** Divides intervals into at most `most` equal parts. */
export function chunks(intervals: number, most: number): Intervals[] {
  const size = Math.max(1, Math.ceil(intervals / most));
  return Array.from({ length: Math.ceil(intervals / size) }, (_, index) => ({
    from: index * size,
    to: Math.min(intervals, (index + 1) * size),
  }));
}
