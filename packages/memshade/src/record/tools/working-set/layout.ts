// Where things are in the working-set tool's memory, for the code that fills it and for the one that reads it. README.md has a
// drawing.
import { MEASURES } from "../../../profile/model/working-set/working-set.ts";
import { BUCKETS } from "../../../profile/model/working-set/working-set-series.ts";

export { BUCKETS, FRESH_BUCKET } from "../../../profile/model/working-set/working-set-series.ts";

/** The order of a snapshot's counters. */
export const MeasureIndex = {
  lines: MEASURES.indexOf("lines"),
  read: MEASURES.indexOf("read"),
  written: MEASURES.indexOf("written"),
  both: MEASURES.indexOf("both"),
  pages4K: MEASURES.indexOf("pages4K"),
  pages64K: MEASURES.indexOf("pages64K"),
  stack: MEASURES.indexOf("stack"),
  statics: MEASURES.indexOf("static"),
  heap: MEASURES.indexOf("heap"),
} as const;
export const MEASURE_COUNT = MEASURES.length;
/** Histories that a line can have: a bucket of its last read and one of its last write. */
export const HISTORIES = BUCKETS * BUCKETS;

/** The clock and the counts of the open interval. */
export const Control = {
  /** u64: units that passed up to the last poll that looked. */
  total: 0,
  /** i32: what the countdown was set to then. */
  loaded: 8,
  /** How often the length of intervals was doubled. */
  scale: 12,
  /** Number of the open interval at that scale. */
  interval: 16,
  /** Snapshots taken. */
  records: 20,
  /** u64: where the open interval began. */
  start: 24,
  /** u64: when it is due. */
  deadline: 32,
  /** Stack noted for the snapshot at hand, plus one. */
  stack: 40,
  /** Real time: set by the host when an interval is due. */
  flag: 44,
  /** u64: the real time at that moment. */
  now: 48,
  /** Bytes used in STACKS. */
  stackNext: 56,
  /** 1 while a snapshot is being taken. */
  busy: 60,
  /** i32: the countdown as it was when the host got control last, for readers. */
  clock: 64,
  /** 1 while the module's code runs and has not handed control to the host: written together with `clock`. */
  inside: 68,
  /** u64: lines looked at by snapshots. */
  work: 72,
  /** u64: accesses up to the last poll, where intervals are of real time. */
  accesses: 80,
  /** Regions, as they were when the host entered last: lines of the stack …. */
  stackFrom: 88,
  stackTo: 92,
  /** … and the first line of the heap. */
  heapFrom: 96,
  /** Lines of the program's memory, as last looked at. */
  highLines: 100,
  /** How often the host entered though the code that it had called before neither returned nor threw: it trapped. */
  traps: 104,
  counts: 128,
  /** While a snapshot is taken: the histories of a page's lines as seen from now. */
  scanAged: 1024,
  /** Four u32 for each way to be touched and each history. */
  scanCounters: 4096,
} as const;
export const CONTROL_BYTES = 4096 + 16384;

/** u32 per measure and bucket. */
export const COUNTS_BYTES = MEASURE_COUNT * BUCKETS * 4;
/** A snapshot: this header, with the counts. */
export const Snapshot = {
  scale: 0,
  interval: 4,
  /** u64. */
  start: 8,
  /** u64. */
  end: 16,
  stack: 24,
  counts: 32,
} as const;
export const SNAPSHOT_BYTES = Snapshot.counts + COUNTS_BYTES;
