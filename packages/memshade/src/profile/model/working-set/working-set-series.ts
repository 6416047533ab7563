import type { Measure, WorkingSetLevel } from "./working-set.ts";

/** Levels that a bucket can name; more than any number of kept intervals has bits. */
export const BUCKETS = 16;
/** Bucket of lines that were never touched before. */
export const FRESH_BUCKET = BUCKETS - 1;

/**
 * Counts of one snapshot. `counts[measure][b]` is the number of lines whose touch in this interval made them new at
 * exactly the binary levels 0 … b − 1 (level i: 2^i intervals in one); with `FRESH_BUCKET`, at all of them. One pass
 * over the lines touched last therefore gives the exact series of all time scales.
 */
export interface SnapshotRecord {
  /** Number of times that the length of intervals was doubled. */
  scale: number;
  /** Number of the interval at that scale, from 0. */
  interval: number;
  start: number;
  end: number;
  counts: Partial<Record<Measure, ArrayLike<number>>>;
}

/**
 * Returns the bucket of a line touched in interval `now` and before that in `before`; undefined: never. 0: new at no
 * level.
 */
export function bucketOf(now: number, before: number | undefined): number {
  return before === undefined ? FRESH_BUCKET : 32 - Math.clz32(now ^ before);
}

/**
 * Builds the series of all scales, finest first, each four times as long as the previous one, up to the one with a
 * single interval.
 *
 * @param lastIsPartial true if the last record's interval was not full
 */
export function buildLevels(records: readonly SnapshotRecord[], lastIsPartial: boolean): WorkingSetLevel[] {
  if (records.length === 0) return [];
  const scale = records[records.length - 1].scale;
  const levels: WorkingSetLevel[] = [];
  for (let level = 0; ; level += 2) {
    const built = buildLevel(records, scale, level, lastIsPartial);
    levels.push(built);
    if (built.start.length <= 1 || level + 2 >= FRESH_BUCKET) return levels;
  }
}

function buildLevel(
  records: readonly SnapshotRecord[],
  scale: number,
  level: number,
  lastIsPartial: boolean,
): WorkingSetLevel {
  const measures = Object.keys(records[0].counts) as Measure[];
  const counts = Object.fromEntries(measures.map((measure) => [measure, [] as number[]])) as Record<
    Measure,
    number[]
  >;
  const built: WorkingSetLevel = {
    factor: 2 ** level,
    start: [],
    end: [],
    lastIsPartial: false,
    counts,
    fresh: [],
  };
  for (const record of records) {
    const shift = level + scale - record.scale;
    const at = Math.floor(record.interval / 2 ** shift);
    while (built.start.length <= at) {
      built.start.push(record.start);
      built.end.push(record.end);
      built.fresh.push(0);
      for (const measure of measures) counts[measure].push(0);
    }
    built.end[at] = record.end;
    for (const measure of measures) counts[measure][at] += newAtLevel(record.counts[measure], shift);
    built.fresh[at] += record.counts.lines?.[FRESH_BUCKET] ?? 0;
  }
  const last = records[records.length - 1];
  const isWhole = (last.interval + 1) % 2 ** level === 0;
  built.lastIsPartial = lastIsPartial || !isWhole;
  return built;
}

function newAtLevel(buckets: ArrayLike<number> | undefined, level: number): number {
  if (buckets === undefined) return 0;
  let sum = 0;
  for (let bucket = Math.min(level + 1, FRESH_BUCKET); bucket < BUCKETS; bucket++) sum += buckets[bucket];
  return sum;
}

/** Returns the total of a run: the lines that were never touched before, in all intervals. */
export function totalOf(records: readonly SnapshotRecord[], measure: Measure): number {
  return records.reduce((sum, { counts }) => sum + (counts[measure]?.[FRESH_BUCKET] ?? 0), 0);
}
