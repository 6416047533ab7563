import { LINE_BYTES } from "../../../../src/ground/bytes/sizes.ts";
import type { Measure } from "../../../../src/profile/model/working-set/working-set.ts";
import {
  BUCKETS,
  bucketOf,
  FRESH_BUCKET,
  type SnapshotRecord,
} from "../../../../src/profile/model/working-set/working-set-series.ts";

/** Intervals in which a line or page was last read and last written. */
interface Stamps {
  read: number | undefined;
  written: number | undefined;
}

export interface StampOptions {
  /** Largest number of intervals, even. If there are more, neighbours are merged and intervals become twice as long. */
  mostIntervals: number;
}

const GRANULES = [
  { bytes: LINE_BYTES, measure: "lines" },
  { bytes: 4096, measure: "pages4K" },
  { bytes: 65536, measure: "pages64K" },
] as const satisfies { bytes: number; measure: Measure }[];

/**
 * The working set of a stream of accesses at all time scales, without sets per interval. Each line has the intervals
 * in which it was last read and last written. A touch in interval k after one in interval p is new at level i iff
 * ⌊k / 2^i⌋ ≠ ⌊p / 2^i⌋.
 */
export class IntervalStamps {
  readonly #mostIntervals: number;
  readonly #stamps = GRANULES.map(() => new Map<number, Stamps>());
  readonly #records: SnapshotRecord[] = [];
  #ticks = 0;
  #scale = 0;
  #interval = 0;
  #start = 0;
  #counts = noCounts();

  constructor(options: StampOptions) {
    this.#mostIntervals = options.mostIntervals;
  }

  access(address: number, size: number, writes: boolean): void {
    GRANULES.forEach(({ bytes }, granule) => {
      if (size === 0) return;
      const last = Math.floor((address + size - 1) / bytes);
      for (let line = Math.floor(address / bytes); line <= last; line++) this.#touch(granule, line, writes);
    });
  }

  /** Ends the shortest interval at `time`; longer ones continue once intervals were merged. */
  tick(time: number): void {
    if (++this.#ticks % 2 ** this.#scale !== 0) return;
    this.#records.push(this.#record(time));
    this.#counts = noCounts();
    this.#start = time;
    if (++this.#interval < this.#mostIntervals) return;
    this.#scale++;
    this.#interval = Math.floor(this.#interval / 2);
    const halve = (stamp: number | undefined) => (stamp === undefined ? undefined : Math.floor(stamp / 2));
    for (const stamps of this.#stamps)
      for (const [line, { read, written }] of stamps)
        stamps.set(line, { read: halve(read), written: halve(written) });
  }

  /** Records of all snapshots, and of the open interval as if it ended at `time`. */
  finish(time: number): SnapshotRecord[] {
    return [...this.#records, this.#record(time)];
  }

  #record(end: number): SnapshotRecord {
    return {
      scale: this.#scale,
      interval: this.#interval,
      start: this.#start,
      end,
      counts: this.#counts,
    };
  }

  #touch(granule: number, line: number, writes: boolean): void {
    const stamps = this.#stamps[granule].get(line);
    const now = this.#interval;
    const { read, written } = stamps ?? { read: undefined, written: undefined };
    const before = latest(read, written);
    const counts = this.#counts;
    counts[GRANULES[granule].measure][bucketOf(now, before)]++;
    const next = { read: writes ? read : now, written: writes ? now : written };
    this.#stamps[granule].set(line, next);
    if (granule !== 0) return;
    counts[writes ? "written" : "read"][bucketOf(now, writes ? written : read)]++;
    // Both: new where the older of the two stamps arrives; not new where it had arrived before.
    const wasBoth = earliest(read, written);
    const isBoth = earliest(next.read, next.written);
    if (isBoth === undefined) return;
    counts.both[wasBoth === undefined ? FRESH_BUCKET : bucketOf(now, wasBoth)]++;
    counts.both[bucketOf(now, isBoth)]--;
  }
}

function noCounts(): Record<"lines" | "read" | "written" | "both" | "pages4K" | "pages64K", number[]> {
  const zeros = () => new Array<number>(BUCKETS).fill(0);
  return {
    lines: zeros(),
    read: zeros(),
    written: zeros(),
    both: zeros(),
    pages4K: zeros(),
    pages64K: zeros(),
  };
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.max(a, b);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.min(a, b);
}
