/**
 * A file that is read piece by piece: a byte array, or an open file of which only the pieces asked for come into
 * memory. Offsets and sizes are plain numbers (below 2^53).
 */
export interface ByteSource {
  /** Size in bytes. */
  readonly size: number;
  /** The bytes `[offset, offset + length)`, cut at the end of the source. May be a view; nobody writes to it. */
  read(offset: number, length: number): Uint8Array;
  /** As `read`, of `target.length` bytes into an array of the caller's; a source without it makes a new one each time. */
  readInto?(offset: number, target: Uint8Array): Uint8Array;
}

/** A byte array as a source; what it gives out are views, not copies. */
export function sourceOfBytes(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, Math.min(offset + length, bytes.length)),
  };
}

/** A part of a source as a source of its own: `size` bytes from `start` on. */
export function partOfSource(source: ByteSource, start: number, size: number): ByteSource {
  const left = (offset: number, length: number) => Math.max(0, Math.min(length, size - offset));
  return {
    size,
    read: (offset, length) => source.read(start + offset, left(offset, length)),
    ...(source.readInto === undefined
      ? {}
      : {
          readInto: (offset: number, target: Uint8Array) =>
            source.readInto!(start + offset, target.subarray(0, left(offset, target.length))),
        }),
  };
}
