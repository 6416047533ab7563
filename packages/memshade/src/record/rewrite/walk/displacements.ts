import { type MemoryType, skipOpcode } from "../../../code/wasm/index.ts";
import { readU64Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";

const HAS_MEMORY_INDEX = 0x40;

/**
 * Reads the low 32 bits of a displacement. 64-bit memories may have larger ones, but only these bits matter for
 * grouping and counting.
 */
export function readDisplacement(bytes: Uint8Array, pos: number): number {
  let result = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = bytes[pos++];
    if (shift < 32) result |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return result;
}

/** True if the displacement of the access instruction at `start` exceeds 32 bits. */
export function hasLongDisplacement(bytes: Uint8Array, start: number): boolean {
  let pos = skipOpcode(bytes, start);
  const flags = bytes[pos++];
  if ((flags & HAS_MEMORY_INDEX) !== 0) pos = skipLeb32(bytes, pos);
  return BigInt.asUintN(32, readU64Leb(bytes, pos)) !== readU64Leb(bytes, pos);
}

export function skipDisplacement(bytes: Uint8Array, pos: number): number {
  while (bytes[pos] > 127) pos++;
  return pos + 1;
}

/** Returns the largest size of a memory by its declaration, bytes; infinite if only the engine limits it. */
export function declaredBytes({ maximum, pageSizeLog2, index64 }: MemoryType): number {
  if (maximum !== undefined) return maximum * 2 ** pageSizeLog2;
  return index64 ? Number.POSITIVE_INFINITY : 2 ** 32;
}
