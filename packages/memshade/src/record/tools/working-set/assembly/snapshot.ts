import {
  ACCESSES,
  ADAPTIVE,
  beforePoll,
  beforeScan,
  BIG_PAGES,
  clock,
  CONTROL,
  HEAP_FROM,
  HISTORY,
  INTERVAL_HIGH,
  INTERVAL_LOW,
  LINES,
  LONGEST_COUNTDOWN,
  merged,
  MOST_INTERVALS,
  noteStack,
  PAGES,
  programPages,
  RECORD_CAPACITY,
  RECORDS,
  setClock,
  STACK_FROM,
  STACK_TO,
} from "./imports";
import { COUNTS_BYTES, Control, SNAPSHOT_BYTES, Snapshot } from "./layout.generated";
import { scan } from "./scan";

/** With intervals of its own choice the tool looks at one line for so many accesses at most. */
const UNITS_PER_LINE: u64 = 256;

@inline
function firstInterval(): u64 {
  return ((<u64>INTERVAL_HIGH) << 32) | INTERVAL_LOW;
}

/**
 * Virtual time: the countdown has reached zero. Returns what it starts from next.
 *
 * Polls are everywhere, so nothing of this may end up in the program's functions: everything a snapshot does is inlined
 * here, which makes the function too large for engines to inline it in turn.
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

/** The countdown begins again. A trap may leave it as it is now, whatever functions count in their locals until then. */
@inline
function begin(countdown: i32): i32 {
  store<i32>(CONTROL, countdown, Control.loaded);
  store<i32>(CONTROL, countdown, Control.clock);
  setClock(countdown);
  return countdown;
}

/** Lines and regions of the program's memory. Behind `memory.grow`, and wherever the host may have let it grow. */
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

/** The host enters the program. */
export function entered(): void {
  noteEntry();
  const left = clock();
  if (left <= 0) setClock(poll(left));
}

/** As `entered`, in real time. */
export function enteredTimed(): void {
  noteEntry();
  if (load<u32>(CONTROL, Control.flag) !== 0) pollFlag();
}

/** As `entered`, where both are looked at. */
export function enteredBoth(): void {
  noteEntry();
  const left = clock();
  if (left <= 0 || load<u32>(CONTROL, Control.flag) !== 0) setClock(pollBoth(left));
}

/** Real time: the host has set the flag. As large as `poll`. */
export function pollFlag(): void {
  lookAtTime();
}

/** Real time beside a countdown of accesses, at whose end somebody else has to do something. */
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

/** Intervals become twice as long: so do those that the stamps name. */
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

/** Histories reach back one scale less. */
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

/** Stamps are numbers plus one, 0 for never: ⌊(s − 1) / 2⌋ + 1. */
export function halve(from: usize, bytes: u32): void {
  const one = i16x8.splat(1);
  for (let at: u32 = 0; at < bytes; at += 16) {
    const stamps = v128.load(from + at);
    v128.store(from + at, i16x8.shr_u(i16x8.add(stamps, one), 1));
  }
}
