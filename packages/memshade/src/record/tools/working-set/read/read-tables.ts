import { MEASURES, type Measure } from "../../../../profile/model/working-set/working-set.ts";
import {
  BUCKETS,
  bucketOf,
  FRESH_BUCKET,
  type SnapshotRecord,
} from "../../../../profile/model/working-set/working-set-series.ts";
import { Control, SNAPSHOT_BYTES, Snapshot } from "../layout.ts";
import { accessesAt, type WorkingSetLayout } from "../memory-plan.ts";
import { Histories, intervalOf } from "./histories.ts";
import { type NotedFrame, notedFrames } from "./note-stack.ts";

const LINES_PER_PAGE = 64;
const LINES_PER_BIG_PAGE = 1024;

/** What the tables of one instance hold. */
export interface WorkingSetTables {
  /** All snapshots, and the open interval as if it ended now. */
  records: SnapshotRecord[];
  /** Per record: offset of its call stack in the stacks' table plus one, 0 for none. */
  stacks: number[];
  /** Units that passed. */
  duration: number;
  /** Accesses that passed, where they are counted: in virtual time, or beside a sampled locality. */
  accesses: number;
  /** Whether the last record's interval was not full. */
  lastIsPartial: boolean;
  /** How often code of the module is known not to have come to its end: what it counted last is missing. */
  cutShort: number;
  /** Snapshots that found no room. */
  lost: number;
  /** Size of the program's memory, as far as the instance knows: that of the last look at it, and all that was touched. Bytes. */
  memoryBytes: number;
  /** Bytes of the call stacks' table in use. */
  stackBytes: number;
}

/** Reads the tables of one instance. Changes nothing, so it may run while the program does. */
export class WorkingSetReader {
  readonly #layout: WorkingSetLayout;
  readonly #memory: WebAssembly.Memory;

  constructor(memory: WebAssembly.Memory, layout: WorkingSetLayout) {
    this.#memory = memory;
    this.#layout = layout;
  }

