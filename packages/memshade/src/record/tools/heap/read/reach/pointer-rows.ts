import { IntList } from "../../../../../ground/bytes/columns.ts";
import type { BlockList } from "./block-list.ts";
import type { ProgramMemory, SeeWords } from "./program-memory.ts";
import { type Retainers, RootAt } from "./retainers.ts";

/** Source of a pointer that lies in a root instead of a block. */
export const ROOT = -1;

/** True if a value at an address is no pointer to a block though it looks like one. */
export type IsOther = (value: number, at: number, block: number) => boolean;

/**
 * Pointers between blocks: a row for the roots, then one for each block. The memory is read once, by address.
 * An entry is the index of a block. An interior pointer has two: the complement of the index, and the offset. One in
 * a root has two more: its address.
 */
export class PointerRows {
  readonly #blocks: BlockList;
  readonly #memory: ProgramMemory;
  readonly #isOther: IsOther | undefined;
  readonly #retainers: Retainers | undefined;
  readonly #isRooted: Uint8Array;
  readonly #entries = new IntList();
  /** Ends of the rows: that of the roots, then those of the blocks. */
  readonly #ends: Uint32Array;
  #source = ROOT;

  /**
   * @param isRooted receives 1 for each block whose address a root holds
   * @param retainers receives these pointers
   */
  constructor(
    blocks: BlockList,
    memory: ProgramMemory,
    isRooted: Uint8Array,
    { isOther, retainers }: { isOther?: IsOther | undefined; retainers?: Retainers | undefined } = {},
  ) {
    this.#blocks = blocks;
    this.#memory = memory;
    this.#isRooted = isRooted;
    this.#isOther = isOther;
    this.#retainers = retainers;
    this.#ends = new Uint32Array(blocks.length + 1);
  }

  /**
   * Reads the roots; must run before `readBlocks`. @param ranges starts and ends @param values of roots that
   * are not in memory
   */
  readRoots(ranges: readonly number[], values: readonly number[]): void {
    values.forEach((value, global) => {
      this.#addValue(Math.floor(value / 2 ** 32), value >>> 0, RootAt.FirstGlobal - global);
    });
    const visitWords = this.#memory.wordBytes === 8 ? this.#seeLong : this.#seeShort;
    for (let i = 0; i < ranges.length; i += 2) this.#memory.read(ranges[i], ranges[i + 1], visitWords);
    this.#ends[0] = this.#entries.length;
  }

  readBlocks(): void {
    const blocks = this.#blocks;
    const { wordBytes } = this.#memory;
    const visitWords = wordBytes === 8 ? this.#seeLong : this.#seeShort;
    for (let block = 0; block < blocks.length; block++) {
      this.#source = block;
      const size = blocks.sizeOf(block);
      const start = blocks.startOf(block);
      if (size >= wordBytes) this.#memory.read(start, start + size, visitWords);
      this.#ends[block + 1] = this.#entries.length;
    }
  }

  /** Returns the index of the first pointer of a block, or of the roots. */
  firstOf(source: number): number {
    return source === ROOT ? 0 : this.#ends[source];
  }

  /** Returns the index behind the last pointer of a block, or of the roots. */
  endOf(source: number): number {
    return this.#ends[source + 1];
  }

  /** Returns the index of the next pointer of a row. */
  after(index: number): number {
    if (this.#entries.at(index) >= 0) return index + 1;
    return index < this.#ends[0] ? index + 4 : index + 2;
  }

  isInterior(index: number): boolean {
    return this.#entries.at(index) < 0;
  }

  targetOf(index: number): number {
    const entry = this.#entries.at(index);
    return entry < 0 ? ~entry : entry;
  }

  /** Returns the distance of an interior pointer from the start of its block. */
  offsetOf(index: number): number {
    return this.#entries.at(index + 1) >>> 0;
  }

  /** Returns the address of an interior pointer in a root. */
  addressOf(index: number): number {
    return this.#entries.at(index + 3) * 2 ** 32 + (this.#entries.at(index + 2) >>> 0);
  }

  readonly #seeShort: SeeWords = (words, first, end, address) => {
    for (let i = first; i < end; i++) {
      const low = words[i];
      if (low !== 0) this.#addValue(0, low, address + 4 * (i - first));
    }
  };

  readonly #seeLong: SeeWords = (words, first, end, address) => {
    const { near } = this.#blocks;
    for (let i = first; i < end; i += 2) {
      const high = words[i + 1];
      if (high < near.length && near[high] === 1) this.#addValue(high, words[i], address + 4 * (i - first));
    }
  };

  #addValue(high: number, low: number, at: number): void {
    let block = this.#blocks.startingAt(high, low);
    const value = high * 2 ** 32 + low;
    let offset = 0;
    if (block < 0) {
      block = this.#blocks.at(high, low);
      if (block < 0) block = this.#emptyArrayBefore(value);
      else offset = value - this.#blocks.startOf(block);
    }
    if (block < 0 || block === this.#source) return;
    const isRoot = this.#source === ROOT;
    if (this.#isRooted[block] === 1 && this.#retainers === undefined) return;
    if (this.#isOther?.(value, at, block) === true) return;
    if (offset !== 0) {
      this.#entries.push(~block);
      this.#entries.push(offset);
      if (!isRoot) return;
      this.#entries.push(at);
      this.#entries.push(Math.floor(at / 2 ** 32));
    } else if (isRoot) {
      this.#isRooted[block] = 1;
      this.#retainers?.holdByRoot(block, at);
    } else this.#entries.push(block);
  }

  /**
   * Returns the block of an array of no objects with a destructor (`new T[0]`), −1 if there is none. Such a
   * block holds only the length, zero, and the array's address is its end.
   */
  #emptyArrayBefore(value: number): number {
    const { wordBytes } = this.#memory;
    if (value % wordBytes !== 0) return -1;
    const block = this.#blocks.find(value - wordBytes);
    if (block < 0) return -1;
    const size = this.#blocks.sizeOf(block);
    if (size !== wordBytes && size !== 2 * wordBytes) return -1;
    if (this.#blocks.startOf(block) + size !== value) return -1;
    const isZero = this.#memory.half(value - wordBytes) === 0 && this.#memory.half(value - 4) === 0;
    return isZero ? block : -1;
  }
}
