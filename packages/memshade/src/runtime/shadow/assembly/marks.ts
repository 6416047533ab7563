import { MARKS } from "./layout";

/** Ranges shorter than this are counted granule by granule; only blocks this long can have marks. */
export const SHORTEST_MARKED: u32 = 512;

/** Marks the granules of `[from, to)`, at least 64 of them. */
export function markRange(from: u32, to: u32): void {
  const first = from >>> 3;
  const last = (to - 1) >>> 3;
  const firstByte: usize = MARKS + (first >>> 3);
  const lastByte: usize = MARKS + (last >>> 3);
  store<u8>(firstByte, <u8>(<u32>load<u8>(firstByte) | (<u32>0xff << (first & 7))));
  store<u8>(lastByte, <u8>(<u32>load<u8>(lastByte) | (<u32>0xff >>> (7 - (last & 7)))));
  memory.fill(firstByte + 1, 0xff, lastByte - firstByte - 1);
}

/** Takes the marks of a block away; the number of marked granules whose own counter is zero. */
export function takeMarks(address: u32, size: u32): u32 {
  const first = address >>> 3;
  const last = (address + size - 1) >>> 3;
  const firstByte: usize = MARKS + (first >>> 3);
  const lastByte: usize = MARKS + (last >>> 3);
  let any: u32 = 0;
  let at = firstByte;
  for (; at + 8 <= lastByte; at += 8) any |= load<u64>(at) != 0 ? 1 : 0;
  for (; at <= lastByte; at++) any |= load<u8>(at);
  if (any == 0) return 0;
  let count: u32 = 0;
  for (let granule = first; granule <= last; granule++) {
    const byte: usize = MARKS + (granule >>> 3);
    const bits: u32 = load<u8>(byte);
    const bit: u32 = 1 << (granule & 7);
    if ((bits & bit) == 0) continue;
    store<u8>(byte, <u8>(bits & ~bit));
    if (load<u32>(granule << 2) == 0) count++;
  }
  return count;
}
