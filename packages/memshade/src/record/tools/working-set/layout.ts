// Layout of the working-set tool's memory, for the code that writes it and the code that reads it. README.md has a
// drawing.
import { MEASURES } from "../../../profile/model/working-set/working-set.ts";
import { BUCKETS } from "../../../profile/model/working-set/working-set-series.ts";

export { BUCKETS, FRESH_BUCKET } from "../../../profile/model/working-set/working-set-series.ts";

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
/** Number of histories of a line: a bucket of its last read and one of its last write. */
export const HISTORIES = BUCKETS * BUCKETS;

export const Control = {
  /** u64: units that passed up to the last poll that called the runtime. */
  total: 0,
  /** i32: start value of the countdown at that poll. */
  loaded: 8,
  /** Number of times that the length of intervals was doubled. */
  scale: 12,
  /** Number of the open interval at that scale. */
  interval: 16,
  records: 20,
  /** u64: start of the open interval. */
  start: 24,
  deadline: 32,
  /** Call stack of the current snapshot, plus one. */
  stack: 40,
  /** Real time: set by the host when an interval is due. */
  flag: 44,
  /** u64: the real time at that moment. */
  now: 48,
  stackNext: 56,
  busy: 60,
  /** i32: copy of the countdown for readers, from when the host last got control. */
  clock: 64,
  /** 1 while the module's code runs; 0 once it has handed control to the host. Written together with `clock`. */
  inside: 68,
  /** u64: lines scanned by snapshots. */
  work: 72,
  /** u64: accesses up to the last poll, with intervals in real time. */
  accesses: 80,
  /** Regions at the host's last entry: lines of the stack … */
  stackFrom: 88,
  stackTo: 92,
  /** … and the first line of the heap. */
  heapFrom: 96,
  /** Lines of the program's memory at the last check. */
  highLines: 100,
  /** Traps: entries of the host although the code that it had called before neither returned nor threw. */
  traps: 104,
  counts: 128,
  /** Histories of a page's lines as seen from now, during a snapshot. */
  scanAged: 1024,
  /** Four u32 for each kind of touch and each history. */
  scanCounters: 4096,
} as const;
export const CONTROL_BYTES = 4096 + 16384;

/** u32 per measure and bucket. */
export const COUNTS_BYTES = MEASURE_COUNT * BUCKETS * 4;
export const Snapshot = {
  scale: 0,
  interval: 4,
  start: 8,
  end: 16,
  stack: 24,
  counts: 32,
} as const;
export const SNAPSHOT_BYTES = Snapshot.counts + COUNTS_BYTES;
