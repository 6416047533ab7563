import {
  ACCESSES,
  ADAPTIVE,
  BIG_PAGES,
  BOTH,
  beforePoll,
  beforeScan,
  CONTROL,
  clock,
  HEAP_FROM,
  HISTORY,
  INTERVAL_HIGH,
  INTERVAL_LOW,
  LINES,
  LONGEST_COUNTDOWN,
  MOST_INTERVALS,
  merged,
  noteStack,
  PAGES,
  programPages,
  RECORD_CAPACITY,
  RECORDS,
  STACK_FROM,
  STACK_TO,
  setClock,
  WRITTEN,
} from "./imports";
import { COUNTS_BYTES, Control, HISTORIES, MeasureIndex, SNAPSHOT_BYTES, Snapshot } from "./layout.generated";
import { countHistory, regionOf, touchPages } from "./touch";

/** Accesses per scanned line, at least, if the tool chooses the intervals itself. */
const UNITS_PER_LINE: u64 = 256;

@inline
function firstInterval(): u64 {
  return ((<u64>INTERVAL_HIGH) << 32) | INTERVAL_LOW;
}

/**
 * Called in virtual time when the countdown has reached zero. Returns its next start value. Polls are everywhere, so
 * the program's functions must not grow by this code. All of a snapshot is inlined here, which makes the function too
 * large for engines to inline.
 */
export function poll(countdown: i32): i32 {
  beforePoll();
  const total =
    load<u64>(CONTROL, Control.total) + <u64>(<i64>load<i32>(CONTROL, Control.loaded) - <i64>countdown);
  store<u64>(CONTROL, total, Control.total);
  let deadline = load<u64>(CONTROL, Control.deadline);
  if (deadline === 0) deadline = firstInterval();
  if (total >= deadline) {
    endInterval(total);
    const period = firstInterval() << load<u32>(CONTROL, Control.scale);
    deadline = (total / period + 1) * period;
  }
  store<u64>(CONTROL, deadline, Control.deadline);
  return begin(<i32>min(deadline - total, <u64>LONGEST_COUNTDOWN));
}

/**
 * Restarts the countdown. Its copy may stay as it is now after a trap, whatever functions count in their locals until
 * then.
 */
@inline
function begin(countdown: i32): i32 {
  store<i32>(CONTROL, countdown, Control.loaded);
  store<i32>(CONTROL, countdown, Control.clock);
  setClock(countdown);
  return countdown;
}

/**
 * Records the size and the regions of the program's memory. Called after `memory.grow`, and after calls of the host,
 * which may grow it.
 */
export function noteSize(): void {
  store<u32>(CONTROL, STACK_FROM, Control.stackFrom);
  store<u32>(CONTROL, STACK_TO, Control.stackTo);
  store<u32>(CONTROL, HEAP_FROM, Control.heapFrom);
  store<u32>(CONTROL, <u32>min((<u64>programPages()) << 10, <u64>LINES), Control.highLines);
}

@inline
function noteEntry(): void {
  noteSize();
  if (load<u32>(CONTROL, Control.inside) !== 0)
    store<u32>(CONTROL, load<u32>(CONTROL, Control.traps) + 1, Control.traps);
}

export function entered(): void {
  noteEntry();
  const countdown = clock();
  if (countdown <= 0) setClock(poll(countdown));
}

/** Variant of `entered` for real time. */
export function enteredTimed(): void {
  noteEntry();
  if (load<u32>(CONTROL, Control.flag) !== 0) pollFlag();
}

/** Variant of `entered` for a countdown and real time. */
export function enteredBoth(): void {
  noteEntry();
  const countdown = clock();
  if (countdown <= 0 || load<u32>(CONTROL, Control.flag) !== 0) setClock(pollBoth(countdown));
}

export function pollFlag(): void {
  lookAtTime();
}

/** Called if a countdown of accesses has ended for another part of the tool, while intervals are in real time. */
export function pollBoth(countdown: i32): i32 {
  beforePoll();
  store<u64>(ACCESSES, load<u64>(ACCESSES) + <u64>(<i64>load<i32>(CONTROL, Control.loaded) - <i64>countdown));
  const next = begin(LONGEST_COUNTDOWN);
  if (load<u32>(CONTROL, Control.flag) !== 0) lookAtTime();
  return next;
}

