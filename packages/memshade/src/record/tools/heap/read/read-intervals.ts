import type { ShadowLayout } from "../../options.ts";
import {
  CHANGE_BYTES,
  Change,
  CONTEXT_BYTES,
  Context,
  Control,
  INTERVAL_BYTES,
  Interval,
  LIVE_BLOCK_BITS,
  PAST_BYTES,
  Past,
} from "../layout.ts";
import { type Live, splitLive } from "./block-entry.ts";
import { pathKey } from "./context-table.ts";

/** An interval of the heap: allocations `start` + 1 to `end`. */
export interface SeriesInterval {
  start: number;
  end: number;
  live: Live;
  max: Live;
  /** The call path of the allocation that came next; undefined: none, or not known. */
  next: readonly number[] | undefined;
}

/** What one context did in an interval: the one that has the clock `at` in it, or begins then. */
export interface SeriesChange {
  at: number;
  allocations: number;
  allocatedBytes: number;
  frees: number;
  freedBytes: number;
}

/** The heap of an instance over time. */
export interface HeapSeries {
  /** Allocations of a full interval. */
  period: number;
  intervals: SeriesInterval[];
  lastIsPartial: boolean;
  /** By call path, innermost first, as text. */
  changes: Map<string, { sites: readonly number[]; changes: SeriesChange[] }>;
}

/** How often the tables are looked at again when the program has changed them meanwhile. */
const TRIES = 100;

/**
 * Reads the heap over time, the open interval as if it ended now. Undefined where nothing was allocated, or the program
 * changes the tables all the time.
 *
 * @param sitesOf the call path of a context by its index; undefined for none
 */
export function readSeries(
  view: DataView,
  layout: ShadowLayout,
  sitesOf: (context: number) => readonly number[] | undefined,
): HeapSeries | undefined {
  for (let i = 0; i < TRIES; i++) {
    const turn = view.getUint32(layout.control + Control.intervalTurn, true);
    if (turn % 2 === 1) continue;
    const series = new SeriesReader(view, layout, sitesOf).read();
    if (view.getUint32(layout.control + Control.intervalTurn, true) === turn) return series;
  }
  return undefined;
}

class SeriesReader {
  readonly #view: DataView;
  readonly #layout: ShadowLayout;
  readonly #sitesOf: (context: number) => readonly number[] | undefined;
  readonly #byContext = new Map<number, SeriesChange[]>();
  readonly #changes: HeapSeries["changes"] = new Map();

  constructor(
    view: DataView,
    layout: ShadowLayout,
    sitesOf: (context: number) => readonly number[] | undefined,
  ) {
    this.#view = view;
    this.#layout = layout;
    this.#sitesOf = sitesOf;
  }

  read(): HeapSeries | undefined {
    const { control } = this.#layout;
    const from = this.#u64(control + Control.intervalsFrom);
    const now = this.#u64(control + Control.allocations);
    if (this.#u64(control + Control.deadline) === 0) return undefined;
    const count = this.#u32(control + Control.intervals);
    const intervals: SeriesInterval[] = [];
    let start = from;
    let change = 0;
    for (let i = 0; i < count; i++) {
      const at = this.#layout.intervals + i * INTERVAL_BYTES;
      const changesEnd = this.#u32(at + Interval.changesEnd);
      for (; change < changesEnd; change++) this.#addChange(change, start, false);
      const next = this.#u32(at + Interval.next);
      intervals.push({
        start,
        end: this.#u64(at + Interval.end),
        live: this.#live(at + Interval.live),
        max: this.#live(at + Interval.peak),
        next: next === 0 ? undefined : this.#sitesOf(next),
      });
      start = intervals[i].end;
    }
    const changes = this.#u32(control + Control.changes);
    const isOpen = now > start || changes > change || count === 0;
    for (; change < changes; change++) this.#addChange(change, start, true);
    if (isOpen) {
      const live = this.#live(control + Control.live);
      const before = this.#live(control + Control.intervalPeak);
      const max = before.bytes >= live.bytes ? before : live;
      intervals.push({ start, end: now, live, max, next: undefined });
    }
    const period = 2 ** this.#u32(control + Control.intervalScale);
    return { period, intervals, lastIsPartial: isOpen && now - start < period, changes: this.#changes };
  }

  #addChange(index: number, at: number, isOpen: boolean): void {
    const entry = this.#layout.changes + index * CHANGE_BYTES;
    const context = this.#u32(entry + Change.context);
    const changes = this.#changesOf(context);
    if (changes === undefined) return;
    const open = isOpen ? this.#unsettled(context) : NOTHING;
    changes.push({
      at,
      allocations: this.#u32(entry + Change.allocations) + open.allocated.blocks,
      allocatedBytes: this.#u64(entry + Change.allocatedBytes) + open.allocated.bytes,
      frees: this.#u32(entry + Change.frees) + open.freed.blocks,
      freedBytes: this.#u64(entry + Change.freedBytes) + open.freed.bytes,
    });
  }

  /** Where the changes of a context go; its path is made once. */
  #changesOf(context: number): SeriesChange[] | undefined {
    const known = this.#byContext.get(context);
    if (known !== undefined) return known;
    const sites = context === 0 ? [] : this.#sitesOf(context);
    if (sites === undefined) return undefined;
    const key = pathKey(sites);
    const { changes } = this.#changes.get(key) ?? { changes: [] };
    this.#changes.set(key, { sites, changes });
    this.#byContext.set(context, changes);
    return changes;
  }

