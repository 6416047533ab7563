import type { PageTimeline } from "../data/page-data.ts";
import { type Colour, mix, toText } from "../graph/paint/colours.ts";
import type { Palette } from "../graph/paint/palette.ts";
import { partAt } from "./intervals.ts";
import { heightsOf, type Plot } from "./plots.ts";

/** Heights of plots, CSS pixels: of levels, and of amounts. */
const HEIGHTS = { level: 46, most: 46, amount: 26, used: 26 };
/** Between two plots, CSS pixels. */
const GAP = 5;

export function heightOf({ area }: Plot): number {
  return HEIGHTS[area.shape];
}

/** The upper edge of each plot, CSS pixels, and of what is below the last one. */
export function topsOf(plots: readonly Plot[]): number[] {
  const tops = [0];
  for (const plot of plots) tops.push(tops[tops.length - 1] + heightOf(plot) + GAP);
  return tops;
}

/** What the first plot's area is split into, from the bottom up; what they leave of it is of all others. */
export interface Layer {
  values: Float64Array;
  colour: Colour;
}

export interface Strip {
  timeline: PageTimeline;
  plots: readonly Plot[];
  layers: readonly Layer[];
  /** What the selected contexts have of the lane that is split. */
  selected?: Float64Array | undefined;
  palette: Palette;
}

/** Draws plots below each other. @param width of all, CSS pixels */
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
      // Half a pixel more: the next one begins there, and no seam is seen.
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
