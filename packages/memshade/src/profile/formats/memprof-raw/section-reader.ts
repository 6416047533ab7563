import { FormatError } from "../../../ground/bytes/errors.ts";
import type { Window } from "../../../ground/bytes/window.ts";

export class SectionReader {
  readonly #window: Window;
  readonly #name: string;
  readonly #end: number;
  #at: number;

  constructor(window: Window, name: string, start: number, end: number) {
    this.#window = window;
    this.#name = name;
    this.#at = start;
    this.#end = end;
  }

  get position(): number {
    return this.#at;
  }

  /** Reads a u64 count, then that many items of at least `itemBytes` each. */
  readList<T>(itemBytes: number, readItem: () => T): T[] {
    return Array.from({ length: this.readCount(itemBytes) }, readItem);
  }

  /** Reads a u64 count of items that take at least `itemBytes` each. */
  readCount(itemBytes: number): number {
    const count = this.readU64();
    this.need(count * BigInt(itemBytes), `${count} entries`);
    return Number(count);
  }

  need(byteCount: number | bigint, label: string): void {
    if (byteCount > this.#end - this.#at)
      throw this.malformed(`${label} of ${byteCount} bytes, but ${this.#end - this.#at} are left`);
  }

  malformed(detail: string): FormatError {
    return new FormatError("malformed", this.#at, this.#name, detail);
  }

  readU16(): number {
    const at = this.#advance(2);
    return this.#window.view.getUint16(at, true);
  }

  readU32(): number {
    const at = this.#advance(4);
    return this.#window.view.getUint32(at, true);
  }

  readU64(): bigint {
    const at = this.#advance(8);
    return this.#window.view.getBigUint64(at, true);
  }

  readBytes(byteCount: number): Uint8Array {
    this.need(byteCount, "a field");
    const bytes = this.#window.slice(this.#at, byteCount);
    this.#at += byteCount;
    return bytes;
  }

  skip(byteCount: number): void {
    this.need(byteCount, "a field");
    this.#at += byteCount;
  }

  #advance(byteCount: number): number {
    this.need(byteCount, "a field");
    const start = this.#window.at(this.#at, byteCount);
    this.#at += byteCount;
    return start;
  }
}