  /** What a context has done since that was added up last. */
  #unsettled(context: number): { allocated: Live; freed: Live } {
    const entry = this.#layout.mibs + context * CONTEXT_BYTES;
    const past = this.#layout.pasts + context * PAST_BYTES;
    const since = (field: number, before: number): Live =>
      splitLive(this.#view.getBigUint64(entry + field, true) - this.#view.getBigUint64(past + before, true));
    return {
      allocated: since(Context.allocated, Past.allocated),
      freed: since(Context.freed, Past.freed),
    };
  }

  #live(at: number): Live {
    return splitLive(this.#view.getBigUint64(at, true));
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  #u64(at: number): number {
    return this.#u32(at) + this.#u32(at + 4) * 2 ** 32;
  }
}

const NOTHING = { allocated: { bytes: 0, blocks: 0 }, freed: { bytes: 0, blocks: 0 } };

/** The first interval begins now. Not to be called while the program runs in another thread. */
export function forgetIntervals(view: DataView, { control }: ShadowLayout): void {
  const now = view.getBigUint64(control + Control.allocations, true);
  const live = view.getBigUint64(control + Control.live, true);
  const stamp = view.getUint32(control + Control.stamp, true) + 1;
  view.setUint32(control + Control.stamp, stamp, true);
  view.setUint32(control + Control.intervalStamp, stamp, true);
  view.setBigUint64(control + Control.intervalPeak, live, true);
  view.setBigUint64(control + Control.peakLimit, live | BigInt(2 ** LIVE_BLOCK_BITS - 1), true);
  view.setBigUint64(control + Control.intervalsFrom, now, true);
  view.setBigUint64(control + Control.intervalWork, 0n, true);
  // The next allocation finds the first interval due to end behind it.
  view.setBigUint64(control + Control.deadline, now + 1n, true);
  view.setUint32(control + Control.limit, 0, true);
  for (const field of [Control.intervalScale, Control.intervals, Control.changes, Control.openChanges])
    view.setUint32(control + field, 0, true);
}

/**
 * Adds what an instance handed out earlier: changes of contexts, which belong to the interval that has their clock in it, and the
 * call paths that came after intervals.
 */
export function withHistory(series: HeapSeries, history: readonly HeapSeries[]): HeapSeries {
  const nexts = new Map(history.flatMap(({ intervals }) => intervals.map(({ end, next }) => [end, next])));
  for (const [key, { sites, changes }] of history.flatMap((earlier) => [...earlier.changes])) {
    const known = series.changes.get(key);
    if (known === undefined) series.changes.set(key, { sites, changes: [...changes] });
    else known.changes.push(...changes);
  }
  for (const interval of series.intervals) interval.next ??= nexts.get(interval.end);
  return series;
}
