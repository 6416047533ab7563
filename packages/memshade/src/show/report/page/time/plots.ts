import type { PageLane, PageTimeline } from "../data/page-data.ts";

/** Lanes that share a scale: the first one as an area, the second one as a line above or in it. */
export interface Plot {
  area: PageLane;
  line?: PageLane | undefined;
}

/**
 * What is drawn of a timeline: the first lane that tells a level with what was most of it, and accesses; where there is
 * no level, the first one that tells amounts with another one of the same unit. The table has all lanes.
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

/** How high a lane's values are drawn: levels as they are, amounts as a rate, for intervals may differ in length. */
export function heightsOf({ shape, values }: PageLane, { start, ends }: PageTimeline): Float64Array {
  if (shape !== "amount") return values;
  return values.map((value, interval) => {
    const length = ends[interval] - (interval === 0 ? start : ends[interval - 1]);
    return length > 0 ? value / length : 0;
  });
}
