/** Figure of two sides: of a single run each, or the median of several. */
export interface OldAndNew {
  readonly old: number;
  readonly new: number;
}

export interface Range {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
}

/** Ranges of the figures, if a side has several runs. */
export interface Spread {
  readonly old: Range;
  readonly new: Range;
  readonly total: { readonly old: readonly [number, number]; readonly new: readonly [number, number] };
}

export interface Change<Measure> {
  readonly measure: Measure;
  readonly total: OldAndNew;
  readonly old: Float64Array;
  readonly new: Float64Array;
  readonly spread?: Spread | undefined;
}

type Columns = Pick<Change<unknown>, "old" | "new" | "spread">;

/** Values of all runs of a side: one per pair for each run, and its total. */
export interface RunValues {
  readonly rows: readonly Float64Array[];
  readonly totals: readonly number[];
}

export function changeOf<Measure>(measure: Measure, old: RunValues, now: RunValues): Change<Measure> {
  const isSpread = old.rows.length > 1 || now.rows.length > 1;
  return {
    measure,
    total: { old: median(old.totals), new: median(now.totals) },
    old: medians(old.rows),
    new: medians(now.rows),
    ...(isSpread && {
      spread: {
        old: rangeOf(old.rows),
        new: rangeOf(now.rows),
        total: { old: ends(old.totals), new: ends(now.totals) },
      },
    }),
  };
}

/**
 * Returns the indices of the pairs whose values differ, the largest difference first; equal ones keep their order.
 * Differences within the spread of the runs come last.
 */
export function rankChanges(change: Columns): number[] {
  const { old, new: now } = change;
  const sizeOf = (pair: number) => Math.abs(now[pair]! - old[pair]!);
  const within = (pair: number) => Number(isWithinSpread(change, pair));
  return Array.from(old.keys())
    .filter((pair) => now[pair] !== old[pair])
    .sort((a, b) => within(a) - within(b) || sizeOf(b) - sizeOf(a));
}

/** Returns true if the ranges of the two sides overlap, so that the difference may be chance. */
export function isWithinSpread({ spread }: Columns, pair: number): boolean {
  if (spread === undefined) return false;
  const { old, new: now } = spread;
  return doOverlap([old.low[pair]!, old.high[pair]!], [now.low[pair]!, now.high[pair]!]);
}

export function isTotalWithinSpread({ spread }: { readonly spread?: Spread | undefined }): boolean {
  return spread !== undefined && doOverlap(spread.total.old, spread.total.new);
}

function doOverlap(a: readonly [number, number], b: readonly [number, number]): boolean {
  return a[0] <= b[1] && b[0] <= a[1];
}

/** Returns the median; for an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function ends(values: readonly number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

function medians(rows: readonly Float64Array[]): Float64Array {
  return rows[0]!.map((_, pair) => median(rows.map((values) => values[pair]!)));
}

function rangeOf(rows: readonly Float64Array[]): Range {
  const each = Array.from(rows[0]!, (_, pair) => ends(rows.map((values) => values[pair]!)));
  return { low: each.map(([low]) => low), high: each.map(([, high]) => high) };
}
