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
import { addressOf } from "./program";
import { bump32, bump64 } from "./records";
import { bumpWork } from "./work";

// How long blocks live after their last access. Nothing is added to an access: once in a while the sums of blocks' counters are
// compared with those of the last look, and at a block's end with those of its last one. So a block was accessed last before the
// first look that finds the sum that it has in the end.
//
//   A block of 64 bytes begins at 10. It is looked at, at 20: sum 5. At 30: sum 8. At 40: 8. It ends at 70, its sum is 8:
//   it was used until 30 at most, so it was dragged along for 40 of its 60: 64 × 40 bytes × time.
//
// There is one clock of the program's work: allocations, and accesses to static data and to followed blocks, which looks find. A block is
// late if the larger part of the work during its life came after its last access.
//
// What frees a block follows pointers in it: destructors do. So no more accesses since the last look than it would take to read the
// block 16 bytes at a time are no use of it.
//
// Looks come at the ends of intervals, as the clock of allocations goes on, and where loops begin trips that have calls or other loops
// in them, as the program computes. One is due when the program has done a part of its work more, and many times what looking costs. But what was
// accessed is known by the looks alone. So one is due, too, when a part of the allocations, or of a loop's trips, has been made more. Where a look
// finds too little for its cost, the next one waits for as many allocations as do enough if the program goes on like that, and for as many trips
// of a loop as there have been, so that there are twice as many at most.
//
// Most of what has to be looked at is idle, and stays so. So when looks have cost something, they pass over blocks that they found unchanged
// before, for longer each time: a thousand idle blocks cost no more than some that are used, and their last use is known already. What is found
// late at one that is used again may have been done at any time since, and is no work after the last use of others.
//
// Of each size some blocks are followed: all at first, fewer when there have been many or when too many of them live, and
// then each stands for several. An allocation that is to be followed lies behind the limit of the common path, and the block has a
// record, so that its end is no matter of the common path either.

/** Blocks of a class that are followed before fewer are: of programs with no more of them nothing is an estimate. */
const FREE_BLOCKS: u32 = 2048;
/** From then on one for so many blocks of the smallest class, half as many of the next: one for 16 KiB. */
const SPARSE_SHIFT: u32 = 6;
/** What looks may cost before that is compared with what they find, in granules: that takes some hundredths of a second. */
const FREE_WORK: u64 = 1 << 26;
/** When they have cost that much, they pass over idle blocks, until they are compared with what they find. */
const REST_WORK: u64 = FREE_WORK >> 2;
/** Looks that pass over a block that stays unchanged. */
const MOST_REST: u32 = 15;
/** What a look at one block costs beside its granules: its record and its counters are in no cache. */
const LOOK_WORK: u64 = 64;
/** Beyond that, looks find so many times the accesses that they read granules, 2 to the power of this: they take a few hundredths of the time. */
const FOUND_SHIFT: u64 = 4;
/** Trips of loops between polls: a poll is a call, and that for each trip would be more than what some do. */
const POLLED_TRIPS: u32 = 32;
/** Part of the program's work, of its allocations, or of a loop's trips, between looks: how exactly the last use of a block is known. */
const LOOK_SHIFT: u64 = 6;
/** An access moves at most so many bytes: nobody reads a block with fewer accesses than it has of these, but for SIMD's with as many. */
const WIDEST: u64 = 16;

@inline
export function dragOf(mib: usize): usize {
  return DRAGS + ((mib - MIBS) / CONTEXT_BYTES) * DRAG_BYTES;
}

@inline
function entryAt(index: u32): usize {
  return FOLLOWED + index * FOLLOWED_BYTES;
}

/** Which class blocks of a size are in, from 0. */
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

/** How many blocks the one that has just been counted stands for; 0: it is not followed. */
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
    // A large block had the number: then none is taken, so that all have the same chance. If all are followed, this one is.
    if (drawn !== 0 && number !== next) return 0;
    shift = drawn;
  } else if ((mix(<u32>number) & ((1 << shift) - 1)) !== 0) return 0;
  bump32(place, SizeClass.taken, 1);
  return 1 << shift;
}

/** How far the next number is: any of as many that the mean is the power of two. */
function gap(shift: u32): u32 {
  const random = load<u32>(CONTROL, Control.random) + 0x9e3779b9;
  store<u32>(CONTROL, random, Control.random);
  return 1 + (mix(random) % ((2 << shift) - 1));
}

/** The program's work, as far as it is seen. */
@inline
function workSeen(): u64 {
  return load<u64>(CONTROL, Control.allocations) * ACCESSES_PER_BLOCK + load<u64>(CONTROL, Control.accesses);
}

/** The same without what was found late. */
@inline
function workInTime(): u64 {
  return workSeen() - load<u64>(CONTROL, Control.foundLate);
}

