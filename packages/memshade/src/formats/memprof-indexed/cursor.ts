import { FormatError } from "../../bytes/errors.ts";

/** Reads forward in a file, little-endian; reads past the end throw `FormatError("malformed")`. */
export class Cursor {
  readonly bytes: Uint8Array;
  readonly construct: string;
  position: number;
  private readonly view: DataView;

  constructor(bytes: Uint8Array, position: number, construct: string) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = position;
    this.construct = construct;
    if (position > bytes.length)
      throw this.error(`it begins behind the end of the file (${bytes.length} bytes)`);
  }

  error(detail: string): FormatError {
    return new FormatError("malformed", this.position, this.construct, detail);
  }

  /** Throws unless `count` more bytes are there. */
  need(count: number, what: string): void {
    if (count > this.bytes.length - this.position) {
      throw this.error(`${what} of ${count} bytes, but ${this.bytes.length - this.position} are left`);
    }
  }

  /** Moves forward and returns the position before. */
  skip(count: number): number {
    this.need(count, "a field");
    const start = this.position;
    this.position += count;
    return start;
  }

  u8(): number {
    return this.bytes[this.skip(1)]!;
  }

  u16(): number {
    return this.view.getUint16(this.skip(2), true);
  }

  u32(): number {
    return this.view.getUint32(this.skip(4), true);
  }

  u64(): bigint {
    return this.view.getBigUint64(this.skip(8), true);
  }

  /** A u64 that says where something is in the file. */
  offset(what: string): number {
    const value = this.u64();
    if (value > this.bytes.length) {
      this.position -= 8;
      throw this.error(`${what} ${value} is behind the end of the file (${this.bytes.length} bytes)`);
    }
    return Number(value);
  }

  /** A u64 count of items of at least `itemBytes` each, which must fit into the rest of the file. */
  count(itemBytes: number, what: string): number {
    const value = this.u64();
    if (value * BigInt(itemBytes) > this.bytes.length - this.position) {
      this.position -= 8;
      throw this.error(`${value} ${what}, but ${this.bytes.length - this.position - 8} bytes are left`);
    }
    return Number(value);
  }
}
