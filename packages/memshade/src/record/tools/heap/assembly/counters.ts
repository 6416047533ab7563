import {
  alignedCounterPlace,
  askAgain,
  CounterPlace,
  clean,
  cleanFour,
  counterOf,
  counterPlace,
  flagsBefore,
  forgetTaken,
  fourCounters,
  giveBack,
  mayBeUntouched,
  nextTouched,
  touchedBefore,
  touchedEnd,
  wereTaken,
} from "./counter-memory";
import {
  CONTROL,
  COUNTED,
  EXACT,
  HISTOGRAMS,
  HISTOGRAMS_END,
  MIB_CAPACITY,
  MIBS,
  WALL_CLOCK,
} from "./imports";
import { CONTEXT_BYTES, Context, Control, LARGEST_SMALL, Shape, Tag } from "./layout.generated";
import { addBlocks, addTimes, addUnread, divide } from "./live";
import { countMarks, SHORTEST_MARKED } from "./marks";
import { Address } from "./program";
import { bump32, bump64, tagOf } from "./records";
import {
  addToShape,
  anyCounter,
  counterAt,
  lastOf,
  mixSmall,
  ownerOf,
  shapeOf,
  takeShape,
  takeSmall,
} from "./shapes";

/**
 * Clears counters that are not zero though no block is live there. Their accesses, to freed memory, are added
 * to the accesses outside of blocks.
 */
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

/** Clears the counters and marks of a new block, which earlier blocks in the same memory may have left. */
@inline
export function claimCounters(address: Address, size: u32): void {
  if (COUNTED === 0) return;
  const from = counterPlace(address);
  const to = counterPlace(address + size - 1) + 4;
  if (mayBeUntouched(size) || anyCounter(from, (<u32>(to - from)) << 1)) cleanCounters(from, to);
  if (EXACT === 0 && size >= SHORTEST_MARKED) countMarks(<u32>address, size, true);
}

/**
 * Adds an ended block and its counters to its context, and clears the counters.
 * `folded`: accesses that are in no counter.
 * `copied`: the contents live on in another block.
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

/** Adds a block to its shape and clears its counters; false if the block must be counted alone. */
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

/** Like `countBlock`, for blocks of any size and address, with any counters. Returns the accesses. */
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

/** Sums of the last `takeCounters`: accesses, granules that were accessed, and 1 if any access was a read. */
export let takenAccesses: u64 = 0;
export let takenTouched: u32 = 0;
export let takenFlags: u32 = 0;

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
    // The last one to three counters do not fill a vector. They are the upper lanes of a vector that overlaps
    // the one before.
    let counters = v128.and(fourCounters(end - 16), i32x4.gt_u(i32x4.splat(granules & 3), i32x4(3, 2, 1, 0)));
    let united = counters;
    let wide = i64x2.add(i64x2.shr_u(counters, 33), i64x2.shr_u(i64x2.shl(counters, 32), 33));
    let zeros = i32x4.eq(counters, i64x2.splat(0));
    for (const last = end - (granules & 3) * 4; at !== last; at += 16) {
      counters = fourCounters(at);
      united = v128.or(united, counters);
      wide = i64x2.add(wide, i64x2.add(i64x2.shr_u(counters, 33), i64x2.shr_u(i64x2.shl(counters, 32), 33)));
      zeros = i32x4.add(zeros, i32x4.eq(counters, i64x2.splat(0)));
      cleanFour(at);
    }
    cleanFour(end - 16);
    // Each lane holds the number of zero counters it has seen, as a negative number.
    zeros = i32x4.add(zeros, i32x4.shuffle(zeros, zeros, 2, 3, 0, 1));
    touched = (granules & ~3) + 4 + i32x4.extract_lane(zeros, 0) + i32x4.extract_lane(zeros, 1);
    accesses = i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
    flags = v128.any_true(v128.and(united, i32x4.splat(1))) ? 1 : 0;
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

const SMALLEST_CLASS: u32 = 3;

function takeBuffer(sizeClass: u32): u32 {
  const list: usize = CONTROL + Control.histogramFree + sizeClass * 4;
  const free = load<u32>(list);
  if (free !== 0) {
    store<u32>(list, load<u32>(free));
    return free;
  }
  const bytes: u32 = 8 << sizeClass;
  const at = HISTOGRAMS + load<u32>(CONTROL, Control.histogramNext);
  if (bytes > HISTOGRAMS_END - at) return 0;
  store<u32>(CONTROL, at + bytes - HISTOGRAMS, Control.histogramNext);
  return at;
}

/** Grows a context's histogram to `length` entries. It never shrinks. */
function ensureLength(mib: usize, length: u32): bool {
  const oldLength = load<u32>(mib, Context.histogramLength);
  let buffer = load<u32>(mib, Context.histogram);
  const sizeClass = load<u32>(mib, Context.histogramClass);
  if (buffer === 0 || length > (<u32>1) << sizeClass) {
    let wantedClass = SMALLEST_CLASS;
    while ((<u32>1) << wantedClass < length) wantedClass++;
    const bigger = wantedClass < 28 ? takeBuffer(wantedClass) : 0;
    if (bigger === 0) return false;
    if (buffer !== 0) {
      memory.copy(bigger, buffer, oldLength * 8);
      const list: usize = CONTROL + Control.histogramFree + sizeClass * 4;
      store<u32>(buffer, load<u32>(list));
      store<u32>(list, buffer);
    }
    buffer = bigger;
    store<u32>(mib, buffer, Context.histogram);
    store<u32>(mib, wantedClass, Context.histogramClass);
  }
  memory.fill(buffer + oldLength * 8, 0, (length - oldLength) * 8);
  store<u32>(mib, length, Context.histogramLength);
  return true;
}

/** Adds the counters of an ending block, granule by granule, to its context's histogram. */
function addHistogram(mib: usize, address: u32, size: u32): void {
  const length = (size + 7) >>> 3;
  if (length > load<u32>(mib, Context.histogramLength) && !ensureLength(mib, length)) {
    store<u32>(CONTROL, load<u32>(CONTROL, Control.histogramDropped) + 1, Control.histogramDropped);
    return;
  }
  const buffer = load<u32>(mib, Context.histogram);
  const counters: usize = (address >>> 3) << 2;
  for (let i: u32 = 0; i < length; i++) {
    const count = load<u32>(counters + (i << 2)) >>> 1;
    if (count !== 0) store<u64>(buffer + (i << 3), load<u64>(buffer + (i << 3)) + count);
  }
}

/**
 * Adds one ended block to its context.
 * `unread`: it was never read, and its contents do not live on in another block.
 */
function addBlock(
  mib: usize,
  size: u32,
  granules: u32,
  accesses: u64,
  touched: u32,
  unread: bool,
  start: u32,
  time: u32,
): void {
  const lifetime = time - start;
  const density = accesses === 0 ? 0 : divide(accesses * 100, size);
  const lifetimeDensity = lifetime <= 1 || density === 0 ? density * 1000 : divide(density * 1000, lifetime);
  addBlocks(
    mib,
    1,
    size,
    granules,
    accesses,
    touched,
    density,
    lifetime,
    lifetime,
    lifetimeDensity,
    lifetimeDensity,
  );
  if (unread) addUnread(mib, 1, size, accesses);
  addTimes(mib, start, time);
  bump64(mib, Context.totalLifetimeDensity, lifetimeDensity);
  if (WALL_CLOCK === 0 && lifetime <= 1) bump32(mib, Context.temporary, 1);
}
