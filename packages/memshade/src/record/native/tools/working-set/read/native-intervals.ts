import type { SnapshotRecord } from "../../../../../profile/model/working-set/working-set-series.ts";
import type { AttributionEntry } from "../../../../tools/working-set/attribution/read/open-attribution.ts";
import type { SnapshotTaken } from "./mark-stream.ts";
import type { MarkedLines } from "./marked-lines.ts";

/** How intervals are measured. */
export interface NativeIntervals {
  /** nanoseconds, or accesses */
  interval: number;
  /** even */
  maxIntervals: number;
  unit: "wall" | "cpu" | "accesses";
  /** Intervals become longer where looking at the lines would cost more than a small part of the run. */
  adaptive: boolean;
}

/** With intervals of its own choice the tool looks at lines for at most one part in so many of the time. */
const LEAST_TIME_PER_WORK = 50;
/** What a snapshot takes, and a piece of it, nanoseconds; clocks would have the times in, too, in which others have the processor. */
const SNAPSHOT_NS = 200_000;
const PIECE_NS = 8_000;
/** What it takes to find out whose a line is. */
const OWNED_LINE_NS = 80;

/** The intervals of a process, one snapshot after the other. */
export class IntervalRecords {
  readonly records: SnapshotRecord[] = [];
  /** Nanoseconds of the monotonic clock at which each record ended. */
  readonly moments: number[] = [];
  /** Whose the lines of each record are, where that is asked for. */
  readonly shares: AttributionEntry[][] = [];
  scale = 0;
  readonly #lines: MarkedLines;
  readonly #how: NativeIntervals;
  readonly #begin: number;
  #start = 0;
  #work = 0;

  /** @param begin nanoseconds of the monotonic clock when the process began */
  constructor(lines: MarkedLines, how: NativeIntervals, begin: number) {
    this.#lines = lines;
    this.#how = how;
    this.#begin = begin;
  }

  /** Time that has passed for the process, in the unit of its intervals. */
  timeOf({ now, cpu, accesses }: Pick<SnapshotTaken, "now" | "cpu" | "accesses">): number {
    if (this.#how.unit === "accesses") return Math.max(accesses, this.#start);
    // A process that has ended has no clock any more.
    if (this.#how.unit === "cpu") return Math.max(cpu, this.#start);
    return Math.max(now - this.#begin, this.#start);
  }

  /** When the open interval is due. */
  get due(): number {
    const period = this.period;
    return (Math.floor(this.#start / period) + 1) * period;
  }

  get period(): number {
    return this.#how.interval * 2 ** this.scale;
  }

  /** Ends the open interval. `isLast`: the process has ended. */
  end(taken: SnapshotTaken, isLast = false): void {
    const { interval, owners } = this.#lines;
    if (isLast && this.#lines.lines === 0 && this.records.length > 0) {
      const before = this.records[this.records.length - 1];
      // The system takes a while to end a process, and others to see that: this is no interval of the program's.
      before.end += Math.min(this.timeOf(taken) - this.#start, this.period);
      this.moments[this.moments.length - 1] = taken.now;
      return;
    }
    this.#work += SNAPSHOT_NS + PIECE_NS * this.#lines.pieces;
    if (owners !== undefined) {
      this.#work += OWNED_LINE_NS * this.#lines.lines;
      this.shares.push(owners.end());
    }
    const now = this.timeOf(taken);
    this.records.push({
      scale: this.scale,
      interval,
      start: this.#start,
      end: now,
      counts: this.#lines.end(),
    });
    this.moments.push(taken.now);
    this.#start = now;
    const isDear = this.#how.adaptive && this.#work * LEAST_TIME_PER_WORK > now;
    if (interval + 1 < this.#how.maxIntervals && !(isDear && (interval & 1) === 1)) return;
    this.#lines.mergeNeighbours();
    this.scale++;
  }
}
