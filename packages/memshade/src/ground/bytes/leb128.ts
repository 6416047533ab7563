import { FormatError } from "./errors.ts";

/**
 * LEB128 integers on plain byte arrays, for code that keeps its own position. No function allocates.
 *
 * A 32-bit value takes at most 5 bytes and a 64-bit one at most 10; longer encodings are malformed. Shorter values
 * may be padded with continuation bytes up to that length, as linkers do to patch in place.
 */

const MAX_BYTES_32 = 5;
const MAX_BYTES_64 = 10;

function truncated(offset: number): FormatError {
  return new FormatError("truncated", offset, "LEB128 integer", "the input ends inside the integer");
}

function tooLong(offset: number): FormatError {
  return new FormatError("malformed", offset, "LEB128 integer", "the integer has too many bytes or bits");
}

function skipLeb(bytes: Uint8Array, position: number, maxBytes: number): number {
  const length = bytes.length;
  for (let i = position, limit = position + maxBytes; i < limit; i++) {
    if (i >= length) throw truncated(position);
    if (bytes[i] < 0x80) return i + 1;
  }
  throw tooLong(position);
}

/** Returns the position after the LEB128 integer of at most 32 bits (5 bytes) that starts at `position`. */
export function skipLeb32(bytes: Uint8Array, position: number): number {
  if (position < bytes.length && bytes[position] < 0x80) return position + 1;
  return skipLeb(bytes, position, MAX_BYTES_32);
}

/** Returns the position after the LEB128 integer of at most 64 bits (10 bytes) that starts at `position`. */
export function skipLeb64(bytes: Uint8Array, position: number): number {
  if (position < bytes.length && bytes[position] < 0x80) return position + 1;
  return skipLeb(bytes, position, MAX_BYTES_64);
}

/** Reads the unsigned 32-bit integer at `position`; `skipLeb32` returns the position after it. */
export function readU32Leb(bytes: Uint8Array, position: number): number {
  const length = bytes.length;
  if (position >= length) throw truncated(position);
  let byte = bytes[position];
  if (byte < 0x80) return byte;
  let result = byte & 0x7f;
  for (let i = 1; i < MAX_BYTES_32; i++) {
    if (position + i >= length) throw truncated(position);
    byte = bytes[position + i];
    if (i === 4 && byte > 0x0f) throw tooLong(position);
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) break;
  }
  return result >>> 0;
}

export function readS32Leb(bytes: Uint8Array, position: number): number {
  const length = bytes.length;
  let result = 0;
  for (let i = 0; i < MAX_BYTES_32; i++) {
    if (position + i >= length) throw truncated(position);
    const byte = bytes[position + i];
    // Bits 31 and above of the fifth byte must all repeat the sign, and it must be the last one.
    if (i === 4 && byte > 0x07 && (byte < 0x78 || byte > 0x7f)) throw tooLong(position);
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return i === 4 ? result : (result << (25 - 7 * i)) >> (25 - 7 * i);
  }
  throw tooLong(position);
}

/** Reads the signed 33-bit integer at `position` (block types, heap types). */
export function readS33Leb(bytes: Uint8Array, position: number): number {
  const length = bytes.length;
  let result = 0;
  let scale = 1;
  for (let i = 0; i < MAX_BYTES_32; i++) {
    if (position + i >= length) throw truncated(position);
    const byte = bytes[position + i];
    if (i === 4 && byte > 0x0f && (byte < 0x70 || byte > 0x7f)) throw tooLong(position);
    result += (byte & 0x7f) * scale;
    scale *= 0x80;
    if (byte < 0x80) return byte & 0x40 ? result - scale : result;
  }
  throw tooLong(position);
}

export function readU64Leb(bytes: Uint8Array, position: number): bigint {
  const end = skipLeb64(bytes, position);
  if (end - position === MAX_BYTES_64 && bytes[end - 1] > 0x01) throw tooLong(position);
  return joinGroups(bytes, position, end);
}

export function readS64Leb(bytes: Uint8Array, position: number): bigint {
  const end = skipLeb64(bytes, position);
  const last = bytes[end - 1];
  if (end - position === MAX_BYTES_64 && last !== 0x00 && last !== 0x7f) throw tooLong(position);
  const bits = 7 * (end - position);
  return BigInt.asIntN(Math.min(bits, 64), joinGroups(bytes, position, end));
}

function joinGroups(bytes: Uint8Array, position: number, end: number): bigint {
  // Seven groups are 49 bits and fit a double, so that only one or two bigints are allocated.
  let low = 0;
  let high = 0;
  for (let i = Math.min(end, position + 7) - 1; i >= position; i--) low = low * 0x80 + (bytes[i] & 0x7f);
  for (let i = end - 1; i >= position + 7; i--) high = high * 0x80 + (bytes[i] & 0x7f);
  return high === 0 ? BigInt(low) : BigInt(low) + (BigInt(high) << 49n);
}

/** Returns the number of bytes that `value` takes as a minimal unsigned LEB128 integer of at most 32 bits. */
export function sizeOfU32Leb(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** Writes `value` as a minimal unsigned LEB128 integer; returns the position after it. The target must have room. */
export function writeU32Leb(target: Uint8Array, position: number, value: number): number {
  let rest = value >>> 0;
  while (rest >= 0x80) {
    target[position++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[position++] = rest;
  return position;
}

export function writePaddedU32Leb(target: Uint8Array, position: number, value: number): number {
  for (let shift = 0; shift < 28; shift += 7) target[position++] = ((value >>> shift) & 0x7f) | 0x80;
  target[position++] = value >>> 28;
  return position;
}

/** Writes `value` as a minimal signed LEB128 integer of 32 bits; returns the position after it. */
export function writeS32Leb(target: Uint8Array, position: number, value: number): number {
  let rest = value | 0;
  while (rest < -0x40 || rest > 0x3f) {
    target[position++] = (rest & 0x7f) | 0x80;
    rest >>= 7;
  }
  target[position++] = rest & 0x7f;
  return position;
}

/** Writes `value` as a minimal signed LEB128 integer of 64 bits; returns the position after it. */
export function writeS64Leb(target: Uint8Array, position: number, value: bigint): number {
  let rest = BigInt.asIntN(64, value);
  if (rest >= -0x80000000n && rest <= 0x7fffffffn) return writeS32Leb(target, position, Number(rest));
  while (rest < -0x40n || rest > 0x3fn) {
    target[position++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[position++] = Number(rest & 0x7fn);
  return position;
}

/** Writes `value` as a minimal unsigned LEB128 integer of 64 bits; returns the position after it. */
export function writeU64Leb(target: Uint8Array, position: number, value: bigint): number {
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    target[position++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[position++] = Number(rest);
  return position;
}

/** Writes a value given as two unsigned words, like `writeU64Leb`. */
export function writeWordsLeb(target: Uint8Array, position: number, low: number, high: number): number {
  let lowRest = low;
  let highRest = high;
  while (highRest !== 0) {
    target[position++] = (lowRest & 0x7f) | 0x80;
    lowRest = ((lowRest >>> 7) | (highRest << 25)) >>> 0;
    highRest >>>= 7;
  }
  return writeU32Leb(target, position, lowRest);
}
