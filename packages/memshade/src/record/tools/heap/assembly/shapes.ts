import { CounterPlace } from "./counter-memory";
import { COUNTED, SHAPES, WALL_CLOCK } from "./imports";
import { Context, SHAPE_BITS, SHAPE_BYTES, SHAPE_COUNT_BITS, Shape, Tag } from "./layout.generated";
import { bump32, bump64, mibOfTag, sizeOfTag } from "./records";
import { counterAt, lastOf } from "./small-counters";
import { addBlocks, addTimes, addUnread, divide } from "./sums";

/** So many blocks of other shapes have to come by before one of them takes an entry. */
const PATIENCE: u64 = 3;

/** Whose shape a block has. `copied`: its contents live on in another one, so that it was not written for nothing. */
@inline
export function ownerOf(tag: u32, copied: bool): u32 {
  return (tag | Tag.placeMask) ^ <u32>copied;
}

/** Where the shape of a block is, if it is anywhere. `mix`: that of its counters. */
@inline
export function shapeOf(owner: u32, mix: u32): usize {
  return SHAPES + (((mix + owner) * 0x9e3779b1) >>> (32 - SHAPE_BITS)) * SHAPE_BYTES;
}

/** One more block of a shape. */
@inline
export function addToShape(shape: usize, mib: usize, start: u32, time: u32): void {
  // Most blocks that end soon end before the next one begins: they overlap nothing, and their lifetimes add nothing.
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

/** A lifetime, already counted, is beyond those so far. */
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

/** Blocks of a shape that have a lifetime. */
@inline
function countOf(shape: usize): u64 {
  return load<u64>(shape, Shape.count) & ((1 << SHAPE_COUNT_BITS) - 1);
}

/** The blocks of a shape join their context's sums. */
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

/** All blocks of shapes join their contexts' sums, and the table is empty. */
export function foldAll(): void {
  const end = SHAPES + (SHAPE_BYTES << SHAPE_BITS);
  for (let shape: usize = SHAPES; shape < end; shape += SHAPE_BYTES) {
    fold(shape);
    store<u32>(shape, 0, Shape.owner);
  }
}

/** Makes an entry that of a block's shape, without blocks yet. False: it stays what it is. */
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
  // Beyond, the least density would not be that of the longest lifetime, because extremes are cut down to 32 bits.
  if ((density * 1000) >> 32 !== 0) return false;
  fold(shape);
  for (let i: u32 = 0; i < counters; i += 4) store<u32>(shape + i, counterAt(at + i), Shape.pattern);
  store<u32>(shape, owner, Shape.owner);
  store<u32>(shape, <u32>(density * 1000), Shape.density);
  store<u64>(shape, PATIENCE << SHAPE_COUNT_BITS, Shape.count);
  return true;
}
