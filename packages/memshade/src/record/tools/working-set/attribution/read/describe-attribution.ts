import { entryOf } from "../../../../../ground/bytes/entries.ts";
import type {
  AttributedContext,
  Attribution,
  AttributionLevel,
  LineFill,
  StackFrame,
} from "../../../../../profile/model/working-set/working-set.ts";
import {
  FRESH_BUCKET,
  type SnapshotRecord,
} from "../../../../../profile/model/working-set/working-set-series.ts";
import type { ModuleFunctions } from "../../../module-functions.ts";
import type { LinesOf } from "../../../session.ts";
import { innermostMembers } from "../../../source-places.ts";
import { Kind } from "../layout.ts";
import type { AttributionEntry } from "./open-attribution.ts";
import type { AttributedPlace, AttributionTables } from "./read-attribution.ts";

/** Most contexts in a file, and most that it lists per interval. */
const MOST_CONTEXTS = 1024;
const MOST_PER_INTERVAL = 16;

type Attributed = Pick<SnapshotRecord, "scale" | "interval"> & { entries: AttributionEntry[] };

/** Sums over the contexts that have one path. */
interface Totals {
  place: AttributedPlace;
  total: number;
  sum: number;
  peak: number;
}

/** Number of intervals at each scale, by factor. */
export type Scales = readonly { factor: number; intervals: number }[];

type Attributions = Pick<AttributionTables, "snapshots" | "places">;

/**
 * Builds the attribution of a file. `records` are the snapshots of the entries, in order, without the first `skipped`
 * ones of the tables.
 */
export class AttributionDescriber {
  readonly #tables: Attributions;
  readonly #records: readonly SnapshotRecord[];
  readonly #skipped: number;
  readonly #scales: Scales;

  constructor(tables: Attributions, records: readonly SnapshotRecord[], skipped: number, scales: Scales) {
    this.#tables = tables;
    this.#records = records;
    this.#skipped = skipped;
    this.#scales = scales;
  }

  firstTouch(stackOf: StackDescriber): Attribution {
    return this.#attribution(Kind.touch, stackOf);
  }

  owners(stackOf: StackDescriber): Attribution {
    return this.#attribution(Kind.share, stackOf);
  }

