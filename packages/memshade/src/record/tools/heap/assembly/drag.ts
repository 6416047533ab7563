import {
  askAgain,
  counterOf,
  CounterPlace,
  fourCounters,
  counterPlace,
  nextTouched,
  touchedEnd,
} from "./counter-memory";
import { CONTROL, DRAGS, FOLLOWED, MIBS, RECORDS, STATIC_BYTES, STATICS, WALL_CLOCK } from "./imports";
import {
  ACCESSES_PER_BLOCK,
  CONTEXT_BYTES,
  Control,
  DRAG_BYTES,
  Drag,
  FOLLOWED_BYTES,
  Followed,
  LARGEST_UNMARKED,
  LOOP_BYTES,
  Loop,
  MOST_OF_CLASS,
  Record,
  SIZE_CLASS_BYTES,
  SMALLEST_CLASS_BITS,
  SizeClass,
} from "./layout.generated";
import { liveUnit } from "./live";
import { addressOf } from "./program";
import { bump32, bump64 } from "./records";
import { bumpWork } from "./work";

// Measures how long blocks live after their last access (drag).
// No code is added to an access. At intervals, a look compares the sum of each followed block's counters with
// the sum of the last look. A block's end does the same. So the last access came before the first look that
// found the final sum.
// Example: a block of 64 bytes begins at 10. Looks find the sums 5 at 20, 8 at 30 and 8 at 40. The block ends
// at 70 with 8. It was used until 30 at most, so its drag is 40 of its 60 units: 64 × 40 bytes × time.
// The clock is the program's work: allocations, and accesses to static data and to followed blocks as looks
// find them. A block is late if more than half of the work during its life came after its last access.
// A destructor follows pointers in the block that it frees. So accesses after the last look do not count as
// use if they are too few to read the block 16 bytes at a time.
// Looks happen at the ends of intervals and of followed blocks, and where loops with calls or inner loops begin a trip. A look is
// due when the program has done a certain share more work, and many times the cost of a look. Accesses are
// known by looks alone, so a look is due, too, when allocations or a loop's trips have grown by that share.
// If a look finds too little for its cost, the next one waits for as many allocations as will find enough at
// the same rate. In a loop it waits for as many trips as were made so far, so trips at most double.
// Most blocks are idle and stay idle. Once looks have cost something, they pass over blocks that were
// unchanged before, each time for longer. When a block that was passed over is used again, its accesses may
// have happened at any time since. They are "found late" and do not count as work after the last use of other
// blocks.
// Not every block is followed: all of a size class at first, fewer after many allocations or when too many of
// them live. A followed block then stands for several (its weight). The allocation of a followed block is
// beyond the limit of the common path. The block has a record, so its end does not use the common path either.

/** Number of blocks of a class that are all followed. Programs with fewer blocks get exact figures. */
const FREE_BLOCKS: u32 = 2048;
/**
 * After that, one block in 2^6 of the smallest class is followed, twice that share of the next class, and so
 * on: about one in 16 KiB.
 */
const SPARSE_SHIFT: u32 = 6;
/**
 * Granules that looks may read before their cost is compared with what they find: a few hundredths of a
 * second.
 */
const FREE_WORK: u64 = 1 << 26;
/**
 * Granules that looks may read before they pass over idle blocks. They do so until `FREE_WORK` is reached.
 */
const REST_WORK: u64 = FREE_WORK >> 2;
const MOST_REST: u32 = 15;
/**
 * Cost of one block in a look beside its granules, in granules: its record and counters are not in the cache.
 */
const LOOK_WORK: u64 = 64;
/**
 * Looks beyond `FREE_WORK` must find 2^4 accesses per granule that they read. Then they take a few hundredths
 * of the time.
 */
const FOUND_SHIFT: u64 = 4;
/** Trips of loops between polls. A poll is a call, which costs more than a trip of some loops. */
const POLLED_TRIPS: u32 = 32;
/**
 * Share of the program's work, allocations or loop trips between looks: 1/2^6. It is the precision of a
 * block's last use.
 */
const LOOK_SHIFT: u64 = 6;
/**
 * Bytes that one access moves at most. Fewer accesses than a block has units of this size cannot have read
 * the block.
 */
const WIDEST: u64 = 16;

@inline
export function dragOf(mib: usize): usize {
  return DRAGS + ((mib - MIBS) / CONTEXT_BYTES) * DRAG_BYTES;
}

@inline
function entryAt(index: u32): usize {
  return FOLLOWED + index * FOLLOWED_BYTES;
}

@inline
function classOf(size: u32): u32 {
  return 31 - clz(size | LARGEST_UNMARKED) - SMALLEST_CLASS_BITS;
}
@inline
function placeOf(sizeClass: u32): usize {
  return CONTROL + Control.sizeClasses + sizeClass * SIZE_CLASS_BYTES;
}

