/**
 * File that is read piece by piece: a byte array, or an open file of which only the requested pieces are loaded.
 * Offsets and sizes are plain numbers (below 2^53).
 */
export interface ByteSource {
  readonly size: number;
  /**
   * Reads the bytes `[offset, offset + length)`, cut at the end of the source. The result may be a view and must
   * not be written to.
   */
  read(offset: number, length: number): Uint8Array;
  /**
   * Reads `target.length` bytes into an array of the caller. Sources without this method allocate an array for each
   * read.
   */
  readInto?(offset: number, target: Uint8Array): Uint8Array;
}

export function sourceOfBytes(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, Math.min(offset + length, bytes.length)),
  };
}

export function partOfSource(source: ByteSource, start: number, size: number): ByteSource {
  const clampedLength = (offset: number, length: number) => Math.max(0, Math.min(length, size - offset));
  return {
    size,
    read: (offset, length) => source.read(start + offset, clampedLength(offset, length)),
    ...(source.readInto === undefined
      ? {}
      : {
          readInto: (offset: number, target: Uint8Array) =>
            source.readInto!(start + offset, target.subarray(0, clampedLength(offset, target.length))),
        }),
  };
}
