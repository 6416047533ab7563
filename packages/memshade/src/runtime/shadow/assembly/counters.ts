import { addHistogram } from "./histogram";
import { C_OTHER_ACCESSES, CONTROL, EXACT, HISTOGRAMS, R_ADDRESS, R_FOLDED, R_KEY, S_OWNER, UNUSUAL } from "./layout";
import { SHORTEST_MARKED, takeMarks } from "./marks";
import { bump64, sizeOf } from "./records";
import { addToShape, hasPattern, ownerOf, shapeOf, takeShape } from "./shapes";
import { areSmall, highMask, isRead, lowMask, maskOf, sumOf, touchedIn } from "./small-counters";
import { addBlock } from "./sums";

/**
 * Counters of up to this many bytes are read one by one: a vector load of what was just written counter by counter
 * would have to wait for all of those stores.
 */
const FEW_COUNTERS: u32 = 64;

/** Counters that are not clean though no block is live there: accesses to freed memory belong to nobody. */
function cleanCounters(from: u32, to: u32): void {
  let sum: u64 = 0;
  for (let at = from; at < to; at += 4) {
    const counter = load<u32>(at);
    if (counter == 0) continue;
    sum += counter >>> 1;
    store<u32>(at, 0);
  }
  bump64(CONTROL, C_OTHER_ACCESSES, sum);
}

/** Whether one of the counters in `[from, to)` is not zero. */
@inline
function anyCounter(from: u32, to: u32): bool {
  let at = from;
  let any: u32 = 0;
  if (to - from > FEW_COUNTERS) {
    let wide = v128.load(at);
    for (at += 16; to - at >= 16; at += 16) wide = v128.or(wide, v128.load(at));
    any = v128.any_true(wide) ? 1 : 0;
  }
  for (; at < to; at += 4) any |= load<u32>(at);
  return any != 0;
}

/** Makes sure that a new block starts with clean counters and marks, whoever used its memory before. */
@inline
export function claimCounters(address: u32, size: u32): void {
  const from: u32 = (address >>> 3) << 2;
  const to: u32 = ((address + size - 1) >>> 3 << 2) + 4;
  if (anyCounter(from, to)) cleanCounters(from, to);
  if (EXACT == 0 && size >= SHORTEST_MARKED) takeMarks(address, size);
}

/** Adds an ending block and its counters to its context, and cleans them. `copied`: its contents live on. */
@inline
export function countBlock(record: usize, mib: usize, start: u32, time: u32, copied: bool): void {
  const size = load<u32>(record, R_KEY);
  if (EXACT == 0 && size != UNUSUAL) {
    const at: u32 = load<u32>(record, R_ADDRESS) >>> 1;
    const mask = maskOf(size);
    const allLow = v128.load(at);
    const allHigh = v128.load(at, 16);
    const low = v128.and(allLow, lowMask(mask));
    const high = v128.and(allHigh, highMask(mask));
    if (areSmall(low, high)) {
      const shape = shapeOf(mib, at, size);
      v128.store(at, v128.xor(allLow, low));
      v128.store(at, v128.xor(allHigh, high), 16);
      if (!copied && countShape(shape, mib, size, low, high, start, time)) return;
      const unread = !copied && !isRead(low, high);
      addBlock(mib, size, (size + 7) >>> 3, sumOf(low, high), touchedIn(low, high), unread, start, time);
      return;
    }
  }
  countLarge(record, mib, sizeOf(record), start, time, copied);
}

@inline
function countShape(shape: usize, mib: usize, size: u32, low: v128, high: v128, start: u32, time: u32): bool {
  if (load<u64>(shape, S_OWNER) != ownerOf(mib, size) || !hasPattern(shape, low, high))
    if (!takeShape(shape, mib, size, low, high)) return false;
  addToShape(shape, mib, start, time);
  return true;
}

/** The same for blocks of any size and address, with any counters. */
function countLarge(record: usize, mib: usize, size: u32, start: u32, time: u32, copied: bool): void {
  const address = load<u32>(record, R_ADDRESS);
  if (HISTOGRAMS != 0) addHistogram(mib, address, size);
  let at: u32 = (address >>> 3) << 2;
  const end: u32 = ((address + size - 1) >>> 3 << 2) + 4;
  const granules = (end - at) >>> 2;
  let touched: u32 = EXACT == 0 && size >= SHORTEST_MARKED ? takeMarks(address, size) : 0;
  let accesses: u64 = 0;
  if (load<u32>(record, R_KEY) == UNUSUAL) {
    accesses = load<u64>(record, R_FOLDED);
    store<u64>(record, 0, R_FOLDED);
  }
  let flags: u32 = 0;
  if (end - at > FEW_COUNTERS) {
    let wide = i64x2.splat(0);
    let all = i64x2.splat(0);
    for (; end - at >= 16; at += 16) {
      const counters = v128.load(at);
      if (v128.any_true(counters)) {
        all = v128.or(all, counters);
        const counts = i32x4.shr_u(counters, 1);
        wide = i64x2.add(wide, i64x2.add(i64x2.extend_low_i32x4_u(counts), i64x2.extend_high_i32x4_u(counts)));
        touched += popcnt(i32x4.bitmask(i32x4.ne(counters, i32x4.splat(0))));
        v128.store(at, i64x2.splat(0));
      }
    }
    accesses += i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
    flags = v128.any_true(v128.and(all, i32x4.splat(1))) ? 1 : 0;
  }
  for (; at < end; at += 4) {
    const counter = load<u32>(at);
    if (counter != 0) {
      accesses += counter >>> 1;
      touched++;
      flags |= counter;
      store<u32>(at, 0);
    }
  }
  addBlock(mib, size, granules, accesses, touched, !copied && (flags & 1) == 0, start, time);
}