function mix(value: u32): u32 {
  value = (value ^ (value >>> 16)) * 0x85ebca6b;
  value = (value ^ (value >>> 13)) * 0xc2b2ae35;
  return value ^ (value >>> 16);
}

@inline
function shiftOf(sizeClass: u32, place: usize): u32 {
  const shift = load<u32>(place, SizeClass.shift);
  const isSparse = load<u32>(place, SizeClass.taken) >= FREE_BLOCKS && sizeClass < SPARSE_SHIFT;
  return isSparse ? max(shift, SPARSE_SHIFT - sizeClass) : shift;
}

/** Returns how many blocks the newest block stands for; 0 if it is not followed. */
export function weightOf(size: u32): u32 {
  const sizeClass = classOf(size);
  const place = placeOf(sizeClass);
  if (load<u32>(place, SizeClass.followed) >= MOST_OF_CLASS) letGo(sizeClass, place);
  const number = load<u64>(CONTROL, Control.allocations);
  let shift = shiftOf(sizeClass, place);
  if (sizeClass === 0) {
    const next = load<u64>(CONTROL, Control.nextSample);
    if (number < next) return 0;
    const drawn = load<u32>(CONTROL, Control.sampleShift);
    store<u64>(CONTROL, number + gap(shift), Control.nextSample);
    store<u32>(CONTROL, shift, Control.sampleShift);
    // A block of a larger class had the drawn number. Then no block is taken, so that all have the same
    // chance. If all blocks are followed, this one is.
    if (drawn !== 0 && number !== next) return 0;
    shift = drawn;
  } else if ((mix(<u32>number) & ((1 << shift) - 1)) !== 0) return 0;
  bump32(place, SizeClass.taken, 1);
  return 1 << shift;
}

/** Returns the distance to the next sampled number: random, with a mean of 2^shift. */
function gap(shift: u32): u32 {
  const random = load<u32>(CONTROL, Control.random) + 0x9e3779b9;
  store<u32>(CONTROL, random, Control.random);
  return 1 + (mix(random) % ((2 << shift) - 1));
}

/** Returns the program's work that looks and allocations have shown. */
@inline
function workSeen(): u64 {
  return load<u64>(CONTROL, Control.allocations) * ACCESSES_PER_BLOCK + load<u64>(CONTROL, Control.accesses);
}

/** Returns the work without the accesses that were found late. */
@inline
function workInTime(): u64 {
  return workSeen() - load<u64>(CONTROL, Control.foundLate);
}

/** Counts accesses as found late if the block was passed over before this look. */
@inline
function noteLate(entry: usize, accesses: u64): void {
  if (load<u16>(entry, Followed.lastRest) !== 0)
    bump64(CONTROL, Control.foundLate, accesses * load<u32>(entry, Followed.weight));
}

/** Returns the accesses of an entry since the last look, and adds them to the work. */
@inline
function seeAccesses(entry: usize, accesses: u64): u64 {
  const before = load<u64>(entry, Followed.accesses);
  // A smaller sum has two causes: counters of static data overflowed and began anew, or an overlapping block
  // ended and cleared the counters.
  if (accesses < before) return 0;
  bump64(CONTROL, Control.accesses, (accesses - before) * load<u32>(entry, Followed.weight));
  return accesses - before;
}

/** Least size of a block that makes a peak: see `findings/peak.ts`. */
const LARGE_BYTES: u32 = 65_536;
const LARGE_PART: u64 = 4;

/**
 * True if a block may make the peak. Native code (without static data here) is not polled in loops, so the work before
 * such a block, such as a copy for an export, would count as done during its life.
 */
@inline
function needsLook(size: u32): bool {
  if (STATIC_BYTES !== 0) return false;
  return size >= LARGE_BYTES && liveUnit(size) * LARGE_PART >= load<u64>(CONTROL, Control.live);
}

export function follow(record: usize, weight: u32, time: u32): void {
  if (needsLook(load<u32>(record, Record.size))) lookAtAll(false);
  const index = load<u32>(CONTROL, Control.followed) + 1;
  store<u32>(CONTROL, index, Control.followed);
  const entry = entryAt(index);
  store<u32>(entry, <u32>(record - RECORDS), Followed.record);
  store<u32>(entry, weight, Followed.weight);
  store<u32>(entry, time, Followed.seen);
  store<u32>(entry, 0, Followed.rest);
  const work = workSeen();
  store<u64>(entry, 0, Followed.accesses);
  store<u64>(entry, work, Followed.startWork);
  store<u64>(entry, workInTime(), Followed.seenWork);
  store<u32>(record, index, Record.followed);
  bump32(placeOf(classOf(load<u32>(record, Record.size))), SizeClass.followed, 1);
}

