import { FormatError } from "../../../ground/bytes/errors.ts";
import type { Window } from "../../../ground/bytes/window.ts";

/** Reads little-endian values forward in a part of a file. Reads past its end throw `FormatError("malformed")`. */
export class Cursor {
  readonly window: Window;
  readonly construct: string;
  position: number;
  readonly #end: number;

  constructor(window: Window, position: number, construct: string, end = window.size) {
    this.window = window;
    this.position = position;
    this.construct = construct;
    this.#end = end;
    if (position > end) throw this.error(`it begins behind the end of the file (${end} bytes)`);
  }

  error(detail: string): FormatError {
    return new FormatError("malformed", this.position, this.construct, detail);
  }

  get remaining(): number {
    return this.#end - this.position;
  }

  need(count: number, label: string): void {
    if (count > this.#end - this.position)
      throw this.error(`${label} of ${count} bytes, but ${this.#end - this.position} are left`);
  }

  skip(count: number): number {
    this.need(count, "a field");
    const start = this.position;
    this.position += count;
    return start;
  }

  /** Moves forward and returns the position of the bytes in `window.view`. */
  next(count: number): number {
    return this.window.at(this.skip(count), count);
  }

  u8(): number {
    const at = this.next(1);
    return this.window.view.getUint8(at);
  }

  u16(): number {
    const at = this.next(2);
    return this.window.view.getUint16(at, true);
  }

  u32(): number {
    const at = this.next(4);
    return this.window.view.getUint32(at, true);
  }

  u64(): bigint {
    const at = this.next(8);
    return this.window.view.getBigUint64(at, true);
  }

  offset(label: string): number {
    const value = this.u64();
    if (value > this.window.size) {
      this.position -= 8;
      throw this.error(`${label} ${value} is behind the end of the file (${this.window.size} bytes)`);
    }
    return Number(value);
  }

  /** Reads a u64 count of items of at least `itemBytes` each, which must fit into the rest of the file. */
  count(itemBytes: number, label: string): number {
    const value = this.u64();
    if (value * BigInt(itemBytes) > this.#end - this.position) {
      this.position -= 8;
      throw this.error(`${value} ${label}, but ${this.#end - this.position - 8} bytes are left`);
    }
    return Number(value);
  }
}
