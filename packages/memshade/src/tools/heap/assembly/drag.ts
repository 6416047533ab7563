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
  LEAST_LATE_DRAG,
  MOST_OF_CLASS,
  Record,
  SIZE_CLASS_BYTES,
  SMALLEST_CLASS_BITS,
  SizeClass,
} from "./layout.generated";
import { bump32, bump64 } from "./records";

// How long blocks live after their last access. Nothing is added to an access: at the ends of some intervals the sums of
// blocks' counters are compared with those of the last look, and at a block's end with those of its last one. So a block was
// accessed last before the first look that finds the sum it has in the end.
//
//   A block of 64 bytes begins at 10. It is looked at, at 20: sum 5. At 30: sum 8. At 40: 8. It ends at 70, its sum is 8:
//   it was used until 30 at most, so it was dragged along for 40 of its 60: 64 × 40 bytes × time.
//
// The clock of allocations stands still while a program computes. So there is another one, of the work that is seen: allocations, and
// accesses to followed blocks, which are found by looks. A look finds what was done since the last one at the same block; only if that
// was the look before it is sure to have been done after that. A block is late if the larger part of its life is drag by both clocks.
//
// Of each size some blocks are followed: all at first, fewer when there have been many or when too many of them live, and
// then each stands for several. An allocation that is to be followed lies behind the limit of the common path, and the block has a
// record, so that its end is no matter of the common path either.

/** Blocks of a class that are followed before fewer are. */
const FREE_BLOCKS: u32 = 2048;
/** From then on: one of 64 small blocks, of 32 of a KiB, and so on. */
const SPARSE_SHIFT: u32 = 6;
/** What looking may cost: so many granules, and so many for each allocation, and one for so many accesses. */
const FREE_WORK: u64 = 1 << 21;
const WORK_PER_ALLOCATION: u64 = 2;
const ACCESSES_PER_WORK: u64 = 32;
/** What a look costs beside the granules, and what it costs to find that none is due. */
const LOOK_WORK: u64 = 32;
const SKIP_WORK: u64 = 2;
/** The time until the next look, as a part of the time so far: 1/32; for one block as a part of the time without access: 1/2. */
const LOOK_SHIFT: u64 = 5;
const IDLE_SHIFT: u32 = 1;
/** For static data, of which there may be much: 1/16. */
const STATIC_LOOK_SHIFT: u64 = 4;

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

/** Work that is seen, `accesses` of it: as `Control` has them, all or those that are sure. */
@inline
function workOf(accesses: usize): u64 {
  return load<u64>(CONTROL, Control.allocations) * ACCESSES_PER_BLOCK + load<u64>(CONTROL + accesses);
}

/** A block has other counters than at the last look at it, `look` being the last look at any. */
function seeAccesses(entry: usize, accesses: u64, look: u32): void {
  const weighed = accesses * load<u32>(entry, Followed.weight);
  bump64(CONTROL, Control.accesses, weighed);
  if (load<u32>(entry, Followed.looked) === look) bump64(CONTROL, Control.sureAccesses, weighed);
}

