import { look } from "./drag";
import { CHANGE_CAPACITY, CHANGES, CONTROL, COUNTED, INTERVALS, MIB_CAPACITY, MIBS } from "./imports";
import {
  CHANGE_BYTES,
  CONTEXT_BYTES,
  Change,
  Context,
  Control,
  INTERVAL_BYTES,
  Interval,
  MOST_INTERVALS,
  Past,
} from "./layout.generated";
import { beginMaximum, blocksOf, bytesOf, liveOf, noticePeak, pastOf, roomLeft } from "./live";
import { bump32, bump64 } from "./records";

// Records the heap over time. An interval begins with one allocation and ends before another. The first
// interval has one allocation. When there are too many intervals, neighbours are merged, and all are twice as
// long from then on.
// A context is noted when it changes for the first time in an interval. So the end of an interval costs as
// much as there are changed contexts, and allocations and releases cost nothing.

/** Ends of intervals and changes that are free, before their cost is compared with the allocations. */
const FREE_WORK: u64 = 16384;
/** Allocations that must be made for each end or change after that. */
const ALLOCATIONS_PER_WORK: u64 = 16;
/** Within so many allocations and so many bytes, the packed sums of a context do not overflow. */
const MOST_UNSETTLED: u64 = 1 << 25;
const MOST_UNSETTLED_BYTES: u64 = 1 << 36;
const LAST_TIME: u64 = 0xffffffff;

@inline
function changeAt(index: u32): usize {
  return CHANGES + index * CHANGE_BYTES;
}
@inline
function intervalAt(index: u32): usize {
  return INTERVALS + index * INTERVAL_BYTES;
}

@inline
function newStamp(): u32 {
  const stamp = load<u32>(CONTROL, Control.stamp) + 1;
  store<u32>(CONTROL, stamp, Control.stamp);
  return stamp;
}

export function forgetNoted(): void {
  store<u32>(CONTROL, newStamp(), Control.intervalStamp);
}

export function prepareIntervals(): void {
  forgetNoted();
  store<u64>(CONTROL, 1, Control.deadline);
  store<u64>(CONTROL, 1, Control.nextSample);
}

/**
 * Notes a context that is about to change. Its values at the peak and at the start of the interval are stored
 * if they are still needed.
 */
export function noteChange(mib: usize): void {
  const seen = load<u32>(mib, Context.stamp);
  const stamp = load<u32>(CONTROL, Control.stamp);
  if (seen === stamp) return;
  const past = pastOf(mib);
  if (seen < load<u32>(CONTROL, Control.peakStamp)) store<u64>(past, liveOf(mib), Past.peak);
  if (seen < load<u32>(CONTROL, Control.intervalStamp)) addChange(mib, past);
  store<u32>(mib, stamp, Context.stamp);
}

/** Adds a change record. The table has room, because an interval ends with enough room for the next one. */
function addChange(mib: usize, past: usize): void {
  const index = load<u32>(CONTROL, Control.changes);
  if (index >= CHANGE_CAPACITY) return;
  const change = changeAt(index);
  memory.fill(change, 0, CHANGE_BYTES);
  store<u32>(change, (mib - MIBS) / CONTEXT_BYTES, Change.context);
  store<u64>(past, load<u64>(mib, Context.allocated), Past.allocated);
  store<u64>(past, load<u64>(mib, Context.freed), Past.freed);
  store<u32>(CONTROL, index + 1, Control.changes);
}

