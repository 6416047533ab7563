import { MARKS } from "./imports";
import { LARGEST_UNMARKED } from "./layout.generated";

/**
 * Bytes of the shortest range that is marked. Shorter ranges are counted granule by granule, and only blocks
 * this long can have marks.
 */
export const SHORTEST_MARKED: u32 = LARGEST_UNMARKED + 1;

/**
 * Marks the granules from that of `first` to that of `last`, which are at least 64 granules apart.
 * `alternate`: marks every other granule, for accesses 16 bytes apart.
 */
export function markRange(first: u32, last: u32, alternate: bool): void {
  first >>>= 3;
  last >>>= 3;
  const pattern: u32 = !alternate ? 0xff : first & 1 ? 0xaa : 0x55;
  const wide: u64 = <u64>pattern * 0x0101010101010101;
  const from: usize = MARKS + (first >>> 3);
  const to: usize = MARKS + (last >>> 3) - 7;
  // Words are written from both ends and overlap if the bytes between are no multiple of eight. The last word
  // is loaded before any store, because a load that spans several stores waits for all of them. (A call of
  // the engine's own fill takes longer than most of these ranges.)
  const end = load<u64>(to) | (wide & (<u64>-1 >>> (7 - (last & 7))));
  store<u64>(from, load<u64>(from) | (wide & ((<u64>-1) << (first & 7))));
  for (let at = from + 8; at < to; at += 8) store<u64>(at, load<u64>(at) | wide);
  store<u64>(to, end);
}

export function markPlace(address: u32): void {
  const byte: usize = MARKS + (address >>> 6);
  store<u8>(byte, load<u8>(byte) | <u8>((<u32>1) << ((address >>> 3) & 7)));
}

/** Returns the last marked granule up to `last`, or `first` if no later one is marked. */
export function lastMarked(first: i32, last: i32): i32 {
  for (let granule = last; granule > first; granule = (granule & ~63) - 1) {
    const word = load<u64>(MARKS + ((granule >>> 6) << 3)) & (<u64>-1 >>> (63 - (granule & 63)));
    if (word !== 0) return max(first, (granule | 63) - <i32>clz(word));
  }
  return first;
}

/** Counts the marked granules of a block whose own counter is zero. `take`: clears the marks. */
export function countMarks(address: u32, size: u32, take: bool): u32 {
  const first = address >>> 3;
  const last = (address + size - 1) >>> 3;
  const firstByte: usize = MARKS + (first >>> 3);
  const lastByte: usize = MARKS + (last >>> 3);
  let any: u32 = 0;
  let at = firstByte;
  for (; at + 8 <= lastByte; at += 8) any |= load<u64>(at) !== 0 ? 1 : 0;
  for (; at <= lastByte; at++) any |= load<u8>(at);
  if (any === 0) return 0;
  let count: u32 = 0;
  for (let granule = first; granule <= last; granule++) {
    const byte: usize = MARKS + (granule >>> 3);
    const bits: u32 = load<u8>(byte);
    const bit: u32 = 1 << (granule & 7);
    if ((bits & bit) === 0) continue;
    if (take) store<u8>(byte, <u8>(bits & ~bit));
    if (load<u32>(granule << 2) === 0) count++;
  }
  return count;
}
