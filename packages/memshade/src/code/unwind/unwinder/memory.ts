import { viewOf } from "../../../ground/bytes/numbers.ts";

/**
 * Reads up to `length` bytes of the target's memory from `address` on. Returns fewer bytes, none, or undefined if
 * memory is unreadable. Must not throw.
 */
export type ReadMemory = (address: number, length: number) => Uint8Array | undefined;

/**
 * Memory that an unwinder reads word by word. The last word read is in the halves `low` and `high`, so that reading
 * allocates no objects.
 */
export abstract class Memory {
  low = 0;
  high = 0;

  /**
   * Reads the 8 bytes at an address (for a 32-bit target 4 bytes, with `high` 0); returns false if some are
   * missing.
   */
  abstract readWord(address: number): boolean;
  /** Reads up to `length` bytes from an address on, for inspection of code. */
  abstract readBytes(address: number, length: number): Uint8Array;
}

const NOTHING = new Uint8Array(0);

/**
 * Copy of a part of the stack, as it comes with a profiler's sample.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { StackImage } from "memshade/unwind";
 *
 * const stack = new StackImage(0x7000, Uint8Array.of(0x34, 0x12, 0, 0, 1, 0, 0, 0));
 * assert.ok(stack.readWord(0x7000));
 * assert.deepEqual([stack.low, stack.high], [0x1234, 1]);
 * assert.ok(!stack.readWord(0x7008));
 * ```
 */
export class StackImage extends Memory {
  readonly start: number;
  readonly bytes: Uint8Array;
  readonly #words: Uint32Array | undefined;
  readonly #view: DataView;
  readonly #lastWord: number;

  /** @param start address of the first byte */
  constructor(start: number, bytes: Uint8Array) {
    super();
    this.start = start;
    this.bytes = bytes;
    const { buffer, byteOffset, length } = bytes;
    this.#words = byteOffset % 4 === 0 ? new Uint32Array(buffer, byteOffset, length >>> 2) : undefined;
    this.#view = new DataView(buffer, byteOffset, length);
    this.#lastWord = length - 8;
  }

  readWord(address: number): boolean {
    const offset = address - this.start;
    if (!(offset >= 0 && offset <= this.#lastWord)) return false;
    const words = this.#words;
    if (words !== undefined && (offset & 3) === 0) {
      const index = offset >>> 2;
      this.low = words[index];
      this.high = words[index + 1];
    } else {
      this.low = this.#view.getUint32(offset, true);
      this.high = this.#view.getUint32(offset + 4, true);
    }
    return true;
  }

  readBytes(address: number, length: number): Uint8Array {
    const offset = address - this.start;
    if (!(offset >= 0 && offset < this.bytes.length)) return NOTHING;
    return this.bytes.subarray(offset, offset + length);
  }
}

const PAGE_BYTES = 4096;
const KEPT_PAGES = 64;

/** Memory behind a read function. Pages are read on demand and cached as long as this object exists. */
export class PagedMemory extends Memory {
  readonly #read: ReadMemory;
  readonly #wordSize: number;
  readonly #pages = new Map<number, Uint8Array>();
  #page = Number.NaN;
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(read: ReadMemory, wordSize: 4 | 8 = 8) {
    super();
    this.#read = read;
    this.#wordSize = wordSize;
  }

  readWord(address: number): boolean {
    const size = this.#wordSize;
    const page = Math.floor(address / PAGE_BYTES);
    if (page !== this.#page) this.#enter(page);
    const offset = address - page * PAGE_BYTES;
    if (offset + size <= this.#view.byteLength) {
      this.low = this.#view.getUint32(offset, true);
      this.high = size === 8 ? this.#view.getUint32(offset + 4, true) : 0;
      return true;
    }
    // The word crosses the end of a page, or its page is only partly readable.
    const bytes = this.#read(address, size);
    if (bytes === undefined || bytes.length < size) return false;
    const view = viewOf(bytes);
    this.low = view.getUint32(0, true);
    this.high = size === 8 ? view.getUint32(4, true) : 0;
    return true;
  }

  readBytes(address: number, length: number): Uint8Array {
    return this.#read(address, length) ?? NOTHING;
  }

  #enter(page: number): void {
    let bytes = this.#pages.get(page);
    if (bytes === undefined) {
      bytes = this.#read(page * PAGE_BYTES, PAGE_BYTES) ?? NOTHING;
      if (this.#pages.size >= KEPT_PAGES) this.#pages.clear();
      this.#pages.set(page, bytes);
    }
    this.#page = page;
    this.#view = viewOf(bytes);
  }
}