function remove(index: u32): void {
  const entry = entryAt(index);
  const record: usize = RECORDS + load<u32>(entry, Followed.record);
  store<u32>(record, 0, Record.followed);
  bump32(placeOf(classOf(load<u32>(record, Record.size))), SizeClass.followed, <u32>-1);
  const last = load<u32>(CONTROL, Control.followed);
  store<u32>(CONTROL, last - 1, Control.followed);
  if (index === last) return;
  memory.copy(entry, entryAt(last), FOLLOWED_BYTES);
  store<u32>(RECORDS + load<u32>(entry, Followed.record), index, Record.followed);
}

/** Stops following half of a class's blocks. Each of the rest stands for twice as many. */
function letGo(sizeClass: u32, place: usize): void {
  const shift = load<u32>(place, SizeClass.shift) + 1;
  store<u32>(place, shift, SizeClass.shift);
  for (let index = load<u32>(CONTROL, Control.followed); index !== 0; index--) {
    const entry = entryAt(index);
    const record: usize = RECORDS + load<u32>(entry, Followed.record);
    if (classOf(load<u32>(record, Record.size)) !== sizeClass) continue;
    const chance = mix(load<u32>(record, Record.address) + load<u32>(record, Record.time) * 31 + shift);
    if ((chance & 1) === 0) remove(index);
    else store<u32>(entry, load<u32>(entry, Followed.weight) << 1, Followed.weight);
  }
}

function accessesOf(record: usize): u64 {
  const address = addressOf(record);
  const end = counterPlace(address + load<u32>(record, Record.size) - 1) + 4;
  return accessesIn(counterPlace(address), end) + load<u64>(record, Record.folded);
}

/** Sums the accesses of counters. A counter is accesses × 2, plus the read bit. */
function accessesIn(from: CounterPlace, end: CounterPlace): u64 {
  let sum: u64 = 0;
  askAgain();
  for (let at = nextTouched(from, end); at < end; at = nextTouched(at, end)) {
    const stop = touchedEnd(at, end);
    let wide = i64x2.splat(0);
    for (; at + 16 <= stop; at += 16) {
      const counters = fourCounters(at);
      wide = i64x2.add(wide, i64x2.add(i64x2.shr_u(counters, 33), i64x2.shr_u(i64x2.shl(counters, 32), 33)));
    }
    sum += i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
    for (; at < stop; at += 4) sum += counterOf(at) >>> 1;
  }
  return sum;
}

/**
 * Handles the poll of a loop, and looks at all blocks if that is due. Returns the number of trips until the
 * next poll.
 */
export function poll(loop: u32): u32 {
  const place = CONTROL + Control.loops + loop * LOOP_BYTES;
  const trips = load<u32>(place, Loop.trips) + POLLED_TRIPS;
  store<u32>(place, trips, Loop.trips);
  if (trips >= load<u32>(place, Loop.next)) {
    const more = lookAtAll(true) ? trips >>> <u32>LOOK_SHIFT : trips;
    store<u32>(place, trips + more < trips ? -1 : trips + more, Loop.next);
  }
  return POLLED_TRIPS;
}

/** Looks at all followed blocks if the known work or the number of allocations makes that due. */
export function look(): void {
  const byWork = workSeen() >= load<u64>(CONTROL, Control.nextLook);
  const byNumber = load<u64>(CONTROL, Control.allocations) >= load<u64>(CONTROL, Control.nextLookNumber);
  if (byWork || byNumber) lookAtAll(true);
}

/**
 * Looks at all followed blocks. True if the program did enough work since the last look to justify the cost.
 * `canRest`: idle blocks may be passed over.
 */
