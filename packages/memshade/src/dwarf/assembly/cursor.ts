// A position in a piece of input, and the values that stand there.
import { decline } from "./memory";

/** The next byte, and where the input ends. */
export let at: u32 = 0;
export let end: u32 = 0;

export function enter(start: u32, stop: u32): void {
  at = start;
  end = stop;
}

export function moveTo(position: u32): void {
  at = position;
}

/** Whether `bytes` more are there; if not, the input is damaged. */
@inline
export function has(bytes: u32): bool {
  if (at <= end && bytes <= end - at) return true;
  decline();
  return false;
}

/** An unsigned value below 2^32: larger ones are declined. It may lead beyond the end by less than `PADDING`. */
export function uleb(): u32 {
  const first = <u32>load<u8>(at++);
  if (first < 0x80) return first;
  const second = <u32>load<u8>(at++);
  if (second < 0x80) return (first & 0x7f) | (second << 7);
  let value: u64 = (first & 0x7f) | ((second & 0x7f) << 7);
  for (let shift: u64 = 14; shift < 35; shift += 7) {
    const byte = <u64>load<u8>(at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (value > u64(u32.MAX_VALUE)) break;
      return <u32>value;
    }
  }
  decline();
  return 0;
}

/** A signed value of 32 bits: larger ones are declined. */
export function sleb(): i32 {
  let value: i64 = 0;
  for (let shift: i64 = 0; shift < 35; shift += 7) {
    const byte = <i64>load<u8>(at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (byte & 0x40) value |= -1 << (shift + 7);
      if (value === i64(i32(value))) return <i32>value;
      break;
    }
  }
  decline();
  return 0;
}

/** An unsigned number of 1, 2, 4 or 8 bytes. */
export function unsignedAt(position: u32, bytes: u32): u64 {
  switch (bytes) {
    case 1:
      return load<u8>(position);
    case 2:
      return load<u16>(position);
    case 4:
      return load<u32>(position);
    default:
      return load<u64>(position);
  }
}
