import type { ByteSource } from "./byte-source.ts";
import { FormatError } from "./errors.ts";

const WINDOW_BYTES = 1 << 18;

/** A part of a file that moves along with who reads it, so that the file need not be in memory as a whole. */
export class Window {
  /** What `at` returns offsets into. Another one after each call. */
  view = new DataView(new ArrayBuffer(0));
  readonly #source: ByteSource;
  readonly #leastBytes: number;
  #bytes = new Uint8Array(0);
  #buffer = new Uint8Array(0);
  #start = 0;

  /** @param leastBytes that are read at once: few, for who reads here and there */
  constructor(source: ByteSource, leastBytes = WINDOW_BYTES) {
    this.#source = source;
    this.#leastBytes = leastBytes;
  }

  get size(): number {
    return this.#source.size;
  }

  /** One more window on the same file. */
  another(): Window {
    return new Window(this.#source);
  }

  /**
   * Offset in `view` of `length` bytes from `offset` of the file on.
   *
   * @throws FormatError if the file has become shorter than it was when it was opened
   */
  at(offset: number, length: number): number {
    const inside = offset - this.#start;
    if (inside >= 0 && inside + length <= this.#bytes.length) return inside;
    this.#move(offset, length);
    return 0;
  }

  /** A copy. */
  slice(offset: number, length: number): Uint8Array {
    const at = this.at(offset, length);
    return this.#bytes.slice(at, at + length);
  }

  #move(offset: number, length: number): void {
    const source = this.#source;
    const wanted = Math.min(Math.max(length, this.#leastBytes), source.size - offset);
    if (source.readInto === undefined) {
      this.#bytes = source.read(offset, wanted) as Uint8Array<ArrayBuffer>;
    } else {
      if (this.#buffer.length < wanted) this.#buffer = new Uint8Array(wanted);
      this.#bytes = source.readInto(offset, this.#buffer.subarray(0, wanted)) as Uint8Array<ArrayBuffer>;
    }
    this.#start = offset;
    if (this.#bytes.length < length)
      throw new FormatError("truncated", offset, "profile", "the file ends while it is read");
    this.view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
  }
}
