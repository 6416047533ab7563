import type { ByteSource } from "./byte-source.ts";
import { FormatError } from "./errors.ts";
import { viewOf } from "./numbers.ts";

const WINDOW_BYTES = 1 << 18;

/** Window of a file that moves with its reader, so that the whole file need not be in memory. */
export class Window {
  /** View for the offsets that `at` returns; replaced by each call. */
  view = new DataView(new ArrayBuffer(0));
  readonly #source: ByteSource;
  readonly #leastBytes: number;
  #bytes = new Uint8Array(0);
  #buffer = new Uint8Array(0);
  #start = 0;

  /** @param leastBytes minimum of bytes per read: few, for scattered reads */
  constructor(source: ByteSource, leastBytes = WINDOW_BYTES) {
    this.#source = source;
    this.#leastBytes = leastBytes;
  }

  get size(): number {
    return this.#source.size;
  }

  another(): Window {
    return new Window(this.#source);
  }

  /**
   * Returns the offset in `view` of `length` bytes from `offset` of the file on.
   *
   * @throws FormatError if the file is shorter than when it was opened
   */
  at(offset: number, length: number): number {
    const inside = offset - this.#start;
    if (inside >= 0 && inside + length <= this.#bytes.length) return inside;
    this.#move(offset, length);
    return 0;
  }

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
    this.view = viewOf(this.#bytes);
  }
}
