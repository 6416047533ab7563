import {
  CounterPlace,
  clean,
  cleanFour,
  cleanTwo,
  counterOf,
  fourCounters,
  twoCounters,
} from "./counter-memory";
import { COUNTED, SHAPES, WALL_CLOCK } from "./imports";
import { Context, SHAPE_BITS, SHAPE_BYTES, SHAPE_COUNT_BITS, Shape, Tag } from "./layout.generated";
import { addBlocks, addTimes, addUnread, divide } from "./live";
import { bump32, bump64, mibOfTag, sizeOfTag } from "./records";

/** Number of blocks of other shapes that a table entry outlasts before it takes a new shape. */
const PATIENCE: u64 = 3;

/**
 * Returns the owner word of a block's shape. `copied`: its contents live on in another block, so its writes
 * were of use.
 */
@inline
export function ownerOf(tag: u32, copied: bool): u32 {
  return (tag | Tag.placeMask) ^ <u32>copied;
}

/** Returns the entry in which a block's shape would be. `mix`: hash of its counters. */
@inline
export function shapeOf(owner: u32, mix: u32): usize {
  return SHAPES + (((mix + owner) * 0x9e3779b1) >>> (32 - SHAPE_BITS)) * SHAPE_BYTES;
}

@inline
export function addToShape(shape: usize, mib: usize, start: u32, time: u32): void {
  // Most short-lived blocks end before the next one begins: they overlap none, and add nothing to the sum of
  // lifetimes.
  if (WALL_CLOCK === 0 && time === start) {
    store<u64>(shape, load<u64>(shape, Shape.zero) + 1, Shape.zero);
    store<u32>(mib, time, Context.allocTimestamp);
    store<u32>(mib, time, Context.deallocTimestamp);
    return;
  }
  const lifetime = time - start;
  store<u64>(shape, load<u64>(shape, Shape.count) + 1, Shape.count);
  if (lifetime - load<u32>(shape, Shape.minLifetime) > load<u32>(shape, Shape.span))
    widenSpan(shape, lifetime);
  addTimes(mib, start, time);
  if (WALL_CLOCK === 0 && lifetime <= 1) bump32(mib, Context.temporary, 1);
  if (COUNTED === 0) return;
  const density = load<u32>(shape, Shape.density);
  bump64(mib, Context.totalLifetimeDensity, lifetime <= 1 ? density : density / lifetime);
}

@inline
function widenSpan(shape: usize, lifetime: u32): void {
  let least = load<u32>(shape, Shape.minLifetime);
  let most = least + load<u32>(shape, Shape.span);
  if (countOf(shape) === 1) {
    least = lifetime;
    most = lifetime;
  }
  least = min(least, lifetime);
  store<u32>(shape, least, Shape.minLifetime);
  store<u32>(shape, max(most, lifetime) - least, Shape.span);
}

/** Returns the blocks of a shape that have a lifetime above zero. */
@inline
function countOf(shape: usize): u64 {
  return load<u64>(shape, Shape.count) & ((1 << SHAPE_COUNT_BITS) - 1);
}

function fold(shape: usize): void {
  const withLifetime = countOf(shape);
  const without = load<u64>(shape, Shape.zero);
  const count = withLifetime + without;
  if (count === 0) return;
  const owner = load<u32>(shape, Shape.owner);
  const mib = mibOfTag(owner);
  const size = sizeOfTag(owner);
  let accesses: u64 = 0;
  let touched: u32 = 0;
  let flags: u32 = 0;
  const counters = lastOf(size) + 4;
  for (let at: u32 = 0; at < counters; at += 4) {
    const counter = load<u32>(shape + at, Shape.pattern);
    accesses += counter >>> 1;
    if (counter !== 0) touched++;
    flags |= counter;
  }
  const perSecond = load<u32>(shape, Shape.density);
  const shortest = load<u32>(shape, Shape.minLifetime);
  const least = without === 0 ? shortest : 0;
  const most = withLifetime === 0 ? 0 : shortest + load<u32>(shape, Shape.span);
  addBlocks(
    mib,
    count,
    size,
    (size + 7) >>> 3,
    accesses,
    touched,
    perSecond / 1000,
    least,
    most,
    most > 1 ? perSecond / most : perSecond,
    least > 1 ? perSecond / least : perSecond,
  );
  bump32(mib, Context.temporary, <u32>without);
  bump64(mib, Context.totalLifetimeDensity, without * perSecond);
  if (((flags | ~owner) & 1) === 0) addUnread(mib, count, size, accesses);
  for (let field = Shape.count; field < Shape.pattern; field += 8) store<u64>(shape + field, 0);
}

