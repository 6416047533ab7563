import {
  sizeOfU32Leb,
  writePaddedU32Leb,
  writeS32Leb,
  writeS64Leb,
  writeU32Leb,
  writeU64Leb,
  writeWordsLeb,
} from "./leb128.ts";

const utf8 = new TextEncoder();

export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  /** @param capacity initial capacity in bytes; it doubles when it is used up */
  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(Math.max(16, capacity));
  }

  get length(): number {
    return this.#length;
  }

  reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  u8(value: number): this {
    if (this.#length === this.#bytes.length) this.reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  u32(value: number): this {
    this.reserve(4);
    for (let shift = 0; shift < 32; shift += 8) this.#bytes[this.#length++] = value >>> shift;
    return this;
  }

  patchU32(offset: number, value: number): void {
    for (let i = 0; i < 4; i++) this.#bytes[offset + i] = value >>> (8 * i);
  }

  u32Leb(value: number): this {
    this.reserve(5);
    this.#length = writeU32Leb(this.#bytes, this.#length, value);
    return this;
  }

  s32Leb(value: number): this {
    this.reserve(5);
    this.#length = writeS32Leb(this.#bytes, this.#length, value);
    return this;
  }

  /** Signed 33-bit integer (block types, heap types); `value` must be within ±2^32. */
  s33Leb(value: number): this {
    return this.s64Leb(value);
  }

  s64Leb(value: bigint | number): this {
    if (typeof value === "number" && value === (value | 0)) return this.s32Leb(value);
    this.reserve(10);
    this.#length = writeS64Leb(this.#bytes, this.#length, BigInt(value));
    return this;
  }

  u64Leb(value: bigint | number): this {
    if (typeof value === "number" && value === value >>> 0) return this.u32Leb(value);
    this.reserve(10);
    this.#length = writeU64Leb(this.#bytes, this.#length, BigInt(value));
    return this;
  }

  /** Writes a value given as two unsigned words, like `u64Leb`. */
  wordsLeb(low: number, high: number): this {
    this.reserve(10);
    this.#length = writeWordsLeb(this.#bytes, this.#length, low, high);
    return this;
  }

  f32(value: number): this {
    this.reserve(4);
    new DataView(this.#bytes.buffer).setFloat32(this.#length, value, true);
    this.#length += 4;
    return this;
  }

  f64(value: number): this {
    this.reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  bytes(content: Uint8Array | readonly number[]): this {
    this.reserve(content.length);
    this.#bytes.set(content, this.#length);
    this.#length += content.length;
    return this;
  }

  /** Copies `source[start, end)`; short ranges need no intermediate view. */
  range(source: Uint8Array, start: number, end: number): this {
    const count = end - start;
    this.reserve(count);
    if (count < 16) {
      for (let i = start; i < end; i++) this.#bytes[this.#length++] = source[i];
      return this;
    }
    this.#bytes.set(source.subarray(start, end), this.#length);
    this.#length += count;
    return this;
  }

  name(text: string): this {
    return this.vector(utf8.encode(text));
  }

  vector(content: Uint8Array): this {
    return this.u32Leb(content.length).bytes(content);
  }

  /** Reserves five bytes for an unsigned 32-bit LEB128 integer; returns the offset for `patchU32Leb`. */
  reserveU32Leb(): number {
    this.reserve(5);
    const offset = this.#length;
    this.#length = writePaddedU32Leb(this.#bytes, offset, 0);
    return offset;
  }

  patchU32Leb(offset: number, value: number): void {
    writePaddedU32Leb(this.#bytes, offset, value);
  }

  /** Writes the output of `content`, preceded by its size as a minimal LEB128 integer. */
  sized(content: (writer: this) => void): this {
    this.reserve(1);
    const sizeOffset = this.#length++;
    content(this);
    const size = this.#length - sizeOffset - 1;
    const extra = sizeOfU32Leb(size) - 1;
    if (extra > 0) {
      this.reserve(extra);
      this.#bytes.copyWithin(sizeOffset + 1 + extra, sizeOffset + 1, this.#length);
      this.#length += extra;
    }
    writeU32Leb(this.#bytes, sizeOffset, size);
    return this;
  }

  /** Returns the written bytes, as a view that the next write may invalidate. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** Drops the content and keeps the memory. */
  clear(): void {
    this.#length = 0;
  }
}
