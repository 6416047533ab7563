import { FormatError } from "../bytes/errors.ts";

const decoder = new TextDecoder();

/**
 * A position in a section of debug information, little-endian. Reading past the end throws a `FormatError` of kind
 * `truncated`; whoever offers results to others catches it.
 */
export class Cursor {
  readonly bytes: Uint8Array;
  readonly section: string;
  end: number;
  pos: number;

  constructor(bytes: Uint8Array, section: string, pos = 0, end = bytes.length) {
    this.bytes = bytes;
    this.section = section;
    this.end = Math.min(end, bytes.length);
    this.pos = pos;
    if (pos < 0 || pos > this.end) this.fail();
  }

  fail(detail?: string): never {
    throw new FormatError(detail === undefined ? "truncated" : "malformed", this.pos, this.section, detail);
  }

  #take(length: number): number {
    const start = this.pos;
    if (start + length > this.end) this.fail();
    this.pos = start + length;
    return start;
  }

  skip(length: number): void {
    if (!(length >= 0)) this.fail();
    this.#take(length);
  }

  u8(): number {
    if (this.pos >= this.end) this.fail();
    return this.bytes[this.pos++];
  }

  u16(): number {
    const at = this.#take(2);
    return this.bytes[at] | (this.bytes[at + 1] << 8);
  }

  u24(): number {
    const at = this.#take(3);
    return this.bytes[at] | (this.bytes[at + 1] << 8) | (this.bytes[at + 2] << 16);
  }

  u32(): number {
    const { bytes } = this;
    const at = this.#take(4);
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
  }

  /** Exact below 2^53, rounded above. */
  u64(): number {
    const low = this.u32();
    return this.u32() * 0x1_0000_0000 + low;
  }

  u64Exact(): bigint {
    const low = this.u32();
    return (BigInt(this.u32()) << 32n) | BigInt(low);
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
        return this.fail(`an integer of ${size} bytes`);
    }
  }

  uleb(): number {
    let byte = this.u8();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 128;
    while (byte >= 0x80) {
      byte = this.u8();
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    return value;
  }

  sleb(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte < 0x80) return (byte & 0x40) === 0 ? value : value - scale;
    }
  }

  skipLeb(): void {
    const { bytes, end } = this;
    let at = this.pos;
    while (at < end && bytes[at] >= 0x80) at++;
    if (at >= end) this.fail();
    this.pos = at + 1;
  }

  skipString(): void {
    const stop = this.bytes.indexOf(0, this.pos);
    if (stop < 0 || stop >= this.end) this.fail();
    this.pos = stop + 1;
  }

  string(): string {
    const start = this.pos;
    this.skipString();
    return decoder.decode(this.bytes.subarray(start, this.pos - 1));
  }

  /** Length of a unit or table, 32- or 64-bit DWARF, and the size of its offsets. */
  initialLength(): { length: number; offsetSize: 4 | 8 } {
    const length = this.u32();
    if (length < 0xffff_fff0) return { length, offsetSize: 4 };
    if (length !== 0xffff_ffff) this.fail(`reserved length 0x${length.toString(16)}`);
    return { length: this.u64(), offsetSize: 8 };
  }
}

/** The zero-terminated string at `offset`, or undefined where there is none. */
export function stringAt(bytes: Uint8Array | undefined, offset: number): string | undefined {
  if (bytes === undefined || !(offset >= 0 && offset < bytes.length)) return undefined;
  const stop = bytes.indexOf(0, offset);
  return stop < 0 ? undefined : decoder.decode(bytes.subarray(offset, stop));
}