export function foldAll(): void {
  const end = SHAPES + (SHAPE_BYTES << SHAPE_BITS);
  for (let shape: usize = SHAPES; shape < end; shape += SHAPE_BYTES) {
    fold(shape);
    store<u32>(shape, 0, Shape.owner);
  }
}

/** Gives an entry to the shape of a block, without blocks yet. False if the entry keeps its shape. */
@inline
export function takeShape(shape: usize, owner: u32, at: CounterPlace): bool {
  const count = load<u64>(shape, Shape.count);
  if (count >> SHAPE_COUNT_BITS !== 0) {
    store<u64>(shape, count - (1 << SHAPE_COUNT_BITS), Shape.count);
    return false;
  }
  const size = sizeOfTag(owner);
  const counters = lastOf(size) + 4;
  let accesses: u64 = 0;
  for (let i: u32 = 0; i < counters; i += 4) accesses += counterAt(at + i) >>> 1;
  const density = divide(accesses * 100, size);
  // Beyond 32 bits extremes are cut off, and the least density would no longer belong to the longest
  // lifetime.
  if ((density * 1000) >> 32 !== 0) return false;
  fold(shape);
  for (let i: u32 = 0; i < counters; i += 4) store<u32>(shape + i, counterAt(at + i), Shape.pattern);
  store<u32>(shape, owner, Shape.owner);
  store<u32>(shape, <u32>(density * 1000), Shape.density);
  store<u64>(shape, PATIENCE << SHAPE_COUNT_BITS, Shape.count);
  return true;
}

// Reads the counters of a small block: at most 16, at an address that is a multiple of 4. They are read as
// two words of 4, 8 or 16 bytes, or four of 16, that overlap where the block does not fill them. So no loop
// is needed, and nothing outside of the block is read.
// The smallest blocks are read counter by counter. A wider load waits until the stores that it overlaps have
// left the processor's store buffer, and programs often release a block just after its last access.

/** Returns the distance of the last counter of a block of `size` bytes from its first counter, in bytes. */
@inline
export function lastOf(size: u32): u32 {
  return ((size - 1) >>> 3) << 2;
}

@inline
export function counterAt(at: CounterPlace): u32 {
  return COUNTED === 0 ? 0 : counterOf(at);
}

const VECTOR_BYTES: u32 = 16;

@inline
function anyOfMany(from: CounterPlace, to: CounterPlace): bool {
  const last = to - VECTOR_BYTES;
  let any = fourCounters(last);
  for (let at = from; at < last; at += VECTOR_BYTES) any = v128.or(any, fourCounters(at));
  return v128.any_true(any);
}

@inline
export function anyCounter(at: CounterPlace, size: u32): bool {
  const last = at + lastOf(size);
  if (size <= 16) return (counterOf(at) | counterOf(last)) !== 0;
  if (size <= 32) return (twoCounters(at) | twoCounters(last - 4)) !== 0;
  return anyOfMany(at, last + 4);
}

/** Hashes the counters of a block, so that blocks of one size usually differ. */
@inline
export function mixSmall(first: u32, last: u32): u32 {
  return first + last * 31;
}

/**
 * Clears the counters if they equal those of a shape; else returns false.
 * `first`, `end`: the first and the last counter.
 */
@inline
export function takeSmall(at: CounterPlace, size: u32, first: u32, end: u32, shape: usize): bool {
  const last = lastOf(size);
  if (size <= 16) {
    if (((first ^ load<u32>(shape, Shape.pattern)) | (end ^ load<u32>(shape + last, Shape.pattern))) !== 0)
      return false;
    clean(at);
    clean(at + last);
  } else if (size <= 32) {
    const high = at + last - 4;
    const differ =
      (twoCounters(at) ^ load<u64>(shape, Shape.pattern)) |
      (twoCounters(high) ^ load<u64>(shape + last, Shape.pattern - 4));
    if (differ !== 0) return false;
    cleanTwo(at);
    cleanTwo(high);
  } else {
    const high = at + last - 12;
    let differ = v128.or(
      v128.xor(fourCounters(at), v128.load(shape, Shape.pattern)),
      v128.xor(fourCounters(high), v128.load(shape + last, Shape.pattern - 12)),
    );
    if (size > 64) {
      const inner = high - VECTOR_BYTES;
      differ = v128.or(
        differ,
        v128.or(
          v128.xor(fourCounters(at + VECTOR_BYTES), v128.load(shape, Shape.pattern + VECTOR_BYTES)),
          v128.xor(fourCounters(inner), v128.load(shape + last, Shape.pattern - 12 - VECTOR_BYTES)),
        ),
      );
      if (v128.any_true(differ)) return false;
      cleanFour(at + VECTOR_BYTES);
      cleanFour(inner);
    } else if (v128.any_true(differ)) return false;
    cleanFour(at);
    cleanFour(high);
  }
  return true;
}
