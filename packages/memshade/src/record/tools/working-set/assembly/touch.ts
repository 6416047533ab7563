import {
  BIG_PAGES,
  CONTROL,
  HEAP_FROM,
  HISTORY,
  LINES,
  PAGES,
  STACK_FROM,
  STACK_TO,
  WRITTEN,
} from "./imports";
import { BUCKETS, Control, FRESH_BUCKET, MeasureIndex } from "./layout.generated";

@inline
function count(measure: u32, bucket: u32, change: i32): void {
  const at: usize = CONTROL + (measure * BUCKETS + bucket) * 4;
  store<i32>(at, load<i32>(at, Control.counts) + change, Control.counts);
}

/**
 * Returns the number of binary time scales at which the intervals `now` and `before` differ. Both are numbers plus one;
 * 0: never.
 */
@inline
export function bucketOf(now: u32, before: u32): u32 {
  return min(32 - clz((now - 1) ^ (before - 1)), FRESH_BUCKET);
}

@inline
export function regionOf(line: u32): u32 {
  if (line >= STACK_FROM && line < STACK_TO) return MeasureIndex.stack;
  return line >= HEAP_FROM ? MeasureIndex.heap : MeasureIndex.statics;
}

/** Counts `lines` touched lines of one region with the same history. `kinds`: 1 read, 2 written, 3 both. */
export function countHistory(history: u32, kinds: u32, region: u32, lines: i32): void {
  const read = FRESH_BUCKET - (history & 15);
  const written = FRESH_BUCKET - (history >>> 4);
  const nextRead = kinds & 1 ? 0 : read;
  const nextWritten = kinds & 2 ? 0 : written;
  if (kinds & 1) count(MeasureIndex.read, read, lines);
  if (kinds & 2) count(MeasureIndex.written, written, lines);
  if (max(nextRead, nextWritten) !== FRESH_BUCKET) {
    // Lines both read and written: added at the bucket of the older touch now, and removed at the one before.
    count(MeasureIndex.both, max(read, written), lines);
    count(MeasureIndex.both, max(nextRead, nextWritten), -lines);
  }
  const bucket = min(read, written);
  if (bucket !== 0) {
    count(MeasureIndex.lines, bucket, lines);
    count(region, bucket, lines);
  }
}

/**
 * Marks the 4 KiB page and the 64 KiB page of a line as touched. Returns the most recent history that a line of the
 * page can have.
 */
@inline
export function touchPages(line: u32): u32 {
  const now = load<u32>(CONTROL, Control.interval) + 1;
  touchPage(BIG_PAGES + ((line >>> 10) << 1), now, MeasureIndex.pages64K);
  return FRESH_BUCKET - touchPage(PAGES + ((line >>> 6) << 1), now, MeasureIndex.pages4K);
}

@inline
function touchPage(at: usize, now: u32, measure: u32): u32 {
  const bucket = bucketOf(now, load<u16>(at));
  if (bucket === 0) return 0;
  store<u16>(at, <u16>now);
  count(measure, bucket, 1);
  return bucket;
}

/**
 * Returns the bucket of the previous touch of a line, in an open interval. A line's history is relative to the last
 * interval that touched its page.
 */
export function bucketOfLine(line: u32): u32 {
  const now = load<u32>(CONTROL, Control.interval) + 1;
  const history: u32 = load<u8>(HISTORY + line);
  const since = bucketOf(now, load<u16>(PAGES + ((line >>> 6) << 1)));
  return max(FRESH_BUCKET - max(history & 15, history >>> 4), since);
}

function markLines(first: u32, last: u32, writes: u32): void {
  const plane: usize = writes ? WRITTEN : 0;
  let line = first;
  const ones = i8x16.splat(1);
  for (; line + 15 <= last; line += 16) v128.store(plane + line, ones);
  for (; line <= last; line++) store<u8>(plane + line, 1);
}

/**
 * Records an access of `size` bytes at `address` by the program or the host. Ranges beyond the covered memory are left
 * to trap.
 */
function touchRange(address: u32, size: u32, writes: u32): void {
  if (size === 0) return;
  const last = (<u64>address + size - 1) >>> 6;
  if (last >= LINES) return;
  markLines(address >>> 6, <u32>last, writes);
}

export function hostRead(address: u32, size: u32): void {
  touchRange(address, size, 0);
}

export function hostWrote(address: u32, size: u32): void {
  touchRange(address, size, 1);
}

export function copied(destination: u32, source: u32, size: u32): void {
  touchRange(source, size, 0);
  touchRange(destination, size, 1);
}

export function filled(destination: u32, _value: u32, size: u32): void {
  touchRange(destination, size, 1);
}

/** Called after `memory.init`. */
export function initialized(destination: u32, size: u32): void {
  touchRange(destination, size, 1);
}
