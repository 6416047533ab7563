/** Bits of an address within its page, for which there is an index of blocks. */
const PAGE_BITS = 12;

/** Live blocks by address. They do not overlap. */
export class BlockList {
  readonly length: number;
  readonly starts: Float64Array;
  readonly sizes: Float64Array;
  readonly #lowest: number;
  readonly #end: number;
  /** Per page from the lowest block on: the first block that starts in it or behind. */
  readonly #firstOfPage: Uint32Array;

  /** @param starts in ascending order. */
  constructor(starts: Float64Array, sizes: Float64Array) {
    this.length = starts.length;
    this.starts = starts;
    this.sizes = sizes;
    const last = this.length - 1;
    this.#lowest = last < 0 ? 0 : starts[0];
    this.#end = last < 0 ? 0 : starts[last] + Math.max(1, sizes[last]);
    const pages = Math.floor((this.#end - this.#lowest) / 2 ** PAGE_BITS) + 2;
    this.#firstOfPage = new Uint32Array(pages);
    for (let page = 0, block = 0; page < pages; page++) {
      while (block < this.length && starts[block] < this.#lowest + page * 2 ** PAGE_BITS) block++;
      this.#firstOfPage[page] = block;
    }
  }

  /** The block that an address is in, or the empty one that starts there; −1: none. */
  find(address: number): number {
    if (address < this.#lowest || address >= this.#end) return -1;
    const page = (address - this.#lowest) >>> PAGE_BITS;
    let low = this.#firstOfPage[page];
    let high = this.#firstOfPage[page + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.starts[middle] <= address) low = middle + 1;
      else high = middle;
    }
    const block = low - 1;
    if (block < 0) return -1;
    const offset = address - this.starts[block];
    return offset === 0 || offset < this.sizes[block] ? block : -1;
  }
}