/** The block of a record is followed from its beginning on. */
export function follow(record: usize, weight: u32, time: u32): void {
  const index = load<u32>(CONTROL, Control.followed) + 1;
  store<u32>(CONTROL, index, Control.followed);
  const entry = entryAt(index);
  store<u32>(entry, <u32>(record - RECORDS), Followed.record);
  store<u32>(entry, weight, Followed.weight);
  store<u32>(entry, time, Followed.seen);
  store<u32>(entry, time, Followed.due);
  store<u64>(entry, 0, Followed.sum);
  store<u32>(entry, load<u32>(CONTROL, Control.looks), Followed.looked);
  store<u64>(entry, workOf(Control.accesses), Followed.startWork);
  store<u64>(entry, workOf(Control.sureAccesses), Followed.seenWork);
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

/** Sum of a block's counters, as they are. */
function sumOf(record: usize): u64 {
  const address = load<u32>(record, Record.address);
  const at: u32 = (address >>> 3) << 2;
  const end: u32 = (((address + load<u32>(record, Record.size) - 1) >>> 3) << 2) + 4;
  return sumOfCounters(at, end) + (load<u64>(record, Record.folded) << 1);
}

/** Sum of counters, which are twice the accesses and the bit of reads. */
function sumOfCounters(from: u32, end: u32): u64 {
  const low = i64x2.splat(0xffffffff);
  let at = from;
  let wide = i64x2.splat(0);
  for (; at + 16 <= end; at += 16) {
    const counters = v128.load(at);
    wide = i64x2.add(wide, i64x2.add(i64x2.shr_u(counters, 32), v128.and(counters, low)));
  }
  let sum = i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
  for (; at < end; at += 4) sum += load<u32>(at);
  return sum;
}

/** The same for static data: what is done with it after the last allocation is to be known. */
function lookAtStatics(number: u64): void {
  const end: u32 = ((STATICS + STATIC_BYTES) >>> 3) << 2;
  const work = load<u64>(CONTROL, Control.staticWork) + (end >>> 2);
  if (number < load<u64>(CONTROL, Control.nextStaticLook)) return;
  if (work > FREE_WORK + number * WORK_PER_ALLOCATION) return;
  store<u64>(CONTROL, sumOfCounters(0, end), Control.staticSum);
  store<u64>(CONTROL, work, Control.staticWork);
  store<u64>(CONTROL, number + (number >> STATIC_LOOK_SHIFT), Control.nextStaticLook);
}

/** At the end of an interval: looks at the blocks that are due, as far as it costs little beside what the program does. */
export function lookAtFollowed(number: u64): void {
  lookAtStatics(number);
  if (number < load<u64>(CONTROL, Control.nextLook)) return;
  let work = load<u64>(CONTROL, Control.lookWork);
  let accesses = load<u64>(CONTROL, Control.lookedAccesses);
  const most = FREE_WORK + number * WORK_PER_ALLOCATION + accesses / ACCESSES_PER_WORK;
  const count = load<u32>(CONTROL, Control.followed);
  if (work + count * SKIP_WORK > most) return;
  work += count * SKIP_WORK;
  const time = WALL_CLOCK === 0 ? <u32>number : load<u32>(CONTROL, Control.wallMs);
  const before = load<u32>(CONTROL, Control.looks);
  for (let index: u32 = 1; index <= count; index++) {
    const entry = entryAt(index);
    if (<i32>(time - load<u32>(entry, Followed.due)) < 0) continue;
    const record: usize = RECORDS + load<u32>(entry, Followed.record);
    const cost = LOOK_WORK + (load<u32>(record, Record.size) >>> 3);
    if (work + cost > most) continue;
    work += cost;
    const sum = sumOf(record);
    const last = load<u64>(entry, Followed.sum);
    if (sum !== last) {
      accesses += (sum - last) >>> 1;
      seeAccesses(entry, (sum - last) >>> 1, before);
      store<u64>(entry, sum, Followed.sum);
      store<u32>(entry, time, Followed.seen);
      store<u32>(entry, time, Followed.due);
    } else store<u32>(entry, time + ((time - load<u32>(entry, Followed.seen)) >>> IDLE_SHIFT), Followed.due);
    store<u32>(entry, before + 1, Followed.looked);
  }
  // What this look has found at any block was done before.
  const seenWork = workOf(Control.sureAccesses);
  for (let entry = entryAt(1); entry <= entryAt(count); entry += FOLLOWED_BYTES)
    if (load<u32>(entry, Followed.seen) === time) store<u64>(entry, seenWork, Followed.seenWork);
  store<u32>(CONTROL, before + 1, Control.looks);
  store<u64>(CONTROL, work, Control.lookWork);
  store<u64>(CONTROL, accesses, Control.lookedAccesses);
  store<u64>(CONTROL, number + (number >> LOOK_SHIFT), Control.nextLook);
}

/** The followed block of a record ends, before its counters are cleaned. `copied`: a reallocation has just used it. */
export function endFollowed(record: usize, time: u32, copied: bool): void {
  const index = load<u32>(record, Record.followed);
  const entry = entryAt(index);
  const size = load<u32>(record, Record.size);
  const start = load<u32>(record, Record.time);
  const weight = load<u32>(entry, Followed.weight);
  const seen = load<u32>(entry, Followed.seen);
  const before = load<u64>(entry, Followed.sum);
  const sum = sumOf(record);
  if (sum !== before) seeAccesses(entry, (sum - before) >>> 1, load<u32>(CONTROL, Control.looks));
  const isIdle = !copied && before !== 0 && sum === before;
  const work = workOf(Control.accesses) - load<u64>(entry, Followed.startWork);
  const after = workOf(Control.sureAccesses) - load<u64>(entry, Followed.seenWork);
  remove(index);
  const life = time - start;
  const drag: u32 = isIdle ? time - seen : 0;
  const context = dragOf(load<u32>(record, Record.mib));
  const bytes = <u64>size * weight;
  bump32(context, Drag.followed, 1);
  bump64(context, Drag.blocks, weight);
  bump64(context, Drag.bytes, bytes);
  bump64(context, Drag.byteTime, bytes * life);
  if (drag === 0) return;
  bump64(context, Drag.dragged, bytes * drag);
  if (drag < LEAST_LATE_DRAG || (<u64>drag) << 1 < life || after << 1 < work) return;
  bump64(context, Drag.lateBlocks, weight);
  bump64(context, Drag.lateBytes, bytes);
  bump64(context, Drag.lateByteTime, bytes * life);
  bump64(context, Drag.lateUsed, bytes * (life - drag));
  bump64(context, Drag.lateLastUse, bytes * seen);
  bump32(context, Drag.lateFollowed, 1);
}
