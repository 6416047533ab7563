import type { ByteSource } from "./byte-source.ts";

const CHUNK_BITS = 10;
const FEW_CALLS = 32;
const AROUND_BYTES = 1 << 15;
/** Smaller parts are loaded as a whole. */
const SMALL_BYTES = 1 << 16;

/**
 * Part of a source that is loaded piece by piece. `bytes` has the length of the part from the start, with zeros
 * where nothing was loaded. Untouched memory costs nothing.
 */
export class PiecewiseBytes {
  readonly bytes: Uint8Array;
  /** Undefined once everything is loaded. */
  #source: ByteSource | undefined;
  readonly #offset: number;
  /** Set to 1 for each loaded chunk. */
  readonly #loaded: Uint8Array;
  #calls = 0;

  /** Creates a part of `size` bytes of a source from an offset on, or of a whole array. */
  constructor(source: ByteSource | Uint8Array, offset = 0, size = 0) {
    this.#offset = offset;
    if (source instanceof Uint8Array) {
      this.bytes = source;
      this.#source = undefined;
      this.#loaded = new Uint8Array(0);
      return;
    }
    const present = Math.max(0, Math.min(size, source.size - offset));
    const isSmall = present <= SMALL_BYTES || source.readInto === undefined;
    this.bytes = isSmall ? source.read(offset, present) : new Uint8Array(present);
    this.#source = isSmall ? undefined : source;
    this.#loaded = new Uint8Array(isSmall ? 0 : ((present - 1) >>> CHUNK_BITS) + 1);
  }

  /** Loads the bytes `[start, end)`, as far as the part reaches. */
  load(start: number, end: number): void {
    if (this.#source === undefined || !(start < end) || start < 0) return;
    const loaded = this.#loaded;
    const last = Math.min(loaded.length - 1, Math.floor((end - 1) / 2 ** CHUNK_BITS));
    for (let chunk = Math.floor(start / 2 ** CHUNK_BITS); chunk <= last; chunk++) {
      if (loaded[chunk] !== 0) continue;
      const first = chunk;
      while (chunk <= last && loaded[chunk] === 0) loaded[chunk++] = 1;
      this.#read(this.#source, first * 2 ** CHUNK_BITS, chunk * 2 ** CHUNK_BITS);
    }
  }

  #read(source: ByteSource, from: number, to: number): void {
    source.readInto!(this.#offset + from, this.bytes.subarray(from, Math.min(to, this.bytes.length)));
  }

  /** Loads like `load`; after several calls also the surroundings, which are probably needed next. */
  loadSome(start: number, end: number): void {
    if (this.#source === undefined) return;
    if (this.#calls++ < FEW_CALLS) this.load(start, end);
    else this.load(start - (start % AROUND_BYTES), Math.max(end, start + AROUND_BYTES));
  }

  loadAll(): Uint8Array {
    if (this.#source !== undefined) {
      this.load(0, this.bytes.length);
      this.#source = undefined;
    }
    return this.bytes;
  }
}
