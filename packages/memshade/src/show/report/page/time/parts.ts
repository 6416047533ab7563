import type { PageDeltas, PageTimeline, PageTool } from "../data/page-data.ts";

/** What of a timeline's rows makes up the lane that is split: what is added to it and taken from it. */
interface Flow {
  added: Float64Array;
  taken: Float64Array | undefined;
  /** Whether what an interval adds stays for those behind it. */
  stays: boolean;
}

/** The lane of each tool that is split, and the weights of what is added to it and taken from it. */
const SPLIT: Readonly<Partial<Record<PageTool, readonly [lane: string, added: string, taken?: string]>>> = {
  heap: ["live", "bytes", "freed"],
};
const LINES = ["lines", "owned"] as const;

function flowOf({ tool, deltas }: PageTimeline): Flow | undefined {
  const column = (id?: string) => deltas?.columns.find(({ weight }) => weight === id)?.values;
  const [, plus, minus] = SPLIT[tool] ?? LINES;
  const added = column(plus);
  return added && { added, taken: column(minus), stays: minus !== undefined };
}

/** The lane that is split into what groups of contexts have of it; undefined where nobody recorded that. */
export function splitLane(timeline: PageTimeline): string | undefined {
  return flowOf(timeline) && (SPLIT[timeline.tool] ?? LINES)[0];
}

/**
 * What some groups of contexts have in each interval, in the unit of the split lane.
 *
 * @param groupOf the group of each context, −1 for none
 */
export function partsOf(timeline: PageTimeline, groupOf: Int32Array, groups: number): Float64Array[] {
  const { ends, deltas } = timeline;
  const parts = Array.from({ length: groups }, () => new Float64Array(ends.length));
  const flow = flowOf(timeline);
  if (flow === undefined || deltas === undefined) return parts;
  forEachRow(deltas, (interval, context, row) => {
    const group = groupOf[context];
    if (group >= 0) parts[group][interval] += flow.added[row] - (flow.taken?.[row] ?? 0);
  });
  if (!flow.stays) return parts;
  deltas.begin?.context.forEach((context, row) => {
    const group = groupOf[context];
    if (group >= 0) parts[group][0] += deltas.begin!.bytes[row];
  });
  for (const part of parts)
    for (let interval = 1; interval < part.length; interval++) part[interval] += part[interval - 1];
  return parts;
}

/** The groups that have most of the split lane over all intervals, most first. Those that have nothing are left out. */
export function largestGroups(
  timeline: PageTimeline,
  groupOf: Int32Array,
  groups: number,
  most: number,
): number[] {
  const { ends, start, deltas } = timeline;
  const flow = flowOf(timeline);
  if (flow === undefined || deltas === undefined) return [];
  const area = new Float64Array(groups);
  const end = ends[ends.length - 1];
  const beginOf = (interval: number) => (interval === 0 ? start : ends[interval - 1]);
  forEachRow(deltas, (interval, context, row) => {
    const group = groupOf[context];
    const time = flow.stays ? end - beginOf(interval) : 1;
    if (group >= 0) area[group] += (flow.added[row] - (flow.taken?.[row] ?? 0)) * time;
  });
  deltas.begin?.context.forEach((context, row) => {
    const group = groupOf[context];
    if (group >= 0 && flow.stays) area[group] += deltas.begin!.bytes[row] * (end - start);
  });
  return [...area.keys()]
    .filter((group) => area[group] > 0)
    .sort((a, b) => area[b] - area[a] || a - b)
    .slice(0, most);
}

function forEachRow(
  { offset, context }: PageDeltas,
  visit: (interval: number, context: number, row: number) => void,
): void {
  for (let interval = 0; interval + 1 < offset.length; interval++)
    for (let row = offset[interval]; row < offset[interval + 1]; row++) visit(interval, context[row], row);
}