  fill(): LineFill {
    const snapshots = this.#entriesOf(Kind.fill);
    const total = snapshots
      .flatMap(({ entries }) => entries)
      .reduce((sum, { bucket, weight }) => sum + (bucket === FRESH_BUCKET ? weight : 0), 0);
    const levels = this.#scales.map(({ factor, intervals }) => ({
      factor,
      bytes: this.#series(snapshots, factor, intervals).map((bytes) =>
        [...bytes.values()].reduce((sum, weight) => sum + weight, 0),
      ),
    }));
    return { levels, total };
  }

  #entriesOf(kind: number): Attributed[] {
    return this.#records.map(({ scale, interval }, i) => ({
      scale,
      interval,
      entries: (this.#tables.snapshots[i + this.#skipped] ?? []).filter((entry) => entry.kind === kind),
    }));
  }

  #series(snapshots: readonly Attributed[], factor: number, intervals: number): Map<string, number>[] {
    const last = snapshots[snapshots.length - 1]?.scale ?? 0;
    const series = Array.from({ length: intervals }, () => new Map<string, number>());
    for (const { scale, interval, entries } of snapshots) {
      const shift = Math.log2(factor) + last - scale;
      const at = series[Math.floor(interval / 2 ** shift)];
      for (const { key, bucket, weight } of entries) {
        if (bucket < Math.min(shift + 1, FRESH_BUCKET)) continue;
        const path = this.#pathOf(key);
        at.set(path, (at.get(path) ?? 0) + weight);
      }
    }
    return series;
  }

  readonly #paths = new Map<number, string>();

  #placeOf(key: number): AttributedPlace {
    return this.#tables.places.get(key) ?? { kind: "unknown", path: [] };
  }

  #pathOf(key: number): string {
    const existing = this.#paths.get(key);
    if (existing !== undefined) return existing;
    const { kind, path, of = "" } = this.#placeOf(key);
    const text = `${kind} ${path.join()}${of}`;
    this.#paths.set(key, text);
    return text;
  }

  #attribution(kind: number, stackOf: StackDescriber): Attribution {
    const snapshots = this.#entriesOf(kind);
    const byPath = new Map<string, Totals>();
    for (const { entries } of snapshots)
      for (const { key, bucket, weight } of entries) {
        const path = this.#pathOf(key);
        const totals = entryOf(byPath, path, () => ({
          place: this.#placeOf(key),
          total: 0,
          sum: 0,
          peak: 0,
        }));
        if (bucket === FRESH_BUCKET) totals.total += weight;
      }
    const series = this.#scales.map(({ factor, intervals }) => this.#series(snapshots, factor, intervals));
    for (const interval of series[0] ?? [])
      for (const [path, weight] of interval) {
        const totals = byPath.get(path) as Totals;
        totals.sum += weight;
        totals.peak = Math.max(totals.peak, weight);
      }
    const ranked = [...byPath]
      .filter(([, { place }]) => place.kind !== "others")
      .sort(([a, x], [b, y]) => y.sum - x.sum || y.total - x.total || (a < b ? -1 : 1));
    const listed = ranked.slice(0, MOST_CONTEXTS);
    const unlistedContexts = ranked.slice(MOST_CONTEXTS);
    const numbers = new Map(listed.map(([path], number) => [path, number]));
    const count = series[0]?.length ?? 1;
    const contexts = listed.map(([, { place, total, sum, peak }]) => ({
      kind: place.kind as AttributedContext["kind"],
      ...(place.of === undefined ? {} : { of: place.of }),
      stack: stackOf(place.path),
      total: round(total),
      mean: round(sum / count),
      peak: round(peak),
    }));
    const unlisted = [...byPath].reduce((sum, [path, { total }]) => sum + (numbers.has(path) ? 0 : total), 0);
    return {
      contexts,
      otherContexts: { contexts: unlistedContexts.length, total: round(unlisted) },
      levels: series.map((intervals, level) => levelOf(this.#scales[level].factor, intervals, numbers)),
    };
  }
}

function levelOf(
  factor: number,
  series: readonly ReadonlyMap<string, number>[],
  numbers: ReadonlyMap<string, number>,
): AttributionLevel {
  const intervals: [number, number][][] = [];
  const others: number[] = [];
  for (const weights of series) {
    const numbered = [...weights].flatMap(([path, weight]): [number, number][] => {
      const number = numbers.get(path);
      return number === undefined || round(weight) === 0 ? [] : [[number, weight]];
    });
    numbered.sort(([a, x], [b, y]) => y - x || a - b);
    const listed = numbered.slice(0, MOST_PER_INTERVAL);
    const totalWeight = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
    intervals.push(listed.map(([number, weight]) => [number, round(weight)]));
    others.push(round(totalWeight - listed.reduce((sum, [, weight]) => sum + weight, 0)));
  }
  return { factor, intervals, others };
}

/** Rounds a sum of fractions, so that it does not depend on the order of its terms. */
function round(weight: number): number {
  return Math.round(weight * 1e6) / 1e6 + 0;
}

/** Returns the frames of a path of code offsets, innermost first. */
export type StackDescriber = (path: readonly number[]) => StackFrame[];

/** Resolves code offsets to functions and, with debug information, lines. */
export function stackDescriber(functions: ModuleFunctions, linesOf: ReturnType<LinesOf>): StackDescriber {
  const frameAt = new Map<number, StackFrame | undefined>();
  const describe = (offset: number): StackFrame | undefined => {
    const within = functions.holding(offset);
    if (within === undefined) return undefined;
    const place = linesOf?.(offset);
    return {
      function: within.index,
      offset,
      ...(within.name === undefined ? {} : { name: within.name }),
      ...innermostMembers(place),
    };
  };
  return (path) =>
    path.flatMap((offset) => {
      if (!frameAt.has(offset)) frameAt.set(offset, describe(offset));
      return frameAt.get(offset) ?? [];
    });
}
