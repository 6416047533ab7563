/** Code is indexed in blocks of this many bytes, so that a search begins among a few dozen entries. */
export const BLOCK_BYTES = 4096;

/**
 * Which rule set holds where, in 4 bytes per entry: the low 16 bits of the offset where it begins, and the set's
 * index in a dictionary (u32 where there are more than 65,536). An entry holds up to the next one; where no function is,
 * set 0 holds. Entries of a block of 4 KiB of code lie between two numbers of the block index, so the upper bits need
 * not be stored.
 *
 *     blocks   [0, 2, 2, 5, …]                 entry where each block begins
 *     lows     [0x0040, 0x0044, 0x2010, …]
 *     sets     [     1,      2,      1, …]
 */
export class CompactTable {
  readonly #blocks: Uint32Array;
  readonly #lows: Uint16Array;
  readonly #sets: Uint16Array | Uint32Array;

  constructor(blocks: Uint32Array, lows: Uint16Array, sets: Uint16Array | Uint32Array) {
    this.#blocks = blocks;
    this.#lows = lows;
    this.#sets = sets;
  }

  /** Rule set that holds at an offset from the object's base; 0 if none does. */
  find(offset: number): number {
    const block = Math.floor(offset / BLOCK_BYTES);
    const blocks = this.#blocks;
    if (!(block >= 0 && block < blocks.length - 1)) return 0;
    const lows = this.#lows;
    const low16 = offset & 0xffff;
    let low = blocks[block];
    let high = blocks[block + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (lows[middle] <= low16) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.#sets[low - 1];
  }

  /** Number of entries, those for gaps included. */
  get count(): number {
    return this.#lows.length;
  }

  /** Bytes of all arrays. */
  get byteLength(): number {
    return this.#blocks.byteLength + this.#lows.byteLength + this.#sets.byteLength;
  }
}
