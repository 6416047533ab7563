/** Pieces of a file, in order. Each is valid until the next one is asked for. */
export type Chunks = Generator<Uint8Array, void, undefined>;

const CHUNK_BYTES = 1 << 18;

/**
 * Writes little-endian values into a buffer that is handed on whenever it is full, so that large files are never in
 * memory as a whole. Between two calls of `take` everything must fit into memory.
 */
export class ChunkWriter {
  #buffer = new Uint8Array(CHUNK_BYTES + 4096);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  get isFull(): boolean {
    return this.#length >= CHUNK_BYTES;
  }

  /** What was written since the last call. */
  *take(): Chunks {
    yield this.#buffer.subarray(0, this.#length);
    this.#length = 0;
  }

  *finish(): Chunks {
    if (this.#length > 0) yield* this.take();
  }

  u8(value: number): this {
    const at = this.#room(1);
    this.#buffer[at] = value;
    return this;
  }

  u16(value: number): this {
    const at = this.#room(2);
    this.#view.setUint16(at, value, true);
    return this;
  }

  u32(value: number): this {
    const at = this.#room(4);
    this.#view.setUint32(at, value, true);
    return this;
  }

  /** @param values bigints, or numbers from 0 below 2^53 */
  u64s(...values: (number | bigint)[]): this {
    for (const value of values) {
      const at = this.#room(8);
      if (typeof value === "bigint") {
        this.#view.setBigUint64(at, value, true);
      } else {
        this.#view.setUint32(at, value, true);
        this.#view.setUint32(at + 4, value / 2 ** 32, true);
      }
    }
    return this;
  }

  words(content: Uint32Array): this {
    return this.bytes(new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
  }

  bytes(content: Uint8Array): this {
    const at = this.#room(content.length);
    this.#buffer.set(content, at);
    return this;
  }

  // Growing replaces buffer and view: they must be looked up after it.
  #room(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, at));
      this.#buffer = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}
