import {
  askAgain,
  clean,
  cleanFour,
  counterOf,
  CounterPlace,
  flagsBefore,
  forgetTaken,
  fourCounters,
  giveBack,
  mayBeUntouched,
  nextTouched,
  counterPlace,
  alignedCounterPlace,
  touchedBefore,
  touchedEnd,
  wereTaken,
} from "./counter-memory";
import { addHistogram } from "./histogram";
import { CONTROL, COUNTED, EXACT, HISTOGRAMS, MIB_CAPACITY, MIBS } from "./imports";
import { CONTEXT_BYTES, Control, LARGEST_SMALL, Shape, Tag } from "./layout.generated";
import { countMarks, SHORTEST_MARKED } from "./marks";
import { Address } from "./program";
import { bump64, tagOf } from "./records";
import { addToShape, ownerOf, shapeOf, takeShape } from "./shapes";
import { anyCounter, counterAt, lastOf, mixSmall, takeSmall } from "./small-counters";
import { addBlock } from "./sums";

/** Counters that are not clean though no block is live there: accesses to freed memory belong to nobody. */
function cleanCounters(from: CounterPlace, to: CounterPlace): void {
  let sum: u64 = 0;
  askAgain();
  for (let at = nextTouched(from, to); at < to; at = nextTouched(at, to)) {
    for (const end = touchedEnd(at, to); at < end; at += 4) {
      const counter = counterOf(at);
      if (counter === 0) continue;
      sum += counter >>> 1;
      clean(at);
    }
  }
  bump64(CONTROL, Control.otherAccesses, sum);
}

/** Makes sure that a new block starts with clean counters and marks, whoever used its memory before. */
@inline
export function claimCounters(address: Address, size: u32): void {
  if (COUNTED === 0) return;
  const from = counterPlace(address);
  const to = counterPlace(address + size - 1) + 4;
  if (mayBeUntouched(size) || anyCounter(from, (<u32>(to - from)) << 1)) cleanCounters(from, to);
  if (EXACT === 0 && size >= SHORTEST_MARKED) countMarks(<u32>address, size, true);
}

/**
 * Adds an ended block and its counters to its context, and cleans them. `folded`: accesses that are in no counter.
 * `copied`: its contents live on.
 */
export function countBlock(
  address: Address,
  size: u32,
  mib: usize,
  start: u32,
  time: u32,
  folded: u64,
  copied: bool,
): void {
  if (EXACT === 0 && size <= LARGEST_SMALL && (address & 7) === 0 && folded === 0 && !wereTaken())
    if (countShape(alignedCounterPlace(address), size, mib, start, time, copied)) return;
  countAlone(address, size, mib, start, time, folded, copied);
}

/** Adds a block to the shape it has, and cleans its counters; false if it has to be counted by itself. */
@inline
function countShape(at: CounterPlace, size: u32, mib: usize, start: u32, time: u32, copied: bool): bool {
  if (MIB_CAPACITY > Tag.contexts && mib >= MIBS + Tag.contexts * CONTEXT_BYTES) return false;
  const owner = ownerOf(tagOf(mib, size, 0), copied);
  const first = counterAt(at);
  const last = counterAt(at + lastOf(size));
  const shape = shapeOf(owner, mixSmall(first, last));
  if (
    load<u32>(shape, Shape.owner) !== owner ||
    (COUNTED !== 0 && !takeSmall(at, size, first, last, shape))
  ) {
    if (!takeShape(shape, owner, at)) return false;
    if (COUNTED !== 0) takeSmall(at, size, first, last, shape);
  }
  addToShape(shape, mib, start, time);
  return true;
}

/** The same for blocks of any size and address, with any counters; returns the accesses. */
export function countAlone(
  address: Address,
  size: u32,
  mib: usize,
  start: u32,
  time: u32,
  folded: u64,
  copied: bool,
): u64 {
  if (HISTOGRAMS !== 0) addHistogram(mib, <u32>address, size);
  const from = counterPlace(address);
  const end = counterPlace(address + size - 1) + 4;
  const granules = <u32>(end - from) >>> 2;
  if (COUNTED === 0) {
    addBlock(mib, size, granules, 0, 0, !copied, start, time);
    return 0;
  }
  let touched: u32 = EXACT === 0 && size >= SHORTEST_MARKED ? countMarks(<u32>address, size, true) : 0;
  if (wereTaken()) {
    takenAccesses = 0;
    takenTouched = touchedBefore();
    takenFlags = flagsBefore();
    forgetTaken();
  } else takeCounters(from, end);
  touched += takenTouched;
  const accesses = folded + takenAccesses;
  const isUnread = !copied && (takenFlags & 1) === 0;
  addBlock(mib, size, granules, accesses, touched, isUnread, start, time);
  return accesses;
}

/** Sums of the counters that were taken last: accesses, granules that had some, and a bit if there were reads. */
export let takenAccesses: u64 = 0;
export let takenTouched: u32 = 0;
export let takenFlags: u32 = 0;

/** Sums the counters in `[from, end)`, and cleans them. */
export function takeCounters(from: CounterPlace, end: CounterPlace): void {
  takenAccesses = 0;
  takenTouched = 0;
  takenFlags = 0;
  askAgain();
  for (let at = nextTouched(from, end); at < end; at = nextTouched(at, end)) {
    const stop = touchedEnd(at, end);
    takeAll(at, stop);
    at = stop;
  }
  giveBack(from, end);
}

@inline
function takeAll(at: CounterPlace, end: CounterPlace): void {
  let accesses: u64 = 0;
  let touched: u32 = 0;
  let flags: u32 = 0;
  const granules = <u32>(end - at) >>> 2;
  if (granules >= 4) {
    // The last counters that fill no vector of their own are the upper lanes of one that overlaps the one before.
    let counters = v128.and(fourCounters(end - 16), i32x4.gt_u(i32x4.splat(granules & 3), i32x4(3, 2, 1, 0)));
    let all = counters;
    let wide = i64x2.add(i64x2.shr_u(counters, 33), i64x2.shr_u(i64x2.shl(counters, 32), 33));
    let zeros = i32x4.eq(counters, i64x2.splat(0));
    for (const last = end - (granules & 3) * 4; at !== last; at += 16) {
      counters = fourCounters(at);
      all = v128.or(all, counters);
      wide = i64x2.add(wide, i64x2.add(i64x2.shr_u(counters, 33), i64x2.shr_u(i64x2.shl(counters, 32), 33)));
      zeros = i32x4.add(zeros, i32x4.eq(counters, i64x2.splat(0)));
      cleanFour(at);
    }
    cleanFour(end - 16);
    // Lanes hold the clean counters they have seen, as negative numbers.
    zeros = i32x4.add(zeros, i32x4.shuffle(zeros, zeros, 2, 3, 0, 1));
    touched = (granules & ~3) + 4 + i32x4.extract_lane(zeros, 0) + i32x4.extract_lane(zeros, 1);
    accesses = i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
    flags = v128.any_true(v128.and(all, i32x4.splat(1))) ? 1 : 0;
  } else {
    for (; at < end; at += 4) {
      const counter = counterOf(at);
      if (counter !== 0) {
        accesses += counter >>> 1;
        touched++;
        flags |= counter;
        clean(at);
      }
    }
  }
  takenAccesses += accesses;
  takenTouched += touched;
  takenFlags |= flags;
}
