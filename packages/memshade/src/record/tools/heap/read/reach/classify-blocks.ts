import type { BlockList } from "./block-list.ts";

/*
 * Which live blocks a program can still get at, as memcheck tells them apart. A word that holds the address of a block's first
 * byte is a pointer to the block, one with an address inside it may be one.
 *
 *     roots      a ─▶ A ─▶ B        A, B   reachable: by pointers from the roots
 *                c ─▶ (C+4) ─▶ D    C, D   possibly lost: only by way of an address inside C
 *                     E ─▶ F ─▶ G   E      lost: nothing points to it
 *                          ▲  │     F, G   indirectly lost: what points to them is lost. They are behind E.
 *                          └──┘
 *                     H ⇄ I         H      lost, with I behind it: of a ring that nothing points into, the oldest block stands for all
 *
 * Some addresses count as that of a block's first byte: one right behind a length that fits the block, or behind the block's own address; that
 * of an object's second base, whose table of virtual functions says how far it is inside; and the end of an array of no objects, whose block
 * has nothing but its length.
 *
 * What a program's data was before it began, and is still, is no pointer to a block behind that data, whose address no linker knows. It
 * is text, or a table of numbers.
 *
 * Whose parts point back to it was there before them: a database, a window, a document. Of blocks of one age it is the lowest.
 *
 * A block that two lost ones lead to is behind the older one, and with that one behind whatever leads there.
 */
export const Reach = { None: 0, Reachable: 1, Possible: 2, Lost: 3, Indirect: 4 } as const;

/** The memory that blocks are in, and where pointers to them are looked for. */
export interface PointerSpace {
  buffer: ArrayBufferLike;
  /** Size of an address; pointers are aligned to it. */
  wordBytes: 4 | 8;
  /** Beginnings and ends of roots in this memory. */
  ranges: readonly number[];
  /** Values of roots elsewhere. */
  values: readonly number[];
  /** What the module's data was at the start; absent: unknown. */
  initial?: InitialData | undefined;
}

/** Bytes of the program's memory from an address on. */
export interface InitialData {
  from: number;
  bytes: Uint8Array;
}

/** What is found of each block. */
export interface Classified {
  /** `Reach` of each block. */
  reach: Uint8Array;
  /** Of lost blocks: what is behind them. */
  behindBytes: Float64Array;
  behindBlocks: Float64Array;
  /** And how many of those are late. */
  behindLate: Float64Array;
}

/** When each block was allocated. */
export interface BlockTimes {
  times: Float64Array;
  /** From then on blocks are late. */
  late: number;
}

/** Tells blocks apart by the pointers to them. Takes time for the words of the roots and of the blocks, each once. */
export function classifyBlocks(
  blocks: BlockList,
  space: PointerSpace,
  times: BlockTimes = { times: new Float64Array(blocks.length), late: Number.POSITIVE_INFINITY },
): Classified {
  return new Search(blocks, space, times).run();
}

class Search {
  readonly #blocks: BlockList;
  readonly #space: PointerSpace;
  readonly #words: Uint32Array;
  readonly #times: BlockTimes;
  readonly #found: Classified;
  /** Blocks whose words are still to be looked at. */
  readonly #open: number[] = [];
  readonly #possible: number[] = [];
  /** Of blocks behind a lost one: that one. */
  #leader = -1;

