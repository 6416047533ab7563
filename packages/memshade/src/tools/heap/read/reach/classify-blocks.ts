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
 *                     H ⇄ I         H      lost, with I behind it: of a ring that nothing points into, the lowest block stands for all
 *
 * An address right behind a length that fits the block counts as that of its first byte.
 *
 * What a program's data was before it began, and is still, is no pointer to a block behind that data, whose address no linker knows. It
 * is text, or a table of numbers.
 *
 * A block that two lost ones lead to is behind the one with the lower address, and with that one behind whatever leads there.
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
}

/** Tells blocks apart by the pointers to them. Takes time for the words of the roots and of the blocks, each once. */
export function classifyBlocks(blocks: BlockList, space: PointerSpace): Classified {
  return new Search(blocks, space).run();
}

class Search {
  readonly #blocks: BlockList;
  readonly #space: PointerSpace;
  readonly #words: Uint32Array;
  readonly #found: Classified;
  /** Blocks whose words are still to be looked at. */
  readonly #open: number[] = [];
  readonly #possible: number[] = [];
  /** Of blocks behind a lost one: that one. */
  #leader = -1;

  constructor(blocks: BlockList, space: PointerSpace) {
    this.#blocks = blocks;
    this.#space = space;
    this.#words = new Uint32Array(space.buffer, 0, Math.floor(space.buffer.byteLength / 4));
    const { length } = blocks;
    this.#found = {
      reach: new Uint8Array(length),
      behindBytes: new Float64Array(length),
      behindBlocks: new Float64Array(length),
    };
  }

  run(): Classified {
    const { ranges, values } = this.#space;
    for (const value of values) this.#meetReachable(value, -1);
    for (let i = 0; i < ranges.length; i += 2) this.#look(ranges[i], ranges[i + 1], Reach.Reachable);
    this.#close(this.#open, Reach.Reachable);
    this.#close(this.#possible, Reach.Possible);
    const { reach } = this.#found;
    for (let block = 0; block < reach.length; block++) {
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
    const block = this.#blocks.find(value);
    if (block < 0 || this.#isInitial(value, at)) return;
    const { reach } = this.#found;
    if (this.#blocks.starts[block] === value || this.#isBehindLength(block, value)) {
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

  #meetPossible(value: number): void {
    const block = this.#blocks.find(value);
    if (block < 0 || this.#found.reach[block] !== Reach.None) return;
    this.#found.reach[block] = Reach.Possible;
    this.#possible.push(block);
  }

  #meetLost(value: number): void {
    const block = this.#blocks.find(value);
    if (block < 0 || block === this.#leader) return;
    const { reach, behindBytes, behindBlocks } = this.#found;
    if (reach[block] === Reach.None) this.#open.push(block);
    else if (reach[block] !== Reach.Lost) return;
    reach[block] = Reach.Indirect;
    behindBytes[this.#leader] += this.#blocks.sizes[block] + behindBytes[block];
    behindBlocks[this.#leader] += 1 + behindBlocks[block];
    behindBytes[block] = 0;
    behindBlocks[block] = 0;
  }
}
