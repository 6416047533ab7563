import {
  M_TEMPORARY, M_TOTAL_LIFETIME_DENSITY, S_COUNT, S_DENSITY, S_MAX_LIFETIME, S_MIN_LIFETIME, S_OWNER, S_PATTERN, S_WAIT,
  SHAPE_BITS, SHAPE_SIZE, SHAPES, TAG_PLACE_MASK, WALL_CLOCK,
} from "./layout";
import { bump32, bump64, mibOfTag, sizeOfTag } from "./records";
import { addBlocks, addTimes, addUnread, divide } from "./sums";

/** So many blocks of other shapes have to come by before one of them takes an entry. */
const PATIENCE: u32 = 3;

@inline
export function ownerOf(tag: u32): u32 { return tag | TAG_PLACE_MASK; }

/** Where the shape of a block is, if it is anywhere. `mix`: that of its counters. */
@inline
export function shapeOf(owner: u32, mix: u32): usize {
  return SHAPES + (((mix + owner) * 0x9e3779b1) >>> (32 - SHAPE_BITS)) * SHAPE_SIZE;
}

/** One more block of a shape. */
@inline
export function addToShape(shape: usize, mib: usize, start: u32, time: u32): void {
  const lifetime = time - start;
  store<u64>(shape, load<u64>(shape, S_COUNT) + 1, S_COUNT);
  if (~lifetime > load<u32>(shape, S_MIN_LIFETIME)) store<u32>(shape, ~lifetime, S_MIN_LIFETIME);
  if (lifetime > load<u32>(shape, S_MAX_LIFETIME)) store<u32>(shape, lifetime, S_MAX_LIFETIME);
  addTimes(mib, start, time);
  let density = load<u32>(shape, S_DENSITY);
  if (lifetime > 1) density /= lifetime;
  else if (WALL_CLOCK == 0) bump32(mib, M_TEMPORARY, 1);
  bump64(mib, M_TOTAL_LIFETIME_DENSITY, density);
}

/** The blocks of a shape join their context's sums. */
function fold(shape: usize): void {
  const count = load<u64>(shape, S_COUNT);
  if (count == 0) return;
  store<u64>(shape, 0, S_COUNT);
  const owner = load<u32>(shape, S_OWNER);
  const mib = mibOfTag(owner);
  const size = sizeOfTag(owner);
  let accesses: u64 = 0;
  let touched: u32 = 0;
  let flags: u32 = 0;
  for (let at: usize = shape; at < shape + S_OWNER; at += 4) {
    const counter = load<u32>(at, S_PATTERN);
    accesses += counter >>> 1;
    if (counter != 0) touched++;
    flags |= counter;
  }
  const perSecond = load<u32>(shape, S_DENSITY);
  const least = ~load<u32>(shape, S_MIN_LIFETIME);
  const most = load<u32>(shape, S_MAX_LIFETIME);
  addBlocks(
    mib, count, size, (size + 7) >>> 3, accesses, touched, perSecond / 1000, least, most,
    most > 1 ? perSecond / most : perSecond, least > 1 ? perSecond / least : perSecond,
  );
  if ((flags & 1) == 0) addUnread(mib, count, size, accesses);
}

/** All blocks of shapes join their contexts' sums, and the table is empty. */
export function foldAll(): void {
  const end = SHAPES + (SHAPE_SIZE << SHAPE_BITS);
  for (let shape: usize = SHAPES; shape < end; shape += SHAPE_SIZE) {
    fold(shape);
    store<u32>(shape, 0, S_OWNER);
  }
}

/** Makes an entry that of a block's shape, without blocks yet. False: it stays what it is. */
@inline
export function takeShape(shape: usize, owner: u32, at: u32): bool {
  const wait = load<u32>(shape, S_WAIT);
  if (wait != 0) {
    store<u32>(shape, wait - 1, S_WAIT);
    return false;
  }
  const size = sizeOfTag(owner);
  const counters = (size + 7) >>> 3 << 2;
  let accesses: u64 = 0;
  for (let i: u32 = 0; i < counters; i += 4) accesses += load<u32>(at + i) >>> 1;
  const density = divide(accesses * 100, size);
  // Beyond, the least density would not be that of the longest lifetime, because extremes are cut down to 32 bits.
  if ((density * 1000) >> 32 != 0) return false;
  fold(shape);
  for (let i: u32 = 0; i < S_OWNER; i += 4) store<u32>(shape + i, i < counters ? load<u32>(at + i) : 0, S_PATTERN);
  store<u32>(shape, owner, S_OWNER);
  store<u64>(shape, 0, S_MIN_LIFETIME);
  store<u64>(shape, (density * 1000) | (<u64>PATIENCE << 32), S_DENSITY);
  return true;
}
