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
