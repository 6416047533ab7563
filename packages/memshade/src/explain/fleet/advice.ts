export interface UnreadField {
  readonly name: string | undefined;
  readonly offset: number;
  readonly size: number;
}

export interface ColdFields {
  readonly kind: "cold-fields";
  readonly site: bigint;
  readonly type: string | undefined;
  readonly element: number;
  readonly fields: readonly UnreadField[];
  readonly runs: number;
  readonly saves: number;
}

export interface UsedTogether {
  readonly kind: "used-together";
  readonly sites: readonly [bigint, bigint];
  /** Share of the intervals with both places among those with either, in the run where it is smallest. */
  readonly overlap: number;
  readonly runs: number;
  /** Upper bound of the bytes saved in the interval with the largest saving: the untouched part of their lines. */
  readonly saves: number;
  /** Upper bound of the reduction of a run's largest working set; another interval may become the largest. */
  readonly savesOfLargest: number;
}

export type LayoutAdvice = ColdFields | UsedTogether;

export interface LayoutRow {
  readonly run: bigint;
  readonly site: bigint;
  readonly type: string | undefined;
  readonly element: number;
  readonly bytes: number;
  readonly fields: readonly UnreadField[];
}

export interface OwnerRow {
  readonly run: bigint;
  readonly interval: number;
  readonly site: bigint;
  readonly bytes: number;
  /** Touched part of the interval's lines; undefined if it was not counted. */
  readonly fill: number | undefined;
}

export interface IntervalRow {
  readonly run: bigint;
  readonly interval: number;
  readonly bytes: number;
}

/** Least number of runs for a statement about all runs. */
const LEAST_RUNS = 2;
/**
 * Least number of intervals. Two places that are each used in a random half of the intervals coincide in eight of them
 * once in 6,561 times.
 */
export const LEAST_INTERVALS = 8;
/** Least overlap: at the ends of phases, intervals contain only one of the two places. */
const LEAST_OVERLAP = 0.9;
/** Memory is fetched in lines, so a saving below one line has no effect. */
const LINE_BYTES = 64;

/**
 * Finds fields that are never read in any of the runs that allocate such records.
 *
 * For example: 12 runs, each with 1,000 records of 96 bytes, of which 24 bytes are never read: saves 24,000
 */
export function coldFields(rows: readonly LayoutRow[]): ColdFields[] {
  const places = grouped(rows, ({ site, type, element }) => `${site} ${type} ${element}`);
  return [...places.values()].flatMap((placeRows): ColdFields[] => {
    const runs = new Set(placeRows.map(({ run }) => run)).size;
    const [{ site, type, element, fields }] = placeRows as [LayoutRow, ...LayoutRow[]];
    const cold = fields.filter((field) =>
      placeRows.every((row) => row.fields.some((other) => isSame(field, other))),
    );
    if (runs < LEAST_RUNS || cold.length === 0) return [];
    const part = cold.reduce((sum, { size }) => sum + size, 0) / element;
    const bytes = placeRows.reduce((sum, row) => sum + row.bytes, 0) / runs;
    const saves = bytes * part;
    return saves < LINE_BYTES
      ? []
      : [{ kind: "cold-fields", site, type, element, fields: cold, runs, saves }];
  });
}

function isSame(a: UnreadField, b: UnreadField): boolean {
  return a.offset === b.offset && a.size === b.size && a.name === b.name;
}

/**
 * Finds places whose blocks are used in the same intervals, in each run that has both.
 *
 * @param intervals of all runs; the largest interval of a run may have none of the places
 */
export function usedTogether(rows: readonly OwnerRow[], intervals: readonly IntervalRow[]): UsedTogether[] {
  const intervalsOf = grouped(intervals, ({ run }) => run);
  const pairs = new Map<string, UsedTogether>();
  const dropped = new Set<string>();
  const byRun = grouped(rows, ({ run }) => run);
  for (const [run, runRows] of byRun) {
    const places = [...grouped(runRows, ({ site }) => site)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [index, [a, ofA]] of places.entries())
      for (const [b, ofB] of places.slice(index + 1)) {
        const key = `${a} ${b}`;
        const overlap = overlapOf(ofA, ofB);
        if (overlap < LEAST_OVERLAP) dropped.add(key);
        const existing = pairs.get(key);
        const saved = savedBy(ofA, ofB, intervalsOf.get(run) ?? []);
        pairs.set(key, {
          kind: "used-together",
          sites: [a, b],
          overlap: Math.min(overlap, existing?.overlap ?? 1),
          runs: (existing?.runs ?? 0) + 1,
          saves: Math.max(saved.most, existing?.saves ?? 0),
          savesOfLargest: Math.max(saved.ofLargest, existing?.savesOfLargest ?? 0),
        });
      }
  }
  return [...pairs].flatMap(([key, pair]) =>
    dropped.has(key) || pair.runs < LEAST_RUNS || pair.saves < LINE_BYTES ? [] : [pair],
  );
}

function overlapOf(a: readonly OwnerRow[], b: readonly OwnerRow[]): number {
  const inA = new Set(a.map(({ interval }) => interval));
  const inB = new Set(b.map(({ interval }) => interval));
  const both = [...inA].filter((interval) => inB.has(interval)).length;
  return both < LEAST_INTERVALS ? 0 : both / (inA.size + inB.size - both);
}

/**
 * Returns the untouched bytes of two places' lines: in the interval with the most, and in the largest of all intervals.
 */
function savedBy(
  a: readonly OwnerRow[],
  b: readonly OwnerRow[],
  intervals: readonly IntervalRow[],
): { readonly most: number; readonly ofLargest: number } {
  const saved = new Map<number, number>();
  for (const { interval, bytes, fill = 1 } of [...a, ...b])
    saved.set(interval, (saved.get(interval) ?? 0) + bytes * (1 - fill));
  const largest = largestOf(intervals.map(({ bytes }) => bytes));
  const then = largestOf(intervals.map(({ interval, bytes }) => bytes - (saved.get(interval) ?? 0)));
  return { most: largestOf([...saved.values()]), ofLargest: largest - then };
}

/** Returns the largest value, 0 for none. The list may be too long for the arguments of a call. */
function largestOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function grouped<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}
