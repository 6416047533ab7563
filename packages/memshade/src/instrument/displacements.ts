/** Displacements of 64-bit memories may exceed 32 bits; only their low bits matter for grouping and counting. */
export function readDisplacement(bytes: Uint8Array, pos: number): number {
  let result = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = bytes[pos++];
    if (shift < 32) result |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return result;
}

/** The offset behind the displacement at `pos`. */
export function skipDisplacement(bytes: Uint8Array, pos: number): number {
  while (bytes[pos] > 127) pos++;
  return pos + 1;
}
