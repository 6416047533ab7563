import type { BlockList } from "./block-list.ts";
import { IntList } from "./growing-list.ts";
import type { ProgramMemory, SeeWords } from "./program-memory.ts";

const NOTHING = { from: 0, to: 0 };

/** In the place of a block that a pointer lies in: it lies in none. */
export const ROOT = -1;

/** Addresses inside of blocks, in the order in which they were met: those of roots first, then by the block that they lie in. */
interface InsidePointers {
  readonly sources: IntList;
  readonly targets: IntList;
  readonly values: number[];
}

/**
 * The pointers between blocks: for each block the blocks of which it has the address. The memory is read once, by address, and
 * nothing of it is kept but the numbers of blocks. Addresses inside of blocks are few, and have a list of their own.
 */
export class Pointers {
  /** Not 0: a root has the address of the block. */
  readonly isRooted: Uint8Array;
  readonly inside: InsidePointers = { sources: new IntList(), targets: new IntList(), values: [] };
  readonly #blocks: BlockList;
  readonly #memory: ProgramMemory;
  readonly #isOther: ((value: number, at: number, block: number) => boolean) | undefined;
  /** Where the row of each block ends among the targets. */
  readonly #rowEnds: Uint32Array;
  readonly #targets = new IntList();
  #source = ROOT;

  /** @param isOther tells of a value at an address that it is no pointer to a block, for all that it looks like one */
  constructor(
    blocks: BlockList,
    memory: ProgramMemory,
    isOther?: (value: number, at: number, block: number) => boolean,
  ) {
    this.#blocks = blocks;
    this.#memory = memory;
    this.#isOther = isOther;
    this.isRooted = new Uint8Array(blocks.length);
    this.#rowEnds = new Uint32Array(blocks.length);
  }

  /** Reads the roots; before the blocks. @param ranges beginnings and ends @param values of roots that are not in memory */
  readRoots(ranges: readonly number[], values: readonly number[]): void {
    for (const value of values) this.#see(Math.floor(value / 2 ** 32), value >>> 0, ROOT);
    const see = this.#memory.wordBytes === 8 ? this.#seeLong : this.#seeShort;
    for (let i = 0; i < ranges.length; i += 2) this.#memory.read(ranges[i], ranges[i + 1], see);
  }

  /** Reads all blocks. */
  readBlocks(): void {
    const { starts, sizes, length } = this.#blocks;
    const { wordBytes } = this.#memory;
    const see = wordBytes === 8 ? this.#seeLong : this.#seeShort;
    for (let block = 0; block < length; block++) {
      this.#source = block;
      if (sizes[block] >= wordBytes) this.#memory.read(starts[block], starts[block] + sizes[block], see);
      this.#rowEnds[block] = this.#targets.length;
    }
  }

  /** The blocks of which a block has the address, as a part of `targets`. */
  rowOf(block: number): { from: number; to: number } {
    return { from: block === 0 ? 0 : this.#rowEnds[block - 1], to: this.#rowEnds[block] };
  }

  get targets(): Int32Array {
    return this.#targets.values;
  }

  /** The addresses inside of others that a block has, or that roots have, as a part of `inside`. */
  insideOf(source: number): { from: number; to: number } {
    const { values, length } = this.inside.sources;
    if (length === 0) return NOTHING;
    return { from: firstFrom(values, length, source), to: firstFrom(values, length, source + 1) };
  }

  readonly #seeShort: SeeWords = (words, first, end, address) => {
    for (let i = first; i < end; i++) {
      const low = words[i];
      if (low !== 0) this.#see(0, low, address + 4 * (i - first));
    }
  };

  readonly #seeLong: SeeWords = (words, first, end, address) => {
    const { near } = this.#blocks;
    for (let i = first; i < end; i += 2) {
      const high = words[i + 1];
      if (high < near.length && near[high] === 1) this.#see(high, words[i], address + 4 * (i - first));
    }
  };

  #see(high: number, low: number, at: number): void {
    let block = this.#blocks.at(high, low);
    const value = high * 2 ** 32 + low;
    if (block < 0) block = this.#emptyArrayBefore(value);
    if (block < 0 || block === this.#source) return;
    if (this.#isOther?.(value, at, block) === true) return;
    const { starts, sizes } = this.#blocks;
    const isWhole = value === starts[block] || value === starts[block] + sizes[block];
    if (this.isRooted[block] === 1) return;
    if (!isWhole) {
      this.inside.sources.push(this.#source);
      this.inside.targets.push(block);
      this.inside.values.push(value);
    } else if (this.#source === ROOT) this.isRooted[block] = 1;
    else this.#targets.push(block);
  }

  /** `new T[0]` of objects with a destructor: their number, zero, in a block of its own, whose end is the array; −1: none. */
  #emptyArrayBefore(value: number): number {
    const { wordBytes } = this.#memory;
    const block = this.#blocks.find(value - wordBytes);
    if (block < 0) return -1;
    const size = this.#blocks.sizes[block];
    if (size !== wordBytes && size !== 2 * wordBytes) return -1;
    if (this.#blocks.starts[block] + size !== value || value % wordBytes !== 0) return -1;
    const isZero = this.#memory.half(value - wordBytes) === 0 && this.#memory.half(value - 4) === 0;
    return isZero ? block : -1;
  }
}

function firstFrom(values: Int32Array, length: number, least: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