  constructor(blocks: BlockList, space: PointerSpace, times: BlockTimes) {
    this.#blocks = blocks;
    this.#space = space;
    this.#times = times;
    this.#words = new Uint32Array(space.buffer, 0, Math.floor(space.buffer.byteLength / 4));
    const { length } = blocks;
    this.#found = {
      reach: new Uint8Array(length),
      behindBytes: new Float64Array(length),
      behindBlocks: new Float64Array(length),
      behindLate: new Float64Array(length),
    };
  }

  run(): Classified {
    const { ranges, values } = this.#space;
    for (const value of values) this.#meetReachable(value, -1);
    for (let i = 0; i < ranges.length; i += 2) this.#look(ranges[i], ranges[i + 1], Reach.Reachable);
    this.#close(this.#open, Reach.Reachable);
    this.#close(this.#possible, Reach.Possible);
    const { reach } = this.#found;
    const { times } = this.#times;
    const left = Array.from(reach.keys()).filter((block) => reach[block] === Reach.None);
    for (const block of left.sort((a, b) => times[a] - times[b] || a - b)) {
      if (reach[block] !== Reach.None) continue;
      reach[block] = Reach.Lost;
      this.#leader = block;
      this.#open.push(block);
      this.#close(this.#open, Reach.Lost);
    }
    return this.#found;
  }

  /** Looks at the words of blocks that were found, and of all that are found by it. */
  #close(open: number[], by: number): void {
    const { starts, sizes } = this.#blocks;
    for (let block = open.pop(); block !== undefined; block = open.pop()) {
      // One that may be lost, until a pointer to it was found.
      if (by === Reach.Possible && this.#found.reach[block] !== Reach.Possible) continue;
      this.#look(starts[block], starts[block] + sizes[block], by);
    }
  }

  #look(from: number, to: number, by: number): void {
    const words = this.#words;
    const step = this.#space.wordBytes / 4;
    const end = Math.min(Math.floor(to / this.#space.wordBytes) * step, words.length - step + 1);
    for (let at = Math.ceil(from / this.#space.wordBytes) * step; at < end; at += step) {
      const value = words[at];
      // Nothing is followed beyond 4 GiB.
      if (value === 0 || (step === 2 && words[at + 1] !== 0)) continue;
      if (by === Reach.Reachable) this.#meetReachable(value, at * 4);
      else if (by === Reach.Possible) this.#meetPossible(value);
      else this.#meetLost(value);
    }
  }

  /** `at`: where the value is in the memory; −1: elsewhere. */
  #meetReachable(value: number, at: number): void {
    let block = this.#blocks.find(value);
    if (block < 0) block = this.#emptyArrayBefore(value);
    if (block < 0 || this.#isInitial(value, at)) return;
    const { reach } = this.#found;
    if (this.#standsForStart(block, value)) {
      if (reach[block] !== Reach.Reachable) this.#open.push(block);
      reach[block] = Reach.Reachable;
    } else if (reach[block] === Reach.None) {
      reach[block] = Reach.Possible;
      this.#possible.push(block);
    }
  }

  /** Whether the program began with this value there. */
  #isInitial(value: number, at: number): boolean {
    const { initial } = this.#space;
    if (initial === undefined) return false;
    const { bytes, from } = initial;
    const first = at - from;
    // Segments may end inside of a word, whose other bytes are zero.
    if (value < from + bytes.length || first <= -4 || first >= bytes.length) return false;
    const byte = (index: number): number => (bytes[first + index] ?? 0) << (8 * index);
    return (byte(0) | byte(1) | byte(2) | byte(3)) >>> 0 === value;
  }

  #standsForStart(block: number, value: number): boolean {
    const { starts, sizes } = this.#blocks;
    const isEdge = value === starts[block] || value === starts[block] + sizes[block];
    return (
      isEdge ||
      this.#isBehindLength(block, value) ||
      this.#isBehindHeader(block, value) ||
      this.#isSecondBase(block, value)
    );
  }

  /** `new T[0]` of objects with a destructor: their number, zero, in a block of its own, whose end is the array; −1: none. */
  #emptyArrayBefore(value: number): number {
    const { wordBytes } = this.#space;
    const block = this.#blocks.find(value - wordBytes);
    if (block < 0) return -1;
    const size = this.#blocks.sizes[block];
    const isCookie = size === wordBytes || size === 2 * wordBytes;
    return isCookie && this.#blocks.starts[block] + size === value && this.#wordAt(value - wordBytes) === 0
      ? block
      : -1;
  }

  /**
   * Whether an address inside a block is that of a base of the object there, as C++ compilers lay them out: the table of virtual functions of
   * each base has two words in front, of which the first is the way back to the object's start.
   */
  #isSecondBase(block: number, value: number): boolean {
    const { wordBytes } = this.#space;
    const start = this.#blocks.starts[block];
    if ((start | value) % wordBytes !== 0) return false;
    const [own, base] = [this.#wordAt(start), this.#wordAt(value)];
    if (own === base || this.#blocks.find(own) >= 0 || this.#blocks.find(base) >= 0) return false;
    return this.#wayBack(own) === 0 && this.#wayBack(base) === start - value;
  }

  /** The word two in front of a table of virtual functions. */
  #wayBack(table: number): number | undefined {
    const at = table - 2 * this.#space.wordBytes;
    if (at < 0 || table % this.#space.wordBytes !== 0 || table / 4 >= this.#words.length) return undefined;
    return this.#words[at / 4] | 0;
  }

  /** The lower 32 bits of a word of the program. */
  #wordAt(address: number): number {
    return this.#words[address / 4] ?? 0;
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
    const last = this.#words[value / 4 - 1];
    const length = last === 0 && offset === 8 ? this.#words[start / 4] : last;
    return length > 0 && length <= size && size % length === 0;
  }

  /**
   * Whether one of the two words in front of an address says where the block starts, as code that aligns blocks by itself leaves there, or how
   * much of the block is left from the address on, as `mmap` of WASI's C library does. The program frees such a block by them.
   */
  #isBehindHeader(block: number, value: number): boolean {
    const start = this.#blocks.starts[block];
    const rest = this.#blocks.sizes[block] - (value - start);
    if (rest <= 0 || (start | value) % 4 !== 0) return false;
    return [value - 4, value - 8].some((at) => {
      const word = at < start ? 0 : this.#wordAt(at);
      return word !== 0 && (word === start || word === rest);
    });
  }

  #meetPossible(value: number): void {
    const block = this.#blocks.find(value);
    if (block < 0 || this.#found.reach[block] !== Reach.None) return;
    this.#found.reach[block] = Reach.Possible;
    this.#possible.push(block);
  }

  #meetLost(value: number): void {
    const block = this.#blocks.find(value);
    if (block < 0 || block === this.#leader) return;
    const { reach, behindBytes, behindBlocks, behindLate } = this.#found;
    if (reach[block] === Reach.None) this.#open.push(block);
    else if (reach[block] !== Reach.Lost) return;
    reach[block] = Reach.Indirect;
    behindBytes[this.#leader] += this.#blocks.sizes[block] + behindBytes[block];
    behindBlocks[this.#leader] += 1 + behindBlocks[block];
    const { times, late } = this.#times;
    behindLate[this.#leader] += (times[block] >= late ? 1 : 0) + behindLate[block];
    behindBytes[block] = 0;
    behindBlocks[block] = 0;
    behindLate[block] = 0;
  }
}