/** Adds to the change records the work of contexts in the open interval since the last call. */
function settle(): void {
  const end = changeAt(load<u32>(CONTROL, Control.changes));
  for (let change = changeAt(load<u32>(CONTROL, Control.openChanges)); change < end; change += CHANGE_BYTES) {
    const mib: usize = MIBS + load<u32>(change, Change.context) * CONTEXT_BYTES;
    const past = pastOf(mib);
    const allocated = load<u64>(mib, Context.allocated) - load<u64>(past, Past.allocated);
    const freed = load<u64>(mib, Context.freed) - load<u64>(past, Past.freed);
    bump32(change, Change.allocations, blocksOf(allocated));
    bump64(change, Change.allocatedBytes, bytesOf(allocated));
    bump32(change, Change.frees, blocksOf(freed));
    bump64(change, Change.freedBytes, bytesOf(freed));
    store<u64>(past, load<u64>(mib, Context.allocated), Past.allocated);
    store<u64>(past, load<u64>(mib, Context.freed), Past.freed);
  }
  store<u64>(CONTROL, load<u64>(CONTROL, Control.allocations), Control.settled);
  store<u64>(CONTROL, 0, Control.unsettledBytes);
}

/** Counts bytes of a block from the rare path, and settles before the packed sums overflow. */
@inline
export function settleBytes(size: u32): void {
  const bytes = load<u64>(CONTROL, Control.unsettledBytes) + size;
  if (bytes > MOST_UNSETTLED_BYTES) settle();
  else store<u64>(CONTROL, bytes, Control.unsettledBytes);
}

@inline
export function isLimit(): bool {
  return load<u32>(CONTROL, Control.allocations) >= load<u32>(CONTROL, Control.limit);
}

export function passLimit(): void {
  const time = load<u64>(CONTROL, Control.allocations);
  if (time >= load<u64>(CONTROL, Control.deadline)) endInterval(time);
  else if (time - load<u64>(CONTROL, Control.settled) >= MOST_UNSETTLED) settle();
}

/** Sets the limit: the clock value up to which the common path may run. */
export function setLimit(): void {
  const time = load<u64>(CONTROL, Control.allocations);
  const room = time + roomLeft();
  const settled = load<u64>(CONTROL, Control.settled) + MOST_UNSETTLED;
  let limit = min(min(load<u64>(CONTROL, Control.deadline), settled), min(room, time | LAST_TIME));
  // The common path must not take the block with the next sampled number.
  if (COUNTED !== 0) limit = min(limit, load<u64>(CONTROL, Control.nextSample) - 1);
  store<u32>(CONTROL, <u32>limit, Control.limit);
}

function endInterval(time: u64): void {
  bump32(CONTROL, Control.intervalTurn, 1);
  const live = noticePeak();
  settle();
  const changes = load<u32>(CONTROL, Control.changes);
  const work =
    load<u64>(CONTROL, Control.intervalWork) + 1 + changes - load<u32>(CONTROL, Control.openChanges);
  store<u64>(CONTROL, work, Control.intervalWork);
  const count = load<u32>(CONTROL, Control.intervals) + 1;
  const interval = intervalAt(count - 1);
  store<u64>(interval, time, Interval.end);
  store<u64>(interval, live, Interval.live);
  store<u64>(interval, load<u64>(CONTROL, Control.intervalPeak), Interval.peak);
  store<u32>(interval, changes, Interval.changesEnd);
  store<u32>(interval, 0, Interval.next);
  store<u32>(CONTROL, count, Control.intervals);
  store<u32>(CONTROL, changes, Control.openChanges);
  if (count === MOST_INTERVALS || isDear(work, time)) mergeNeighbours();
  // Makes room for two intervals, with a change of each context, before the next merge is possible.
  while (CHANGE_CAPACITY - load<u32>(CONTROL, Control.changes) < 2 * MIB_CAPACITY && canMerge())
    mergeNeighbours();
  forgetNoted();
  beginMaximum(live);
  if (COUNTED !== 0) look();
  const from = load<u64>(CONTROL, Control.intervalsFrom);
  const scale = load<u32>(CONTROL, Control.intervalScale);
  store<u64>(CONTROL, from + ((((time - from) >> scale) + 1) << scale), Control.deadline);
  bump32(CONTROL, Control.intervalTurn, 1);
}

