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
  /** Bytes of the largest working set, at most: what their lines have that nobody touches. */
  readonly saves: number;
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

/** In fewer runs nothing is said of all runs. */
const LEAST_RUNS = 2;
/** With fewer intervals two places are in the same ones by chance. */
const LEAST_INTERVALS = 8;
const LEAST_OVERLAP = 0.9;

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
    return [{ kind: "cold-fields", site, type, element, fields: cold, runs, saves: bytes * part }];
  });
}

function isSame(a: UnreadField, b: UnreadField): boolean {
  return a.offset === b.offset && a.size === b.size && a.name === b.name;
}

/** Places whose blocks are used in the same intervals, in each run that has both. */
export function usedTogether(rows: readonly OwnerRow[]): UsedTogether[] {
  const pairs = new Map<string, UsedTogether>();
  const dropped = new Set<string>();
  const byRun = grouped(rows, ({ run }) => run);
  for (const of of byRun.values()) {
    const places = [...grouped(of, ({ site }) => site)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [index, [a, ofA]] of places.entries())
      for (const [b, ofB] of places.slice(index + 1)) {
        const key = `${a} ${b}`;
        const overlap = overlapOf(ofA, ofB);
        if (overlap < LEAST_OVERLAP) dropped.add(key);
        const known = pairs.get(key);
        pairs.set(key, {
          kind: "used-together",
          sites: [a, b],
          overlap: Math.min(overlap, known?.overlap ?? 1),
          runs: (known?.runs ?? 0) + 1,
          saves: Math.max(savedBy(ofA, ofB), known?.saves ?? 0),
        });
      }
  }
  return [...pairs].flatMap(([key, pair]) =>
    dropped.has(key) || pair.runs < LEAST_RUNS || pair.saves === 0 ? [] : [pair],
  );
}

function overlapOf(a: readonly OwnerRow[], b: readonly OwnerRow[]): number {
  const inA = new Set(a.map(({ interval }) => interval));
  const inB = new Set(b.map(({ interval }) => interval));
  const both = [...inA].filter((interval) => inB.has(interval)).length;
  return both < LEAST_INTERVALS ? 0 : both / (inA.size + inB.size - both);
}

/** Of the interval where the two have most: the bytes of their lines that nobody touches. */
function savedBy(a: readonly OwnerRow[], b: readonly OwnerRow[]): number {
  const bytes = new Map<number, number>();
  for (const { interval, bytes: of, fill } of [...a, ...b])
    bytes.set(interval, (bytes.get(interval) ?? 0) + (fill === undefined ? 0 : of * (1 - fill)));
  return Math.max(...bytes.values());
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
