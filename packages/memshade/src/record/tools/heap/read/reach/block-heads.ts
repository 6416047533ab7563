import type { BlockList } from "./block-list.ts";
import type { ProgramMemory } from "./program-memory.ts";

/**
 * Tells of addresses inside of blocks whether the program knows the block by them: right behind a length that fits the block, or behind
 * the block's own address; that of an object's second base, whose table of virtual functions says how far it is inside.
 */
export class BlockHeads {
  readonly #blocks: BlockList;
  readonly #memory: ProgramMemory;

  constructor(blocks: BlockList, memory: ProgramMemory) {
    this.#blocks = blocks;
    this.#memory = memory;
  }

  standsForStart(block: number, value: number): boolean {
    return (
      this.#isBehindLength(block, value) ||
      this.#isBehindHeader(block, value) ||
      this.#isSecondBase(block, value) ||
      this.#isString(block, value) ||
      this.#isThreadVector(block, value)
    );
  }

  /**
   * Whether an address is the first one behind a number of elements that the rest of the block has: what C++ puts in front of arrays, and
   * allocation layers in front of blocks, with elements of one byte. The program knows such a block by nothing else.
   */
  #isBehindLength(block: number, value: number): boolean {
    const start = this.#blocks.starts[block];
    const offset = value - start;
    if ((offset !== 4 && offset !== 8) || start % 4 !== 0) return false;
    const size = this.#blocks.sizes[block] - offset;
    const last = this.#memory.half(value - 4);
    const length = last === 0 && offset === 8 ? this.#memory.half(start) : last;
    return length > 0 && length <= size && size % length === 0;
  }

  /**
   * Whether one of the two words in front of an address says where the block starts, as code that aligns blocks by itself leaves there, or how
   * much of the block is left from the address on, as `mmap` of WASI's C library does. The program frees such a block by them.
   */
  #isBehindHeader(block: number, value: number): boolean {
    const start = this.#blocks.starts[block];
    const rest = this.#blocks.sizes[block] - (value - start);
    if (rest <= 0 || start % 4 !== 0 || value % 4 !== 0) return false;
    const isHead = (at: number, word: number): boolean => at >= start && word !== 0 && word === rest;
    if (isHead(value - 4, this.#memory.half(value - 4)) || isHead(value - 8, this.#memory.half(value - 8)))
      return true;
    const { wordBytes } = this.#memory;
    return [value - wordBytes, value - 2 * wordBytes].some(
      (at) => at >= start && at % wordBytes === 0 && this.#word(at) === start,
    );
  }

  /**
   * Whether an address inside a block is that of a base of the object there, as C++ compilers lay them out: the table of virtual functions of
   * each base has two words in front, of which the first is the way back to the object's start.
   */
  #isSecondBase(block: number, value: number): boolean {
    const { wordBytes } = this.#memory;
    const start = this.#blocks.starts[block];
    if (start % wordBytes !== 0 || value % wordBytes !== 0) return false;
    const [own, base] = [this.#word(start), this.#word(value)];
    if (own === base || this.#blocks.find(own) >= 0 || this.#blocks.find(base) >= 0) return false;
    return this.#isWayBack(own, 0) && this.#isWayBack(base, value - start);
  }

  /** Whether the word two in front of a table of virtual functions leads so far back. */
  #isWayBack(table: number, distance: number): boolean {
    const { wordBytes } = this.#memory;
    const at = table - 2 * wordBytes;
    if (at < 0 || table % wordBytes !== 0) return false;
    if ((this.#memory.half(at) | 0) !== -distance) return false;
    // Nothing but zeros is no table: its second word leads to what tells the type, or its first one to a function.
    if (wordBytes === 4) return true;
    return (this.#memory.half(at + 4) | 0) === (distance === 0 ? 0 : -1) && this.#word(table) !== 0;
  }

  /** Whether an address is that of the letters of a string that copies share: length, room and number of owners are in front. */
  #isString(block: number, value: number): boolean {
    const { wordBytes } = this.#memory;
    const start = this.#blocks.starts[block];
    if (value - start !== 3 * wordBytes || start % wordBytes !== 0) return false;
    const [length, room] = [this.#word(start), this.#word(start + wordBytes)];
    return length <= room && this.#blocks.sizes[block] === room + 3 * wordBytes + 1;
  }

  /** Whether an address is that of a thread's vector of storage, whose number of entries is in front. */
  #isThreadVector(block: number, value: number): boolean {
    const start = this.#blocks.starts[block];
    if (this.#memory.wordBytes !== 8 || value !== start + 16) return false;
    return this.#word(start) === this.#blocks.sizes[block] / 16 - 2;
  }

  #word(address: number): number {
    const low = this.#memory.half(address);
    return this.#memory.wordBytes === 4 ? low : this.#memory.half(address + 4) * 2 ** 32 + low;
  }
}
