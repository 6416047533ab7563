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
  const contexts = series.changes
    .values()
    .map(({ sites, changes }) =>
      describeContext(idOf(sites), changes, intervals, live.get(sites) ?? { liveBytes: 0, liveBlocks: 0 }),
    );
  const totals = intervals.map(() => ({ allocated: 0, freed: 0, frees: 0 }));
  for (const context of contexts)
    context.intervals.forEach((interval, row) => {
      totals[interval].allocated += context.allocatedBytes[row];
      totals[interval].freed += context.freedBytes[row];
      totals[interval].frees += context.frees[row];
    });
  const listed = mostImportant(contexts.filter(({ stackId }) => stackId !== NO_CONTEXT));
  return {
    module,
    instance: first,
    period,
    startBytes: sum(contexts, ({ startBytes }) => startBytes),
    startBlocks: sum(contexts, ({ startBlocks }) => startBlocks),
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
    otherContexts: contexts.length - listed.length,
  };
}

function describeContext(
  stackId: string,
  changes: readonly SeriesChange[],
  intervals: readonly SeriesInterval[],
  live: { liveBytes: number; liveBlocks: number },
): ContextHeap {
  const byInterval = new Map<number, SeriesChange>();
  for (const change of changes) {
    // A flush during an interval belongs to that interval, like the changes after it.
    const at = partitionPoint(0, intervals.length, (index) => intervals[index].start <= change.at) - 1;
    const existing = byInterval.get(at);
    if (existing === undefined) byInterval.set(at, { ...change });
    else {
      existing.allocations += change.allocations;
      existing.allocatedBytes += change.allocatedBytes;
      existing.frees += change.frees;
      existing.freedBytes += change.freedBytes;
    }
  }
  const rows = [...byInterval].sort(([a], [b]) => a - b);
  const column = (field: Exclude<keyof SeriesChange, "at">) => rows.map(([, change]) => change[field]);
  return {
    stackId,
    startBytes: Math.max(
      0,
      live.liveBytes - sum(changes, (change) => change.allocatedBytes - change.freedBytes),
    ),
    startBlocks: Math.max(0, live.liveBlocks - sum(changes, (change) => change.allocations - change.frees)),
    intervals: rows.map(([interval]) => interval),
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
function mostImportant(contexts: readonly ContextHeap[]): ContextHeap[] {
  if (contexts.length <= MOST_CONTEXTS) return [...contexts];
  const measured = contexts.map((context) => {
    let live = context.startBytes;
    let most = live;
    context.intervals.forEach((_, row) => {
      live += context.allocatedBytes[row] - context.freedBytes[row];
      most = Math.max(most, live);
    });
    return { context, most, allocated: sum(context.allocatedBytes, (bytes) => bytes) };
  });
  const allMost = sum(measured, ({ most }) => most) || 1;
  const allAllocated = sum(measured, ({ allocated }) => allocated) || 1;
  const importance = ({ most, allocated }: (typeof measured)[number]) =>
    most / allMost + allocated / allAllocated;
  const important = new Set(
    measured
      .toSorted((a, b) => importance(b) - importance(a))
      .slice(0, MOST_CONTEXTS)
      .map(({ context }) => context),
  );
  return contexts.filter((context) => important.has(context));
}

function sum<T>(values: readonly T[], figureOf: (value: T) => number): number {
  return values.reduce((total, value) => total + figureOf(value), 0);
}