@inline
function lookAtTime(): void {
  store<u32>(CONTROL, 0, Control.flag);
  const now = load<u64>(CONTROL, Control.now);
  store<u64>(CONTROL, now, Control.total);
  const period = firstInterval() << load<u32>(CONTROL, Control.scale);
  if (now < load<u64>(CONTROL, Control.deadline)) return;
  endInterval(now);
  store<u64>(CONTROL, (now / period + 1) * period, Control.deadline);
}

@inline
function endInterval(now: u64): void {
  store<u32>(CONTROL, 1, Control.busy);
  noteSize();
  beforeScan();
  const looked = scan();
  const work = load<u64>(CONTROL, Control.work) + looked;
  store<u64>(CONTROL, work, Control.work);
  store<u32>(CONTROL, 0, Control.stack);
  noteStack();
  const number = load<u32>(CONTROL, Control.records);
  if (number < RECORD_CAPACITY) {
    const record: usize = RECORDS + number * SNAPSHOT_BYTES;
    store<u32>(record, load<u32>(CONTROL, Control.scale), Snapshot.scale);
    store<u32>(record, load<u32>(CONTROL, Control.interval), Snapshot.interval);
    store<u64>(record, load<u64>(CONTROL, Control.start), Snapshot.start);
    store<u64>(record, now, Snapshot.end);
    store<u32>(record, load<u32>(CONTROL, Control.stack), Snapshot.stack);
    for (let at: usize = 0; at < COUNTS_BYTES; at += 16) {
      v128.store(record + at, v128.load(CONTROL + at, Control.counts), Snapshot.counts);
      v128.store(CONTROL + at, i32x4.splat(0), Control.counts);
    }
  }
  store<u32>(CONTROL, number + 1, Control.records);
  store<u64>(CONTROL, now, Control.start);
  const interval = load<u32>(CONTROL, Control.interval) + 1;
  const isDear = ADAPTIVE !== 0 && work * UNITS_PER_LINE > now;
  if (interval < MOST_INTERVALS && !(isDear && (interval & 1) === 0))
    store<u32>(CONTROL, interval, Control.interval);
  else mergeNeighbours(interval);
  store<u32>(CONTROL, 0, Control.busy);
}

/** Doubles the length of intervals, and halves the interval numbers in stamps. */
@inline
function mergeNeighbours(interval: u32): void {
  store<u32>(CONTROL, interval >>> 1, Control.interval);
  store<u32>(CONTROL, load<u32>(CONTROL, Control.scale) + 1, Control.scale);
  const lines = load<u32>(CONTROL, Control.highLines);
  shorten(lines);
  halve(PAGES, (lines >>> 6) << 1);
  halve(BIG_PAGES, (lines >>> 10) << 1);
  merged();
}

/** Moves histories one time scale closer. */
@inline
function shorten(lines: u32): void {
  const low = i8x16.splat(0x0f);
  const high = i8x16.splat(-16);
  const none = i8x16.splat(0);
  for (let line: u32 = 0; line < lines; line += 16) {
    const history = v128.load(HISTORY + line);
    if (!v128.any_true(history)) continue;
    const read = v128.and(history, low);
    const written = v128.and(history, high);
    const isRead = i8x16.gt_u(read, none);
    const isWritten = i8x16.gt_u(written, none);
    const nextRead = i8x16.min_u(i8x16.sub(read, isRead), low);
    const nextWritten = i8x16.add_sat_u(written, v128.and(isWritten, i8x16.splat(0x10)));
    v128.store(HISTORY + line, v128.or(nextRead, v128.and(nextWritten, high)));
  }
}

/** Halves stamps. A stamp is a number plus one, 0 for never: ⌊(s − 1) / 2⌋ + 1. */
export function halve(from: usize, bytes: u32): void {
  const ones = i16x8.splat(1);
  for (let at: u32 = 0; at < bytes; at += 16) {
    const stamps = v128.load(from + at);
    v128.store(from + at, i16x8.shr_u(i16x8.add(stamps, ones), 1));
  }
}

