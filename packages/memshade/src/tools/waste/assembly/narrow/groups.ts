// What whole loops do to bytes with ids of 16 bits where several of their accesses share a place that moves on by its own size:
// loops that were unrolled, and those that load what they store.
import { countFreshTimes } from "../brief";
import { idOfKey } from "../chosen-ids/ids";
import { passEach } from "../each";
import { findLeft, forget, isAsKept, keepFound, knowsSome, learnLeft, learnsLeft } from "../known";
import {
  clear, fillPattern, FOUND, isChanged, LEFT, leavePattern, MOST_PATIENCE, passFound, pattern, PATTERN_BYTES, repeat, touch,
  TOUCHED,
} from "../patterns";
import { firstOf, firstStream, idOf, isStore, sizeOf } from "../stream-table";
import { readTimes, setRange } from "./bytes";

/** Bytes of the program that are looked at before any is written. */
const CHUNK: u32 = 2048;

/** Whether a place of `step` bytes is followed as a pattern. */
export function isPatterned(step: u32): bool { return fillPattern(step); }

/**
 * Does some streams, a bit each: in each of `trips` places of `step` bytes from `low` on, their accesses in the loop's
 * order. `first`: the lowest address of a stream's place in the trip that comes first.
 */
export function passGroup(streams: u32, first: u32, low: u32, step: u32, trips: u32): void {
  const end = low + step * trips;
  const isBlind = noteTouched(streams, first, step);
  const known = findLeft(streams, first, low, end, step);
  if (known != 0) {
    repeat(FOUND, known, PATTERN_BYTES);
    settle(streams, first, step, trips);
    return;
  }
  if (knowsSome()) forget(low, end);
  const begin = low;
  let isSteady = learnsLeft();
  let patience: u32 = 1;
  while (low < end) {
    repeat(FOUND, low << 1, step << 1);
    const stop = min(end, low + CHUNK);
    const next = isBlind ? stop : <u32>(passFound(low << 1, stop << 1) >>> 1);
    if (next != low) {
      settle(streams, first, step, (next - low) / step);
      if (isBlind) { leavePattern(low << 1, end << 1); return; }
      if (isChanged()) {
        leavePattern(low << 1, next << 1);
        isSteady = false;
      } else if (isSteady) {
        if (low == begin) keepFound();
        else isSteady = isAsKept();
      }
      patience = next - low > PATTERN_BYTES ? 1 : patience;
      low = next;
      continue;
    }
    const some = min((end - low) / step, patience * (PATTERN_BYTES >>> 1) / step);
    if (patience < MOST_PATIENCE) patience <<= 1;
    passEach(streams, first, low, step, some);
    low += some * step;
    isSteady = false;
  }
  if (isSteady) learnLeft(streams, first, begin, end, step);
}

/** Notes which bytes are touched. Whether all of the streams are stores. */
function noteTouched(streams: u32, first: u32, step: u32): bool {
  const touched = pattern(TOUCHED);
  clear(TOUCHED);
  let isBlind = true;
  for (let rest = streams; rest != 0; rest &= rest - 1) {
    const at = firstStream(rest);
    setIds(touched + ((firstOf(at) - first) << 1), sizeOf(at), 0xffff);
    if (!isStore(at)) isBlind = false;
  }
  touch(step << 1);
  return isBlind;
}

@inline function setIds(at: usize, size: u32, id: u32): void { setRange(<u32>at >>> 1, size, id); }

/** Counts what `times` trips do that find the pattern, and makes it what they leave. */
function settle(streams: u32, first: u32, step: u32, times: u32): void {
  const left = pattern(LEFT);
  repeat(LEFT, pattern(FOUND), PATTERN_BYTES);
  for (let rest = streams; rest != 0; rest &= rest - 1) {
    const at = firstStream(rest);
    const ids = left + ((firstOf(at) - first) << 1);
    if (isStore(at)) setIds(ids, sizeOf(at), idOfKey(idOf(at)));
    else if (readTimes(ids, sizeOf(at), times)) countFreshTimes(idOf(at), times);
  }
  repeat(LEFT, left, step << 1);
}
