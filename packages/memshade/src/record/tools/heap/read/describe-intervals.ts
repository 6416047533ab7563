import { partitionPoint } from "../../../../ground/bytes/columns.ts";
import {
  type ContextHeap,
  HEAP_INTERVALS_SCHEMA,
  HEAP_INTERVALS_VERSION,
  type HeapIntervals,
  type InstanceHeap,
} from "../../../../profile/model/over-time/heap-intervals.ts";
import { MEMSHADE_VERSION } from "../../../../profile/model/version.ts";
import type { HeapSeries, SeriesChange, SeriesInterval } from "./block-entry.ts";
import { type ContextTable, PathMap } from "./context-table.ts";
import type { ShadowContents } from "./read-shadow.ts";

/** Most instances in the file: those that allocate most. */
const MOST_INSTANCES = 64;
/** Most contexts of an instance in the file: those that matter most. */
const MOST_CONTEXTS = 256;
const NO_CONTEXT = "0";
const NOTHING_LIVE = { liveBytes: 0, liveBlocks: 0 };

export interface SeriesOf {
  first: number;
  module: number;
  contents: ShadowContents;
}

/** Builds `heapintervals.json` of some instances, whose contexts are in a table. */
export function describeIntervals(instances: readonly SeriesOf[], table: ContextTable): HeapIntervals {
  const withSeries = instances.flatMap(({ first, module, contents }) =>
    contents.series === undefined ? [] : [{ first, module, contents, series: contents.series }],
  );
  const largest = withSeries
    .toSorted((a, b) => b.contents.totals.allocations - a.contents.totals.allocations || a.first - b.first)
    .slice(0, MOST_INSTANCES)
    .sort((a, b) => a.first - b.first);
  return {
    schema: HEAP_INTERVALS_SCHEMA,
    version: HEAP_INTERVALS_VERSION,
    memshade: MEMSHADE_VERSION,
    unit: "allocations",
    instances: largest.map(({ first, module, contents, series }) =>
      describeInstance({ first, module, contents }, series, table),
    ),
    otherInstances: withSeries.length - largest.length,
  };
}

function describeInstance(
  { first, module, contents }: SeriesOf,
  series: HeapSeries,
  table: ContextTable,
): InstanceHeap {
  const { intervals, period, lastIsPartial } = series;
  const idOf = (sites: readonly number[]): string => {
    const index = table.indexOf(module, sites);
    return index < 0 ? NO_CONTEXT : String(index + 1);
  };
  const live = new PathMap<{ liveBytes: number; liveBlocks: number }>();
  for (const { sites, extras } of contents.contexts) live.set(sites, extras);
  const courses = series.changes
    .values()
    .map(({ sites, changes }) => courseOf(sites, changes, intervals, live.get(sites) ?? NOTHING_LIVE));
  const totals = intervals.map(() => ({ allocated: 0, freed: 0, frees: 0 }));
  for (const { rows } of courses)
    for (const { interval, change } of rows) {
      totals[interval].allocated += change.allocatedBytes;
      totals[interval].freed += change.freedBytes;
      totals[interval].frees += change.frees;
    }
  const listed = mostImportant(courses.filter(({ sites }) => idOf(sites) !== NO_CONTEXT)).map((course) =>
    describeCourse(idOf(course.sites), course),
  );
  return {
    module,
    instance: first,
    period,
    startBytes: sum(courses, ({ startBytes }) => startBytes),
    startBlocks: sum(courses, ({ startBlocks }) => startBlocks),
    intervals: {
      start: intervals.map(({ start }) => start),
      end: intervals.map(({ end }) => end),
      liveBytes: intervals.map(({ live }) => live.bytes),
      liveBlocks: intervals.map(({ live }) => live.blocks),
      maxBytes: intervals.map(({ max }) => max.bytes),
      maxBlocks: intervals.map(({ max }) => max.blocks),
      allocatedBytes: totals.map(({ allocated }) => allocated),
      freedBytes: totals.map(({ freed }) => freed),
      frees: totals.map(({ frees }) => frees),
      next: intervals.map(({ next }) => (next === undefined ? NO_CONTEXT : idOf(next))),
    },
    lastIsPartial,
    contexts: listed,
    otherContexts: courses.length - listed.length,
  };
}

