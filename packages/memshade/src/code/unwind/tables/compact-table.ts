/** Code is indexed in blocks of this many bytes, so that a search begins among a few dozen entries. */
export const BLOCK_BYTES = 4096;
export const BLOCK_BITS = 12;
/** Rule sets that entries can name: all of an object, unless it is damaged. */
export const MOST_SETS = 2 ** (32 - BLOCK_BITS);

/** The arrays of a table. That of entries may have room at its end. */
export interface CompactArrays {
  /** Per block: its first entry. */
  readonly firsts: Uint32Array;
  /** Per block: how many entries begin in it. */
  readonly counts: Uint16Array;
  /** Per block: the rule set that holds at its start, up to its first entry. */
  readonly before: Uint32Array;
  /** Per entry: the low 12 bits of the offset where it begins, and above them the rule set that holds from there on. */
  readonly entries: Uint32Array;
  /** Number of entries. */
  readonly count: number;
}

/**
 * Which rule set holds where, in 4 bytes per entry: the low bits of the offset where it begins, and the set's index in a
 * dictionary. An entry holds up to the next one; where no function is, set 0
 * holds. The entries of a block of 4 KiB of code stand together, in ascending order; the blocks stand in any order.
 *
 *     firsts   [0, 2, 2, …]                    counts [2, 0, 3, …]       before [0, 2, 2, …]
 *     entries  [1 << 12 | 0x040, 2 << 12 | 0x044, 1 << 12 | 0x010, …]
 */
export class CompactTable {
  /** Not to be changed. */
  readonly arrays: CompactArrays;

  constructor(arrays: CompactArrays) {
    this.arrays = arrays;
  }

  /** Rule set that holds at an offset from the object's base; 0 if none does. */
  find(offset: number): number {
    const { firsts, counts, before, entries } = this.arrays;
    const block = Math.floor(offset / BLOCK_BYTES);
    if (!(block >= 0 && block < firsts.length)) return 0;
    const inBlock = offset & (BLOCK_BYTES - 1);
    const first = firsts[block];
    let low = first;
    let high = first + counts[block];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((entries[middle] & (BLOCK_BYTES - 1)) <= inBlock) low = middle + 1;
      else high = middle;
    }
    return low === first ? before[block] : entries[low - 1] >>> BLOCK_BITS;
  }

  /** Number of entries, those for gaps included. */
  get count(): number {
    return this.arrays.count;
  }

  /** Bytes of all entries and of the index of blocks. */
  get byteLength(): number {
    const { firsts, counts, before, entries, count } = this.arrays;
    return firsts.byteLength + counts.byteLength + before.byteLength + count * entries.BYTES_PER_ELEMENT;
  }
}
