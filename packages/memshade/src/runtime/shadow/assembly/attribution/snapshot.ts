// The lines of an interval are looked at once more when it ends, before the working set's own scan: what touched each of
// them first, whose bytes were touched, and how many. `runtime/host/working-set/open-attribution.ts` does the same for
// the interval that is still open at the end.
import { BOTH, C_HEAP_FROM, C_HIGH_LINES, C_INTERVAL, C_STACK_FROM, C_STACK_TO, C_WORK, CONTROL, WRITTEN } from "../working-set/layout";
import { halve } from "../working-set/snapshot";
import { bucketOf, bucketOfLine } from "../working-set/touch";
import { entryAt } from "./blocks";
import { add, list } from "./entries";
import {
  A_BYTE_COUNTS,
  A_SETTLED,
  B_ADDRESS,
  B_KEY,
  B_SIZE,
  BLOCK_SIZE,
  BLOCKS,
  BYTE_STAMPS,
  BYTES_KEY,
  COVERED,
  FILL,
  FILL_KIND,
  FIRST_TOUCH,
  FIRSTS,
  HEADS,
  HEAP_KEY,
  OWNERS,
  SHARE_KIND,
  STACK_KEY,
  STARTS,
  STATE,
  STATIC_KEY,
  T_KEY,
  T_LINE,
  T_MASK,
  T_NEXT,
  TOUCH_KIND,
  TOUCHERS,
} from "./layout";
import { bitsBetween, clearBytes, touchedBytes } from "./masks";

/**
 * A line that is attributed counts as so many that are looked at, so intervals of the tool's own choice become longer. It takes
 * more time than those; who asks for it waits for it rather than be shown fewer intervals.
 */
const LINES_PER_LINE: u32 = 8;

/** Attributes the lines of the interval that ends now. */
export function attribute(): void {
  const end = load<u32>(CONTROL, C_HIGH_LINES);
  let lines: u32 = 0;
  for (let group: u32 = 0; group < end; group += 16) {
    const marks = v128.or(v128.or(v128.load(group), v128.load(WRITTEN + group)), v128.load(BOTH + group));
    if (!v128.any_true(marks)) continue;
    for (let mask: u32 = i8x16.bitmask(i8x16.ne(marks, i8x16.splat(0))); mask != 0; mask &= mask - 1) {
      attributeLine(group + ctz(mask));
      lines++;
    }
  }
  store<u64>(CONTROL, load<u64>(CONTROL, C_WORK) + lines * LINES_PER_LINE, C_WORK);
  if (FILL)
    for (let bucket: u32 = 0; bucket < 16; bucket++) {
      const at: usize = STATE + A_BYTE_COUNTS + (bucket << 2);
      const count = load<u32>(at);
      if (count == 0) continue;
      add(BYTES_KEY, FILL_KIND, bucket, <f64>count);
      store<u32>(at, 0);
    }
  if (OWNERS) {
    for (let number = load<u32>(STATE, A_SETTLED); number != 0; number--)
      store<u32>(HEADS + (load<u32>(entryAt(number), T_LINE) << 2), 0);
    store<u32>(STATE, 0, A_SETTLED);
  }
  list();
}

/** Neighbouring intervals were merged: bytes have stamps too. */
export function merged(): void {
  if (FILL) halve(BYTE_STAMPS, min(load<u32>(CONTROL, C_HIGH_LINES) << 6, COVERED) << 1);
}

@inline
function attributeLine(line: u32): void {
  const now = load<u32>(CONTROL, C_INTERVAL) + 1;
  const bucket = bucketOfLine(line);
  if (FIRST_TOUCH) {
    const at: usize = TOUCHERS + (line << 2);
    add(load<u32>(at), TOUCH_KIND, bucket, 1);
    store<u32>(at, 0);
  }
  if (!(FILL | OWNERS)) return;
  const isCovered = line < COVERED >>> 6;
  const touched = isCovered ? touchedBytes(line) : 0;
  const settled = OWNERS && isCovered ? settledBytes(line) : 0;
  if (FILL) countBytes(line, touched | settled, now);
  if (OWNERS) share(line, touched, settled, bucket, isCovered);
  if (touched != 0) clearBytes(line, touched);
}