@inline
function isDear(work: u64, time: u64): bool {
  return work > FREE_WORK + time / ALLOCATIONS_PER_WORK && canMerge();
}

@inline
function canMerge(): bool {
  const count = load<u32>(CONTROL, Control.intervals);
  return count >= 2 && (count & 1) === 0;
}

function mergeNeighbours(): void {
  const count = load<u32>(CONTROL, Control.intervals);
  let to: u32 = 0;
  let from: u32 = 0;
  for (let i: u32 = 0; i < count; i += 2) {
    const first = intervalAt(i);
    const second = first + INTERVAL_BYTES;
    const merged = intervalAt(i >>> 1);
    const firstEnd = load<u32>(first, Interval.changesEnd);
    const secondEnd = load<u32>(second, Interval.changesEnd);
    const start = to;
    for (; from < firstEnd; from++) to = moveChange(from, to);
    for (; from < secondEnd; from++) to = joinChange(from, start, to);
    const firstPeak = load<u64>(first, Interval.peak);
    const secondPeak = load<u64>(second, Interval.peak);
    memory.copy(merged, second, INTERVAL_BYTES);
    store<u64>(merged, bytesOf(secondPeak) > bytesOf(firstPeak) ? secondPeak : firstPeak, Interval.peak);
    store<u32>(merged, to, Interval.changesEnd);
  }
  store<u32>(CONTROL, to, Control.changes);
  store<u32>(CONTROL, to, Control.openChanges);
  store<u32>(CONTROL, count >>> 1, Control.intervals);
  store<u32>(CONTROL, load<u32>(CONTROL, Control.intervalScale) + 1, Control.intervalScale);
}

@inline
function noteOf(change: usize): usize {
  return pastOf(MIBS + load<u32>(change, Change.context) * CONTEXT_BYTES) + Past.change;
}

@inline
function moveChange(from: u32, to: u32): u32 {
  const change = changeAt(from);
  store<u32>(noteOf(change), to);
  if (from !== to) memory.copy(changeAt(to), change, CHANGE_BYTES);
  return to + 1;
}

/**
 * Adds a change to that of the same context from `start` on, or moves it to `to`. Returns the index after the
 * last change.
 */
function joinChange(from: u32, start: u32, to: u32): u32 {
  const change = changeAt(from);
  const earlierIndex = load<u32>(noteOf(change));
  const earlier = changeAt(earlierIndex);
  if (
    earlierIndex < start ||
    earlierIndex >= to ||
    load<u32>(earlier, Change.context) !== load<u32>(change, Change.context)
  )
    return moveChange(from, to);
  bump32(earlier, Change.allocations, load<u32>(change, Change.allocations));
  bump64(earlier, Change.allocatedBytes, load<u64>(change, Change.allocatedBytes));
  bump32(earlier, Change.frees, load<u32>(change, Change.frees));
  bump64(earlier, Change.freedBytes, load<u64>(change, Change.freedBytes));
  return to;
}

/** Drops all records that name contexts, after the host has taken them. */
export function clearChanges(): void {
  bump32(CONTROL, Control.intervalTurn, 1);
  const count = load<u32>(CONTROL, Control.intervals);
  for (let i: u32 = 0; i < count; i++) store<u64>(intervalAt(i), 0, Interval.changesEnd);
  store<u32>(CONTROL, 0, Control.changes);
  store<u32>(CONTROL, 0, Control.openChanges);
  forgetNoted();
  bump32(CONTROL, Control.intervalTurn, 1);
}

/** Notes the context that allocates first after an interval. `time`: the number of allocations before. */
export function noteNext(mib: usize, time: u64): void {
  const count = load<u32>(CONTROL, Control.intervals);
  if (count === 0 || load<u64>(intervalAt(count - 1), Interval.end) !== time) return;
  store<u32>(intervalAt(count - 1), (mib - MIBS) / CONTEXT_BYTES, Interval.next);
}