/** The block of an entry has so many accesses more than at the look before, which may have been passed over. */
@inline
function noteLate(entry: usize, found: u64): void {
  if (load<u16>(entry, Followed.lastRest) !== 0)
    bump64(CONTROL, Control.foundLate, found * load<u32>(entry, Followed.weight));
}

/** What an entry stands for has other accesses than at the last look: the difference. */
@inline
function seeAccesses(entry: usize, accesses: u64): u64 {
  const before = load<u64>(entry, Followed.accesses);
  // Counters of static data that had no room for more have begun anew; those of a block may be another one's, which ends inside of it.
  if (accesses < before) return 0;
  bump64(CONTROL, Control.accesses, (accesses - before) * load<u32>(entry, Followed.weight));
  return accesses - before;
}

/** The block of a record is followed from its beginning on. */
export function follow(record: usize, weight: u32, time: u32): void {
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

/** Takes an entry out of the table; the last one gets its place. */
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

/** Half of a class's blocks are followed no longer, and each of the others stands for twice as many. */
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

/** The accesses to a block so far. */
function accessesOf(record: usize): u64 {
  const address = addressOf(record);
  const end = counterPlace(address + load<u32>(record, Record.size) - 1) + 4;
  return accessesIn(counterPlace(address), end) + load<u64>(record, Record.folded);
}

/** What counters have counted: a counter is twice the accesses and the bit of reads. */
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

/** Loops have begun as many trips as they were to, the last one `loop`; returns after how many they poll again. */
export function poll(loop: u32): u32 {
  const place = CONTROL + Control.loops + loop * LOOP_BYTES;
  const trips = load<u32>(place, Loop.trips) + POLLED_TRIPS;
  store<u32>(place, trips, Loop.trips);
  if (trips >= load<u32>(place, Loop.next)) {
    const more = lookAtAll() ? trips >>> <u32>LOOK_SHIFT : trips;
    store<u32>(place, trips + more < trips ? -1 : trips + more, Loop.next);
  }
  return POLLED_TRIPS;
}

/** Looks at all that is followed, if it is due by what is known of the program's work, or by its allocations. */
export function look(): void {
  const byWork = workSeen() >= load<u64>(CONTROL, Control.nextLook);
  const byNumber = load<u64>(CONTROL, Control.allocations) >= load<u64>(CONTROL, Control.nextLookNumber);
  if (byWork || byNumber) lookAtAll();
}

/** Whether more work was done since the last look than this one has cost. */
function lookAtAll(): bool {
  const number = load<u64>(CONTROL, Control.allocations);
  const time = WALL_CLOCK === 0 ? <u32>number : load<u32>(CONTROL, Control.wallMs);
  let cost = lookAtStatics();
  const spentBefore = load<u64>(CONTROL, Control.lookWork);
  const mayRest = spentBefore >= REST_WORK && spentBefore < FREE_WORK;
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
  // What this look has found at any block was done before.
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

/** The counters of static data, and of what lies below. */
function lookAtStatics(): u64 {
  const end = counterPlace(STATICS + STATIC_BYTES);
  const entry = entryAt(0);
  const accesses = accessesIn(counterPlace(0), end);
  store<u32>(entry, 1, Followed.weight);
  seeAccesses(entry, accesses);
  store<u64>(entry, accesses, Followed.accesses);
  return LOOK_WORK + ((STATICS + STATIC_BYTES) >>> 3);
}

/** Work that is known at the end of a look alone. */
const LATER: u64 = -1;

/** The followed block of a record has ended, with so many accesses. `copied`: a reallocation has just used it. */
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
  const work = workSeen();
  const all = work - load<u64>(entry, Followed.startWork);
  const after: u64 = isIdle ? workInTime() - load<u64>(entry, Followed.seenWork) : 0;
  remove(index);
  const context = dragOf(load<u32>(record, Record.mib));
  const bytes = <u64>size * weight;
  bump32(context, Drag.followed, 1);
  bump64(context, Drag.blocks, weight);
  bump64(context, Drag.bytes, bytes);
  bump64(context, Drag.byteTime, bytes * (time - start));
  bumpWork(context + Drag.byteWork, bytes, all);
  if (!isIdle) return;
  bump64(context, Drag.dragged, bytes * (time - seen));
  if (after === 0 || after << 1 < all) return;
  bump64(context, Drag.lateBlocks, weight);
  bump64(context, Drag.lateBytes, bytes);
  bumpWork(context + Drag.lateByteWork, bytes, all);
  bumpWork(context + Drag.lateUsedByteWork, bytes, all - after);
  bump64(context, Drag.lateLastUse, bytes * seen);
  bump32(context, Drag.lateFollowed, 1);
}