/** Counts bytes by the number of time scales at which they are new. */
function countBytes(line: u32, mask: u64, now: u32): void {
  const stamps: usize = BYTE_STAMPS + (line << 7);
  for (let eight: u32 = 0; eight < 8; eight++) {
    const bits = <u32>(mask >>> <u64>(eight << 3)) & 0xff;
    if (bits == 0) continue;
    const at: usize = stamps + (eight << 4);
    // Neighbours mostly have one history.
    const first: u32 = load<u16>(at);
    if (bits == 0xff && i16x8.all_true(i16x8.eq(v128.load(at), i16x8.splat(<i16>first)))) {
      countByte(now, first, 8);
      v128.store(at, i16x8.splat(<i16>now));
      continue;
    }
    for (let rest = bits; rest != 0; rest &= rest - 1) {
      const one = at + (<usize>ctz(rest) << 1);
      countByte(now, load<u16>(one), 1);
      store<u16>(one, <u16>now);
    }
  }
}

@inline
function countByte(now: u32, before: u32, bytes: u32): void {
  const counter: usize = STATE + A_BYTE_COUNTS + (bucketOf(now, before) << 2);
  store<u32>(counter, load<u32>(counter) + bytes);
}

@inline
function settledBytes(line: u32): u64 {
  let mask: u64 = 0;
  for (let at = load<u32>(HEADS + (line << 2)); at != 0; at = load<u32>(entryAt(at), T_NEXT))
    mask |= load<u64>(entryAt(at), T_MASK);
  return mask;
}

/** Divides a line among the blocks whose bytes of it were touched, and what lies around them. */
function share(line: u32, touched: u64, settled: u64, bucket: u32, isCovered: bool): void {
  const bytes = popcnt(touched | settled);
  if (bytes == 0) {
    add(regionKey(line), SHARE_KIND, bucket, 1);
    return;
  }
  const part: f64 = 1 / <f64>bytes;
  let owned: u64 = 0;
  if (isCovered) {
    const first = load<u32>(FIRSTS + (line << 2));
    if (first != 0) owned |= shareBlock(line, first, touched & ~owned, bucket, part);
    for (let granule: u32 = 0; granule < 8; granule++) {
      const number = load<u32>(STARTS + (((line << 3) + granule) << 2));
      if (number != 0) owned |= shareBlock(line, number, touched & ~owned, bucket, part);
    }
    for (let at = load<u32>(HEADS + (line << 2)); at != 0; at = load<u32>(entryAt(at), T_NEXT)) {
      const own = load<u64>(entryAt(at), T_MASK) & ~owned;
      if (own != 0) add(load<u32>(entryAt(at), T_KEY), SHARE_KIND, bucket, <f64>popcnt(own) * part);
      owned |= own;
    }
  }
  const rest = popcnt(touched & ~owned);
  if (rest != 0) add(regionKey(line), SHARE_KIND, bucket, <f64>rest * part);
}

/** Gives a live block its part of a line; returns its touched bytes. */
function shareBlock(line: u32, number: u32, touched: u64, bucket: u32, part: f64): u64 {
  const block: usize = BLOCKS + number * BLOCK_SIZE;
  const address = load<u32>(block, B_ADDRESS);
  const end = address + load<u32>(block, B_SIZE);
  const base = line << 6;
  if (end <= base) return 0;
  const own = touched & bitsBetween(address > base ? address - base : 0, min(end - base, 64));
  if (own != 0) add(load<u32>(block, B_KEY), SHARE_KIND, bucket, <f64>popcnt(own) * part);
  return own;
}

/** What a line is part of if it is no block's. */
function regionKey(line: u32): u32 {
  if (line >= load<u32>(CONTROL, C_STACK_FROM) && line < load<u32>(CONTROL, C_STACK_TO)) return STACK_KEY;
  return line >= load<u32>(CONTROL, C_HEAP_FROM) ? HEAP_KEY : STATIC_KEY;
}
