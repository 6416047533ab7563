import { FormatError } from "./errors.ts";
import { readS32Leb, readS33Leb, readU32Leb, readU64Leb, skipLeb32, skipLeb64 } from "./leb128.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Read position in `bytes[start, end)`, little-endian. Reads past `end` throw `FormatError("truncated")` with the
 * offset where the read began.
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
    // Most integers have one byte.
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
   * Reads the count before a vector whose entries take at least `minimumEntryBytes` each. A count that exceeds the
   * remaining bytes is refused, so that the input's size limits allocations.
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

  view(count: number, construct = "bytes"): Uint8Array {
    const start = this.skip(count, construct);
    return this.bytes.subarray(start, start + count);
  }

  /** Reads a length-prefixed UTF-8 string; bytes that are not UTF-8 are malformed. */
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

/** Decodes strict UTF-8; throws TypeError for anything else. Short ASCII avoids the decoder's call. */
function decodeUtf8(content: Uint8Array): string {
  if (content.length > 24) return strictUtf8.decode(content);
  let text = "";
  for (const byte of content) {
    if (byte >= 0x80) return strictUtf8.decode(content);
    text += String.fromCharCode(byte);
  }
  return text;
}
