import { FormatError } from "../../ground/bytes/errors.ts";

/**
 * Read position in a section. A read past the end throws `FormatError("truncated")` with the offset in the section.
 *
 * 64-bit values are returned as numbers: exact below 2^53, which covers user-space addresses. LEB128 values may
 * have any length, as the standard allows; bits above 2^53 are lost.
 */
export class Cursor {
  readonly bytes: Uint8Array;
  readonly end: number;
  readonly construct: string;
  position: number;

  constructor(bytes: Uint8Array, position: number, construct: string, end: number = bytes.length) {
    this.bytes = bytes;
    this.end = Math.min(end, bytes.length);
    this.construct = construct;
    this.position = position;
    if (!(position >= 0 && position <= this.end))
      throw new FormatError("truncated", position, construct, "the offset lies outside of the section");
  }

  skip(count: number): number {
    const start = this.position;
    if (!(count >= 0 && count <= this.end - start))
      throw new FormatError("truncated", start, this.construct, `${count} bytes do not fit`);
    this.position = start + count;
    return start;
  }

  u8(): number {
    return this.bytes[this.skip(1)];
  }

  u16(): number {
    const at = this.skip(2);
    return this.bytes[at] | (this.bytes[at + 1] << 8);
  }

  u24(): number {
    const at = this.skip(3);
    return this.bytes[at] | (this.bytes[at + 1] << 8) | (this.bytes[at + 2] << 16);
  }

  u32(): number {
    return u32At(this.bytes, this.skip(4));
  }

  u64(): number {
    return u64At(this.bytes, this.skip(8));
  }

  big64(): bigint {
    const at = this.skip(8);
    return BigInt(u32At(this.bytes, at)) | (BigInt(u32At(this.bytes, at + 4)) << 32n);
  }

  unsigned(size: number): number {
    switch (size) {
      case 1:
        return this.u8();
      case 2:
        return this.u16();
      case 3:
        return this.u24();
      case 4:
        return this.u32();
      case 8:
        return this.u64();
      default:
        throw new FormatError("unsupported", this.position, this.construct, `a value of ${size} bytes`);
    }
  }

  uleb(): number {
    const { bytes, end } = this;
    let at = this.position;
    let byte = at < end ? bytes[at++] : this.#endInside();
    if (byte < 0x80) {
      this.position = at;
      return byte;
    }
    let value = byte & 0x7f;
    for (let scale = 128; byte >= 0x80; scale *= 128) {
      byte = at < end ? bytes[at++] : this.#endInside();
      if (scale <= 2 ** 63) value += (byte & 0x7f) * scale;
    }
    this.position = at;
    return value;
  }

  sleb(): number {
    const { bytes, end } = this;
    let at = this.position;
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = at < end ? bytes[at++] : this.#endInside();
      if (scale <= 2 ** 63) value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte < 0x80) {
        this.position = at;
        return byte & 0x40 && scale <= 2 ** 70 ? value - scale : value;
      }
    }
  }

  skipString(): number {
    const start = this.position;
    const nul = this.bytes.indexOf(0, start);
    if (nul < 0 || nul >= this.end) this.#endInside();
    this.position = nul + 1;
    return start;
  }

  #endInside(): never {
    throw new FormatError("truncated", this.position, this.construct, "the section ends inside a value");
  }
}

export function u32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

export function u64At(bytes: Uint8Array, at: number): number {
  return u32At(bytes, at) + u32At(bytes, at + 4) * 2 ** 32;
}

/** Reads a unit's initial length, and whether the unit has the 64-bit format. */
export function readInitialLength(cursor: Cursor): { length: number; dwarf64: boolean } {
  const length = cursor.u32();
  if (length < 0xfffffff0) return { length, dwarf64: false };
  if (length === 0xffffffff) return { length: cursor.u64(), dwarf64: true };
  const offset = cursor.position - 4;
  throw new FormatError("malformed", offset, cursor.construct, "the length is of the reserved values");
}

const lenientUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the NUL-terminated string at an offset, or undefined if the offset is outside. */
export function stringAt(bytes: Uint8Array | undefined, offset: number): string | undefined {
  if (bytes === undefined || !(offset >= 0 && offset < bytes.length)) return undefined;
  let end = offset;
  let ascii = true;
  for (; end < bytes.length && bytes[end] !== 0; end++) if (bytes[end] >= 0x80) ascii = false;
  if (!ascii || end - offset > 200) return lenientUtf8.decode(bytes.subarray(offset, end));
  return String.fromCharCode.apply(null, bytes.subarray(offset, end) as unknown as number[]);
}
