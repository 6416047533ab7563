export function int32At(bytes: Uint8Array, offset: number): number {
  return bytes[offset] | (bytes[offset + 1] << 8) | (bytes[offset + 2] << 16) | (bytes[offset + 3] << 24);
}

export function viewOf<Buffer extends ArrayBufferLike>({
  buffer,
  byteOffset,
  byteLength,
}: Uint8Array<Buffer>): DataView<Buffer> {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Reads an unsigned 64-bit value as a number: exact up to 2^53, which covers file offsets and user memory. */
export function getU64(view: DataView, offset: number): number {
  return view.getUint32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true);
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Returns bytes as hexadecimal digits. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
