import { FormatError } from "./errors.ts";
import { readS32Leb, readS33Leb, readU32Leb, readU64Leb, skipLeb32, skipLeb64 } from "./leb128.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A position moving through `bytes[start, end)`, little-endian. Reads past `end` throw
 * `FormatError("truncated")` with the offset where the read began.
 */
export class ByteReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  position: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.position;
  }

  get atEnd(): boolean {
    return this.position >= this.end;
  }

  /** Moves `count` bytes forward and returns the position before. */
  skip(count: number, construct = "bytes"): number {
    const start = this.position;
    if (count > this.end - start)
      throw new FormatError(
        "truncated",
        start,
        construct,
        `${count} bytes are needed, ${Math.max(0, this.end - start)} are left`,
      );
    this.position = start + count;
    return start;
  }

  u8(construct = "byte"): number {
    return this.bytes[this.skip(1, construct)];
  }

  u32Leb(): number {
    const { bytes, position } = this;
    // Most are of one byte.
    if (position < this.end && bytes[position] < 0x80) {
      this.position = position + 1;
      return bytes[position];
    }
    const value = readU32Leb(this.bytes, this.position);
    this.#moveTo(skipLeb32(this.bytes, this.position));
    return value;
  }

  s32Leb(): number {
    const value = readS32Leb(this.bytes, this.position);
    this.#moveTo(skipLeb32(this.bytes, this.position));
    return value;
  }

  s33Leb(): number {
    const value = readS33Leb(this.bytes, this.position);
    this.#moveTo(skipLeb32(this.bytes, this.position));
    return value;
  }

  u64Leb(): bigint {
    const value = readU64Leb(this.bytes, this.position);
    this.#moveTo(skipLeb64(this.bytes, this.position));
    return value;
  }

  /**
   * The count in front of a vector whose entries take at least `minimumEntryBytes` each. A count that the
   * remaining bytes cannot hold is refused, so that allocations stay bounded by the input.
   */
  vectorCount(construct: string, minimumEntryBytes = 1): number {
    const start = this.position;
    const count = this.u32Leb();
    if (count * minimumEntryBytes > this.end - this.position)
      throw new FormatError(
        "truncated",
        start,
        construct,
        `${count} entries are announced, ${this.end - this.position} bytes are left`,
      );
    return count;
  }

  /** A view (not a copy) of the next `count` bytes. */
  view(count: number, construct = "bytes"): Uint8Array {
    const start = this.skip(count, construct);
    return this.bytes.subarray(start, start + count);
  }

  /** A length-prefixed UTF-8 string; bytes that are not UTF-8 are malformed. */
  name(construct = "name"): string {
    const start = this.position;
    const content = this.view(this.u32Leb(), construct);
    try {
      return decodeUtf8(content);
    } catch {
      throw new FormatError("malformed", start, construct, "the bytes are not UTF-8");
    }
  }

  #moveTo(position: number): void {
    if (position > this.end)
      throw new FormatError("truncated", this.position, "LEB128 integer", "the construct ends inside it");
    this.position = position;
  }
}

/** Strict UTF-8; throws TypeError on anything else. Short ASCII takes a path without the decoder's call. */
function decodeUtf8(content: Uint8Array): string {
  if (content.length > 24) return strictUtf8.decode(content);
  let text = "";
  for (const byte of content) {
    if (byte >= 0x80) return strictUtf8.decode(content);
    text += String.fromCharCode(byte);
  }
  return text;
}