function lookAtAll(canRest: bool): bool {
  const number = load<u64>(CONTROL, Control.allocations);
  const time = WALL_CLOCK === 0 ? <u32>number : load<u32>(CONTROL, Control.wallMs);
  let cost = lookAtStatics();
  const spentBefore = load<u64>(CONTROL, Control.lookWork);
  const mayRest = canRest && spentBefore >= REST_WORK && spentBefore < FREE_WORK;
  const end = entryAt(load<u32>(CONTROL, Control.followed));
  for (let entry = entryAt(1); entry <= end; entry += FOLLOWED_BYTES) {
    const rest: u32 = load<u16>(entry, Followed.rest);
    if (mayRest && rest !== 0) {
      store<u16>(entry, <u16>(rest - 1), Followed.rest);
      continue;
    }
    const record: usize = RECORDS + load<u32>(entry, Followed.record);
    cost += LOOK_WORK + (load<u32>(record, Record.size) >>> 3);
    const accesses = accessesOf(record);
    if (accesses === load<u64>(entry, Followed.accesses)) {
      const longer = mayRest ? min(2 * <u32>load<u16>(entry, Followed.lastRest) + 1, MOST_REST) : 0;
      store<u32>(entry, longer | (longer << 16), Followed.rest);
      continue;
    }
    noteLate(entry, seeAccesses(entry, accesses));
    store<u32>(entry, 0, Followed.rest);
    store<u64>(entry, accesses, Followed.accesses);
    store<u32>(entry, time, Followed.seen);
    store<u64>(entry, LATER, Followed.seenWork);
  }
  const work = workSeen();
  // Accesses that this look found at any block happened before the look, so all of them are counted first.
  for (let entry = entryAt(1); entry <= end; entry += FOLLOWED_BYTES)
    if (load<u64>(entry, Followed.seenWork) === LATER) store<u64>(entry, workInTime(), Followed.seenWork);
  const done = work - load<u64>(CONTROL, Control.lookedWork);
  const spent = spentBefore + cost;
  store<u64>(CONTROL, spent, Control.lookWork);
  if (spent < FREE_WORK) cost = 0;
  store<u64>(CONTROL, work, Control.lookedWork);
  store<u64>(CONTROL, work + max(work >> LOOK_SHIFT, cost << FOUND_SHIFT), Control.nextLook);
  const allocations = number - load<u64>(CONTROL, Control.lookedAllocations);
  if (allocations !== 0) {
    const enough = (allocations * (cost << FOUND_SHIFT)) / max<u64>(1, done);
    store<u64>(CONTROL, number + min(number, max(number >> LOOK_SHIFT, enough)), Control.nextLookNumber);
    store<u64>(CONTROL, number, Control.lookedAllocations);
    store<u64>(CONTROL, load<u64>(CONTROL, Control.accesses), Control.accessesThen);
  }
  return done >= cost << FOUND_SHIFT;
}

/** Looks at the counters of static data and of all memory below it. Returns the cost. */
function lookAtStatics(): u64 {
  const end = counterPlace(STATICS + STATIC_BYTES);
  const entry = entryAt(0);
  const accesses = accessesIn(counterPlace(0), end);
  store<u32>(entry, 1, Followed.weight);
  seeAccesses(entry, accesses);
  store<u64>(entry, accesses, Followed.accesses);
  return LOOK_WORK + ((STATICS + STATIC_BYTES) >>> 3);
}

const LATER: u64 = -1;

/**
 * Ends the followed block of a record.
 * `accesses`: its accesses in all.
 * `copied`: a reallocation has just used it.
 */
export function endFollowed(record: usize, accesses: u64, time: u32, copied: bool): void {
  const index = load<u32>(record, Record.followed);
  const entry = entryAt(index);
  const size = load<u32>(record, Record.size);
  const start = load<u32>(record, Record.time);
  const weight = load<u32>(entry, Followed.weight);
  const seen = load<u32>(entry, Followed.seen);
  const before = load<u64>(entry, Followed.accesses);
  const since = seeAccesses(entry, accesses);
  noteLate(entry, since);
  const isIdle = !copied && before !== 0 && since * WIDEST <= max(<u64>size, WIDEST);
  const startWork = load<u64>(entry, Followed.startWork);
  const seenWork = load<u64>(entry, Followed.seenWork);
  remove(index);
  // A program that computes without allocations shows its work by the blocks that it frees afterwards. Blocks that were
  // idle before may have been used meanwhile.
  if (workSeen() >= load<u64>(CONTROL, Control.nextLook)) lookAtAll(false);
  const workOfLife = workSeen() - startWork;
  const workAfterUse: u64 = isIdle ? workInTime() - seenWork : 0;
  const context = dragOf(load<u32>(record, Record.mib));
  const bytes = <u64>size * weight;
  bump32(context, Drag.followed, 1);
  bump64(context, Drag.blocks, weight);
  bump64(context, Drag.bytes, bytes);
  bump64(context, Drag.byteTime, bytes * (time - start));
  bumpWork(context + Drag.byteWork, bytes, workOfLife);
  if (!isIdle) return;
  bump64(context, Drag.dragged, bytes * (time - seen));
  if (workAfterUse === 0 || workAfterUse << 1 < workOfLife) return;
  bump64(context, Drag.lateBlocks, weight);
  bump64(context, Drag.lateBytes, bytes);
  bumpWork(context + Drag.lateByteWork, bytes, workOfLife);
  bumpWork(context + Drag.lateUsedByteWork, bytes, workOfLife - workAfterUse);
  bump64(context, Drag.lateLastUse, bytes * seen);
  bump32(context, Drag.lateFollowed, 1);
}
