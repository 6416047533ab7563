import { FormatError } from "../../../ground/bytes/errors.ts";
import { readS64Leb, readU64Leb, skipLeb64 } from "../../../ground/bytes/leb128.ts";

/** Reads LEB128 integers forward in an unpacked chunk. Errors give the chunk's offset in the file. */
export class VarintReader {
  position = 0;
  low = 0;
  high = 0;
  readonly #bytes: Uint8Array;
  readonly #fileOffset: number;
  readonly #construct: string;

  constructor(bytes: Uint8Array, fileOffset: number, construct: string) {
    this.#bytes = bytes;
    this.#fileOffset = fileOffset;
    this.#construct = construct;
  }

  get remaining(): number {
    return this.#bytes.length - this.position;
  }

  error(detail: string): FormatError {
    return new FormatError("malformed", this.#fileOffset, this.#construct, detail);
  }

  wide(): bigint {
    if (this.position < this.#bytes.length && this.#bytes[this.position]! < 0x80)
      return BigInt(this.#bytes[this.position++]!);
    return this.#guard(() => readU64Leb(this.#bytes, this.position));
  }

  words(): void {
    const bytes = this.#bytes;
    let position = this.position;
    let low = 0;
    // Four bytes hold 28 bits.
    for (let shift = 0; shift < 28 && position < bytes.length; shift += 7) {
      const byte = bytes[position++]!;
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.position = position;
        this.low = low;
        this.high = 0;
        return;
      }
    }
    const value = this.wide();
    this.low = Number(value & 0xffffffffn);
    this.high = Number(value >> 32n);
  }

  number(label: string): number {
    this.words();
    const value = this.high * 2 ** 32 + this.low;
    if (!Number.isSafeInteger(value)) throw this.error(`${label} ${value} is too large`);
    return value;
  }

  signed(label: string): number {
    const { position } = this;
    const bytes = this.#bytes;
    let value = 0;
    for (let at = 0; at < 4 && position + at < bytes.length; at++) {
      const byte = bytes[position + at]!;
      value |= (byte & 0x7f) << (7 * at);
      if (byte >= 0x80) continue;
      this.position = position + at + 1;
      const unused = 25 - 7 * at;
      return (value << unused) >> unused;
    }
    return this.#wideSigned(label);
  }

  #wideSigned(label: string): number {
    const value = Number(this.#guard(() => readS64Leb(this.#bytes, this.position)));
    if (!Number.isSafeInteger(value)) throw this.error(`${label} ${value} is too large`);
    return value;
  }

  index(limit: number, label: string): number {
    const value = this.number(label);
    if (value >= limit) throw this.error(`${label} ${value} of ${limit}`);
    return value;
  }

  /** Reads a count of items of at least `itemBytes` each, which must fit into the rest. */
  count(itemBytes: number, label: string): number {
    const value = this.number(label);
    if (value * itemBytes > this.remaining)
      throw this.error(`${value} ${label}, but ${this.remaining} bytes are left`);
    return value;
  }

  take(count: number): Uint8Array {
    if (count > this.remaining) throw this.error(`${count} bytes, but ${this.remaining} are left`);
    this.position += count;
    return this.#bytes.subarray(this.position - count, this.position);
  }

  #guard(read: () => bigint): bigint {
    try {
      const value = read();
      this.position = skipLeb64(this.#bytes, this.position);
      return value;
    } catch (error) {
      throw this.error((error as Error).message);
    }
  }
}