const MANY: u64 = 20;
/**
 * Cost of a touched page, besides its lines, and of a group of 16 lines. The unit is the cost of a line that is scanned
 * by itself.
 */
const PAGE_COST: u32 = 8;
const GROUP_COST: u32 = 5;
const UNIFORM_COST: u32 = 2;
const LINES_PER_PAGE: u32 = 64;

/**
 * Scans the lines that were marked since the last snapshot, renews their histories and clears the marks. Returns the
 * cost, in lines. The counts of a line depend only on its history and on how it was touched. There is a counter for
 * each combination; the counts are computed from them at the end of a region of memory.
 */
@inline
function scan(): u32 {
  const end = load<u32>(CONTROL, Control.highLines);
  let looked: u32 = end / LINES_PER_PAGE;
  let region = MeasureIndex.statics;
  for (let page: u32 = 0; page < end; page += LINES_PER_PAGE) {
    if (!isMarked(page)) continue;
    const oldest = touchPages(page);
    looked += PAGE_COST;
    const pageRegion = regionOf(page);
    if (pageRegion !== region) {
      countHistories(region);
      region = pageRegion;
    }
    const both = maskOf(BOTH + page);
    const onlyRead = maskOf(page);
    const onlyWritten = maskOf(WRITTEN + page);
    const read = onlyRead | both;
    const written = onlyWritten | both;
    const isCut = isInside(page, STACK_FROM) || isInside(page, STACK_TO) || isInside(page, HEAP_FROM);
    if (isCut || popcnt(read | written) < MANY) {
      for (let group: u32 = 0; group < LINES_PER_PAGE; group += 16)
        v128.store(CONTROL + group, renew(page + group, oldest), Control.scanAged);
      for (let lines = read | written; lines !== 0; lines &= lines - 1) {
        const bit = ctz(lines);
        if (isCut) {
          const lineRegion = regionOf(page + <u32>bit);
          if (lineRegion !== region) {
            countHistories(region);
            region = lineRegion;
          }
        }
        const kinds = (<u32>(read >>> bit) & 1) | ((<u32>(written >>> bit) & 1) << 1);
        const history: u32 = load<u8>(CONTROL + <u32>bit, Control.scanAged);
        countOne((((kinds << 8) | history) << 4) + ((<u32>bit & 3) << 2));
        looked++;
      }
    } else
      for (let group: u32 = 0; group < LINES_PER_PAGE; group += 16)
        looked += touchGroup(page + group, oldest);
    // A table without marks is never written, and so takes no memory.
    if (onlyRead !== 0) clearMarks(page);
    if (onlyWritten !== 0) clearMarks(WRITTEN + page);
    if (both !== 0) clearMarks(BOTH + page);
  }
  countHistories(region);
  return looked;
}

@inline
function isMarked(page: u32): bool {
  return v128.any_true(v128.or(v128.or(marksOf(page), marksOf(WRITTEN + page)), marksOf(BOTH + page)));
}

@inline
function marksOf(at: usize): v128 {
  return v128.or(v128.or(v128.load(at), v128.load(at, 16)), v128.or(v128.load(at, 32), v128.load(at, 48)));
}

@inline
function maskOf(at: usize): u64 {
  return maskOf16(at) | (maskOf16(at + 16) << 16) | (maskOf16(at + 32) << 32) | (maskOf16(at + 48) << 48);
}

@inline
function maskOf16(at: usize): u64 {
  return <u64>(<u32>i8x16.bitmask(i8x16.neg(v128.load(at))));
}

@inline
function clearMarks(at: usize): void {
  const none = i8x16.splat(0);
  v128.store(at, none);
  v128.store(at, none, 16);
  v128.store(at, none, 32);
  v128.store(at, none, 48);
}

@inline
function isInside(page: u32, boundary: u32): bool {
  return boundary > page && boundary - page < LINES_PER_PAGE;
}

/**
 * Renews the histories of 16 lines. Returns the old ones as seen from now. Nothing of the page was touched after
 * `oldest`, which is one half of a history.
 */