  read(): WorkingSetTables {
    const view = new DataView(this.#memory.buffer);
    const { records: at, recordCapacity } = this.#layout;
    const taken = view.getUint32(this.#layout.control + Control.records, true);
    const kept = Math.min(taken, recordCapacity);
    const records: SnapshotRecord[] = [];
    const stacks: number[] = [];
    for (let i = 0; i < kept; i++) {
      const record = at + i * SNAPSHOT_BYTES;
      records.push({
        scale: view.getUint32(record + Snapshot.scale, true),
        interval: view.getUint32(record + Snapshot.interval, true),
        start: readU64(view, record + Snapshot.start),
        end: readU64(view, record + Snapshot.end),
        counts: readCounts(view, record + Snapshot.counts),
      });
      stacks.push(view.getUint32(record + Snapshot.stack, true));
    }
    const duration = this.#now(view);
    const { open, marked } = this.#openInterval(view, duration);
    const begun = open.end > open.start || open.counts.lines?.[BUCKETS - 1] !== 0;
    if (begun || records.length === 0) {
      records.push(open);
      stacks.push(0);
    }
    return {
      records,
      stacks,
      duration,
      accesses: this.#accesses(view),
      lastIsPartial: begun,
      cutShort: this.#cutShort(view),
      lost: taken - kept,
      memoryBytes: this.#memoryBytes(view, marked),
      stackBytes: view.getUint32(this.#layout.control + Control.stackNext, true),
    };
  }

  /**
   * Others that have the memory may have made it grow, and the instance gone on there before it looked again. `marked`: end of the
   * lines that the open interval touched.
   */
  #memoryBytes(view: DataView, marked: number): number {
    const { control, bigPages, lines } = this.#layout;
    const noted = view.getUint32(control + Control.highLines, true);
    const stamps = new Uint16Array(this.#memory.buffer, bigPages, Math.ceil(lines / LINES_PER_BIG_PAGE));
    const touched = Math.max(
      stamps.findLastIndex((stamp) => stamp !== 0) + 1,
      Math.ceil(marked / LINES_PER_BIG_PAGE),
    );
    return Math.max(noted, Math.min(lines, touched * LINES_PER_BIG_PAGE)) * 64;
  }

  /** The frames of a noted call stack, innermost first. */
  stack(number: number): NotedFrame[] {
    return notedFrames(new DataView(this.#memory.buffer), this.#layout.stacks, number);
  }

  #now(view: DataView): number {
    const { control, unit } = this.#layout;
    if (unit === "accesses") return this.#accesses(view);
    return Math.max(readU64(view, control + Control.total), readU64(view, control + Control.now));
  }

  #cutShort(view: DataView): number {
    const { control } = this.#layout;
    return view.getUint32(control + Control.traps, true) + view.getUint32(control + Control.inside, true);
  }

  #accesses(view: DataView): number {
    const { control } = this.#layout;
    const before = readU64(view, accessesAt(this.#layout));
    const left = view.getInt32(control + Control.clock, true);
    return before + view.getInt32(control + Control.loaded, true) - left;
  }

  /** The marks of the open interval, counted as a snapshot would count them, and the end of the lines that have some. */
  #openInterval(view: DataView, now: number): { open: SnapshotRecord; marked: number } {
    const { control, lines, written, both, pages, bigPages } = this.#layout;
    const buffer = this.#memory.buffer;
    const interval = view.getUint32(control + Control.interval, true);
    const counts = readCounts(view, control + Control.counts);
    const end = lines;
    const readMarks = new Uint8Array(buffer, 0, end);
    const writtenMarks = new Uint8Array(buffer, written, end);
    const bothMarks = new Uint8Array(buffer, both, end);
    const histories = new Histories(buffer, this.#layout, interval);
    const pageStamps = new Uint16Array(buffer, pages, Math.ceil(end / LINES_PER_PAGE));
    const bigPageStamps = new Uint16Array(buffer, bigPages, Math.ceil(end / LINES_PER_BIG_PAGE));
    const regionOf = this.#regions(view);
    let marked = 0;
    let lastPage = -1;
    let lastBigPage = -1;
    // Four marks at a time: nearly all of them are zero.
    const readQuads = new Int32Array(buffer, 0, end / 4);
    const writtenQuads = new Int32Array(buffer, written, end / 4);
    const bothQuads = new Int32Array(buffer, both, end / 4);
    for (let line = 0; line < end; line++) {
      if ((line & 3) === 0 && (readQuads[line >> 2] | writtenQuads[line >> 2] | bothQuads[line >> 2]) === 0) {
        line += 3;
        continue;
      }
      const isRead = (readMarks[line] | bothMarks[line]) !== 0;
      const isWritten = (writtenMarks[line] | bothMarks[line]) !== 0;
      if (!isRead && !isWritten) continue;
      marked = line + 1;
      const { read, written } = histories.of(line);
      const bucket = Math.min(read, written);
      counts.lines[bucket]++;
      counts[regionOf(line)][bucket]++;
      if (isRead) counts.read[read]++;
      if (isWritten) counts.written[written]++;
      const is = Math.max(isRead ? 0 : read, isWritten ? 0 : written);
      if (is !== FRESH_BUCKET) {
        counts.both[Math.max(read, written)]++;
        counts.both[is]--;
      }
      const page = Math.floor(line / LINES_PER_PAGE);
      if (page !== lastPage) counts.pages4K[bucketOf(interval, intervalOf(pageStamps[page]))]++;
      lastPage = page;
      const bigPage = Math.floor(line / LINES_PER_BIG_PAGE);
      if (bigPage !== lastBigPage) counts.pages64K[bucketOf(interval, intervalOf(bigPageStamps[bigPage]))]++;
      lastBigPage = bigPage;
    }
    const open = {
      scale: view.getUint32(control + Control.scale, true),
      interval,
      start: readU64(view, control + Control.start),
      end: now,
      counts,
    };
    return { open, marked };
  }

  /** What region a line is in, as far as that is known since the host entered last. */
  #regions(view: DataView): (line: number) => Measure {
    const { control } = this.#layout;
    const [stackFrom, stackTo, heapFrom] = [Control.stackFrom, Control.stackTo, Control.heapFrom].map(
      (word) => view.getUint32(control + word, true),
    ) as [number, number, number];
    return (line) => {
      if (line >= stackFrom && line < stackTo) return "stack";
      return line >= heapFrom ? "heap" : "static";
    };
  }
}

function readCounts(view: DataView, at: number): Record<Measure, Int32Array> {
  return Object.fromEntries(
    MEASURES.map((measure, number) => {
      const buckets = new Int32Array(BUCKETS);
      for (let i = 0; i < BUCKETS; i++) buckets[i] = view.getInt32(at + (number * BUCKETS + i) * 4, true);
      return [measure, buckets];
    }),
  ) as Record<Measure, Int32Array>;
}

function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