/** Changes of a context, summed by interval, and what was live before and at most at an interval's end. */
interface Course {
  sites: readonly number[];
  rows: readonly { interval: number; change: SeriesChange }[];
  startBytes: number;
  startBlocks: number;
  mostBytes: number;
  allocatedBytes: number;
}

function courseOf(
  sites: readonly number[],
  changes: readonly SeriesChange[],
  intervals: readonly SeriesInterval[],
  live: { liveBytes: number; liveBlocks: number },
): Course {
  const rows = rowsOf(changes, intervals);
  const startBytes = Math.max(
    0,
    live.liveBytes - sum(changes, (change) => change.allocatedBytes - change.freedBytes),
  );
  let [liveBytes, mostBytes] = [startBytes, startBytes];
  for (const { change } of rows) {
    liveBytes += change.allocatedBytes - change.freedBytes;
    mostBytes = Math.max(mostBytes, liveBytes);
  }
  return {
    sites,
    rows,
    startBytes,
    startBlocks: Math.max(0, live.liveBlocks - sum(changes, (change) => change.allocations - change.frees)),
    mostBytes,
    allocatedBytes: sum(changes, (change) => change.allocatedBytes),
  };
}

function rowsOf(changes: readonly SeriesChange[], intervals: readonly SeriesInterval[]): Course["rows"] {
  // A flush during an interval belongs to that interval, like the changes after it.
  const intervalAt = (time: number): number =>
    partitionPoint(0, intervals.length, (index) => intervals[index].start <= time) - 1;
  const sorted = changes
    .map((change) => ({ interval: intervalAt(change.at), change }))
    .sort((a, b) => a.interval - b.interval);
  const rows: { interval: number; change: SeriesChange }[] = [];
  for (const { interval, change } of sorted) {
    const last = rows.at(-1);
    if (last?.interval !== interval) rows.push({ interval, change });
    else last.change = withChange(last.change, change);
  }
  return rows;
}

function withChange(one: SeriesChange, other: SeriesChange): SeriesChange {
  return {
    at: one.at,
    allocations: one.allocations + other.allocations,
    allocatedBytes: one.allocatedBytes + other.allocatedBytes,
    frees: one.frees + other.frees,
    freedBytes: one.freedBytes + other.freedBytes,
  };
}

function describeCourse(stackId: string, { rows, startBytes, startBlocks }: Course): ContextHeap {
  const column = (field: Exclude<keyof SeriesChange, "at">) => rows.map(({ change }) => change[field]);
  return {
    stackId,
    startBytes,
    startBlocks,
    intervals: rows.map(({ interval }) => interval),
    allocations: column("allocations"),
    allocatedBytes: column("allocatedBytes"),
    frees: column("frees"),
    freedBytes: column("freedBytes"),
  };
}

/**
 * Returns the contexts that held most at the end of an interval or allocated most in all, both as shares of
 * the total.
 */
function mostImportant(courses: readonly Course[]): readonly Course[] {
  if (courses.length <= MOST_CONTEXTS) return courses;
  const allMost = sum(courses, ({ mostBytes }) => mostBytes) || 1;
  const allAllocated = sum(courses, ({ allocatedBytes }) => allocatedBytes) || 1;
  const importance = ({ mostBytes, allocatedBytes }: Course): number =>
    mostBytes / allMost + allocatedBytes / allAllocated;
  const important = new Set(
    courses.toSorted((a, b) => importance(b) - importance(a)).slice(0, MOST_CONTEXTS),
  );
  return courses.filter((course) => important.has(course));
}

function sum<T>(values: readonly T[], figureOf: (value: T) => number): number {
  return values.reduce((total, value) => total + figureOf(value), 0);
}
