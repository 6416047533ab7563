/** A field of records that no run read. */
export interface UnreadField {
  readonly name: string | undefined;
  readonly offset: number;
  readonly size: number;
}

/** Fields of the records of one place that are cold together in all runs. */
export interface ColdFields {
  readonly kind: "cold-fields";
  readonly site: bigint;
  readonly type: string | undefined;
  readonly element: number;
  readonly fields: readonly UnreadField[];
  readonly runs: number;
  /** Bytes of all such fields, a mean over the runs. */
  readonly saves: number;
}

/** Two places whose blocks are used in the same intervals in all runs. */
export interface UsedTogether {
  readonly kind: "used-together";
  readonly sites: readonly [bigint, bigint];
  /** Part of the intervals with either that have both, in the run where it is smallest. */
  readonly overlap: number;
  readonly runs: number;
  /** Bytes in the interval where it is most, at most: what their lines have that nobody touches. */
  readonly saves: number;
  /** By how much the largest working set of a run would be smaller, at most: another interval may then be the largest. */
  readonly savesOfLargest: number;
}

export type LayoutAdvice = ColdFields | UsedTogether;

/** One run's records of a place. */
export interface LayoutRow {
  readonly run: bigint;
  readonly site: bigint;
  readonly type: string | undefined;
  readonly element: number;
  readonly bytes: number;
  readonly fields: readonly UnreadField[];
}

/** A place in an interval of a run. */
export interface OwnerRow {
  readonly run: bigint;
  readonly interval: number;
  readonly site: bigint;
  readonly bytes: number;
  /** Part of the interval's lines that was touched; undefined where nobody counted that. */
  readonly fill: number | undefined;
}

/** The working set of an interval of a run, in bytes. */
export interface IntervalRow {
  readonly run: bigint;
  readonly interval: number;
  readonly bytes: number;
}

/** In fewer runs nothing is said of all runs. */
const LEAST_RUNS = 2;
/** Of two places that are each used in half of the intervals, by chance, eight intervals that have one have the other, too, once in 6,561 times. */
export const LEAST_INTERVALS = 8;
/** At the ends of phases intervals have one of the two alone. */
const LEAST_OVERLAP = 0.9;
/** Memory comes in lines: what saves less than one changes nothing. */
const LINE_BYTES = 64;

/**
 * Fields that nobody reads in any of the runs that allocate such records.
 *
 * For example: 96-byte records, 12 runs, each with 1,000 of them, and 24 bytes that none reads: saves 24,000
 */
export function coldFields(rows: readonly LayoutRow[]): ColdFields[] {
  const places = grouped(rows, ({ site, type, element }) => `${site} ${type} ${element}`);
  return [...places.values()].flatMap((of): ColdFields[] => {
    const runs = new Set(of.map(({ run }) => run)).size;
    const [{ site, type, element, fields }] = of as [LayoutRow, ...LayoutRow[]];
    const cold = fields.filter((field) =>
      of.every((row) => row.fields.some((other) => isSame(field, other))),
    );
    if (runs < LEAST_RUNS || cold.length === 0) return [];
    const part = cold.reduce((sum, { size }) => sum + size, 0) / element;
    const bytes = of.reduce((sum, row) => sum + row.bytes, 0) / runs;
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
 * Places whose blocks are used in the same intervals, in each run that has both.
 *
 * @param intervals of all runs; the largest of a run may be one that has none of the places
 */
export function usedTogether(rows: readonly OwnerRow[], intervals: readonly IntervalRow[]): UsedTogether[] {
  const intervalsOf = grouped(intervals, ({ run }) => run);
  const pairs = new Map<string, UsedTogether>();
  const dropped = new Set<string>();
  const byRun = grouped(rows, ({ run }) => run);
  for (const [run, of] of byRun) {
    const places = [...grouped(of, ({ site }) => site)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [index, [a, ofA]] of places.entries())
      for (const [b, ofB] of places.slice(index + 1)) {
        const key = `${a} ${b}`;
        const overlap = overlapOf(ofA, ofB);
        if (overlap < LEAST_OVERLAP) dropped.add(key);
        const known = pairs.get(key);
        const saved = savedBy(ofA, ofB, intervalsOf.get(run) ?? []);
        pairs.set(key, {
          kind: "used-together",
          sites: [a, b],
          overlap: Math.min(overlap, known?.overlap ?? 1),
          runs: (known?.runs ?? 0) + 1,
          saves: Math.max(saved.most, known?.saves ?? 0),
          savesOfLargest: Math.max(saved.ofLargest, known?.savesOfLargest ?? 0),
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

/** The bytes of their lines that nobody touches: in the interval where they are most, and what the largest of all intervals has of it. */
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

/** Of any number of values, which a call has no room for; 0 for none. */
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
