// What whole loops do to bytes with ids of 32 bits where several of their accesses share a place that moves on by its own size:
// loops that were unrolled, and those that load what they store.
import { countFreshTimes } from "../brief";
import { C_IDS, CONTROL, ZERO_IS_VALID } from "../layout";
import { passEach } from "../each";
import { findLeft, forget, isAsKept, keepFound, knowsSome, learnLeft, learnsLeft } from "../known";
import {
  clear, fillPattern, FOUND, isChanged, LEFT, leavePattern, MOST_PATIENCE, passFound, pattern, PATTERN_BYTES, repeat, touch,
  TOUCHED,
} from "../patterns";
import { firstOf, firstStream, idOf, isStore, sizeOf } from "../stream-table";
import { writersLoad128, writersStore128 } from "../tables";
import { idsOf, overwriteTimes, putIds, putStates, readTimes } from "./bytes";

/** Bytes of the program that are looked at before any is written. */
const CHUNK: u32 = 1024;
/** Bytes of ids that are looked at together, and those of them that are a vector. */
const IDS_BYTES: u32 = 128;
const VECTOR: u32 = 16;

/** Whether a place of `step` bytes is followed as a pattern. What is invalid must be so by its state alone. */
export function isPatterned(step: u32): bool {
  return ZERO_IS_VALID != 0 && fillPattern(step);
}

/**
 * Does some streams, a bit each: in each of `trips` places of `step` bytes from `low` on, their accesses in the loop's
 * order. `first`: the lowest address of a stream's place in the trip that comes first.
 */
export function passGroup(streams: u32, first: u32, low: u32, step: u32, trips: u32): void {
  const end = low + step * trips;
  const stored = noteTouched(streams, first, step);
  const known = findLeft(streams, first, low, end, step);
  if (known != 0) {
    repeat(FOUND, known, PATTERN_BYTES);
    settle(streams, first, low, step, trips);
    return;
  }
  if (knowsSome()) forget(low, end);
  const begin = low;
  let isSteady = learnsLeft();
  let patience: u32 = 1;
  while (low < end) {
    repeat(FOUND, low, step);
    const next = <u32>passFound(low, min(end, low + CHUNK));
    if (next != low) {
      const some = (next - low) / step;
      settle(streams, first, low, step, some);
      if (isChanged()) {
        leavePattern(low, next);
        isSteady = false;
      } else if (isSteady) {
        if (low == begin) keepFound();
        else isSteady = isAsKept();
      }
      if (stored == step && step >= 4) putPattern(low, next);
      else if (stored != 0) putEach(streams, first, low, step, some);
      patience = next - low > PATTERN_BYTES ? 1 : patience;
      low = next;
      continue;
    }
    const some = min((end - low) / step, patience * PATTERN_BYTES / step);
    if (patience < MOST_PATIENCE) patience <<= 1;
    passEach(streams, first, low, step, some);
    low += some * step;
    isSteady = false;
  }
  if (isSteady) learnLeft(streams, first, begin, end, step);
}

/** Notes which bytes are touched, and the ids of those that are stored. Returns how many these are. */
function noteTouched(streams: u32, first: u32, step: u32): u32 {
  const touched = pattern(TOUCHED);
  clear(TOUCHED);
  let stored: u32 = 0;
  for (let rest = streams; rest != 0; rest &= rest - 1) {
    const at = firstStream(rest);
    const place = firstOf(at) - first;
    putStates(<u32>touched + place, sizeOf(at), -1);
    if (!isStore(at)) continue;
    stored += sizeOf(at);
    const ids = CONTROL + C_IDS + (place << 2);
    for (let j: u32 = 0; j < sizeOf(at); j++) store<u32>(ids + (j << 2), idOf(at));
  }
  touch(step);
  if (stored == step && step >= 4)
    for (let i = step << 2; i < IDS_BYTES; i += VECTOR) v128.store(CONTROL + C_IDS + i, v128.load(CONTROL + C_IDS + i - (step << 2)));
  return stored;
}

/** Counts what trips do that find the pattern from `low` on, and makes it what they leave. */
function settle(streams: u32, first: u32, low: u32, step: u32, times: u32): void {
  const left = pattern(LEFT);
  repeat(LEFT, pattern(FOUND), PATTERN_BYTES);
  for (let rest = streams; rest != 0; rest &= rest - 1) {
    const at = firstStream(rest);
    const place = firstOf(at) - first;
    if (isStore(at)) {
      overwriteTimes(low + place, sizeOf(at), step, times, left + place);
      putStates(<u32>left + place, sizeOf(at), 0);
    } else if (readTimes(left + place, sizeOf(at))) countFreshTimes(idOf(at), times);
  }
  repeat(LEFT, left, step);
}

/** Ids of places of which each byte is stored, where they are not there already. */
function putPattern(low: u32, high: u32): void {
  const ids = CONTROL + C_IDS;
  const a = v128.load(ids);
  const b = v128.load(ids, 16);
  const c = v128.load(ids, 32);
  const d = v128.load(ids, 48);
  const e = v128.load(ids, 64);
  const f = v128.load(ids, 80);
  const g = v128.load(ids, 96);
  const h = v128.load(ids, 112);
  let at = idsOf(low);
  const end = idsOf(high);
  for (; end - at >= IDS_BYTES; at += IDS_BYTES) {
    const one = v128.or(
      v128.or(v128.xor(writersLoad128(at), a), v128.xor(writersLoad128(at + 16), b)),
      v128.or(v128.xor(writersLoad128(at + 32), c), v128.xor(writersLoad128(at + 48), d)));
    const other = v128.or(
      v128.or(v128.xor(writersLoad128(at + 64), e), v128.xor(writersLoad128(at + 80), f)),
      v128.or(v128.xor(writersLoad128(at + 96), g), v128.xor(writersLoad128(at + 112), h)));
    if (!v128.any_true(v128.or(one, other))) continue;
    writersStore128(at, a);
    writersStore128(at + 16, b);
    writersStore128(at + 32, c);
    writersStore128(at + 48, d);
    writersStore128(at + 64, e);
    writersStore128(at + 80, f);
    writersStore128(at + 96, g);
    writersStore128(at + 112, h);
  }
  for (let from = ids; at < end; at += VECTOR, from += VECTOR) writersStore128(at, v128.load(from));
}

/** Ids of places of which some bytes are not stored. */
function putEach(streams: u32, first: u32, low: u32, step: u32, times: u32): void {
  for (let rest = streams; rest != 0; rest &= rest - 1) {
    const at = firstStream(rest);
    if (!isStore(at)) continue;
    let address = low + (firstOf(at) - first);
    for (let n = times; n != 0; n--) {
      putIds(address, sizeOf(at), idOf(at));
      address += step;
    }
  }
}