@inline
function renew(line: u32, oldest: u32): v128 {
  const before = v128.load(HISTORY + line);
  const low = i8x16.splat(0x0f);
  const high = i8x16.splat(-16);
  const aged = v128.or(
    i8x16.min_u(v128.and(before, low), i8x16.splat(<i8>oldest)),
    i8x16.min_u(v128.and(before, high), i8x16.splat(<i8>(oldest << 4))),
  );
  const both = v128.load(BOTH + line);
  const read = i8x16.neg(v128.or(v128.load(line), both));
  const written = i8x16.neg(v128.or(v128.load(WRITTEN + line), both));
  v128.store(HISTORY + line, v128.or(aged, v128.or(v128.and(read, low), v128.and(written, high))));
  return aged;
}

/**
 * Renews and counts the histories of 16 lines. Untouched lines are counted too, in counters that are never read.
 * Returns the cost.
 */
@inline
function touchGroup(line: u32, oldest: u32): u32 {
  const both = v128.load(BOTH + line);
  const read = v128.or(v128.load(line), both);
  const written = v128.or(v128.load(WRITTEN + line), both);
  const kinds = v128.or(read, i8x16.add(written, written));
  const aged = renew(line, oldest);
  const first = i16x8.shl(
    i8x16.shuffle(aged, kinds, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
    4,
  );
  const last = i16x8.shl(
    i8x16.shuffle(aged, kinds, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
    4,
  );
  const counter: u32 = i16x8.extract_lane_u(first, 0);
  const like = i16x8.splat(<i16>counter);
  if (i16x8.all_true(v128.and(i16x8.eq(first, like), i16x8.eq(last, like)))) {
    const at: usize = CONTROL + counter;
    v128.store(at, i32x4.add(v128.load(at, Control.scanCounters), i32x4.splat(4)), Control.scanCounters);
    return UNIFORM_COST;
  }
  countOne(counter);
  countOne(i16x8.extract_lane_u(first, 1) + 4);
  countOne(i16x8.extract_lane_u(first, 2) + 8);
  countOne(i16x8.extract_lane_u(first, 3) + 12);
  countOne(i16x8.extract_lane_u(first, 4));
  countOne(i16x8.extract_lane_u(first, 5) + 4);
  countOne(i16x8.extract_lane_u(first, 6) + 8);
  countOne(i16x8.extract_lane_u(first, 7) + 12);
  countOne(i16x8.extract_lane_u(last, 0));
  countOne(i16x8.extract_lane_u(last, 1) + 4);
  countOne(i16x8.extract_lane_u(last, 2) + 8);
  countOne(i16x8.extract_lane_u(last, 3) + 12);
  countOne(i16x8.extract_lane_u(last, 4));
  countOne(i16x8.extract_lane_u(last, 5) + 4);
  countOne(i16x8.extract_lane_u(last, 6) + 8);
  countOne(i16x8.extract_lane_u(last, 7) + 12);
  return GROUP_COST;
}

/** Neighbouring lines have different counters, since loading a value that was just stored is slow. */
@inline
function countOne(counter: u32): void {
  const at: usize = CONTROL + counter;
  store<u32>(at, load<u32>(at, Control.scanCounters) + 1, Control.scanCounters);
}

/** Adds the lines of all histories to the counts of a region, and resets the counters. */
function countHistories(region: u32): void {
  const none = i32x4.splat(0);
  // The first counters have the lines that were not touched.
  for (let kinds: u32 = 1; kinds <= 3; kinds++)
    for (let history: u32 = 0; history < HISTORIES; history++) {
      const at: usize = CONTROL + (((kinds << 8) | history) << 4);
      const lines = v128.load(at, Control.scanCounters);
      if (!v128.any_true(lines)) continue;
      v128.store(at, none, Control.scanCounters);
      countHistory(
        history,
        kinds,
        region,
        i32x4.extract_lane(lines, 0) +
          i32x4.extract_lane(lines, 1) +
          i32x4.extract_lane(lines, 2) +
          i32x4.extract_lane(lines, 3),
      );
    }
}
