import { IntList } from "../../../../../ground/bytes/columns.ts";
import type { BlockList } from "./block-list.ts";
import { type BlockTimes, findOwners, type OwnedBlocks } from "./owners.ts";
import { type IsOther, PointerRows, ROOT } from "./pointer-rows.ts";
import type { ProgramMemory } from "./program-memory.ts";
import { Reach } from "./reach-sums.ts";
import { holdLost, type Retainers, RootAt } from "./retainers.ts";

/**
 * Decides which interior pointers count as pointers to the block's start. They lie right behind a length that
 * fits the block, or behind the block's own address. Others point to an object's second base, whose virtual
 * function table gives the distance to the start.
 */
class BlockHeads {
  readonly #blocks: BlockList;
  readonly #memory: ProgramMemory;

  constructor(blocks: BlockList, memory: ProgramMemory) {
    this.#blocks = blocks;
    this.#memory = memory;
  }

  /** @param offset distance of the address from the start of the block */
  standsForStart(block: number, offset: number): boolean {
    const value = this.#blocks.startOf(block) + offset;
    return (
      this.#isBehindLength(block, value) ||
      this.#isBehindHeader(block, value) ||
      this.#isSecondBase(block, value) ||
      this.#isString(block, value) ||
      this.#isThreadVector(block, value)
    );
  }

  /**
   * True if an address follows the number of elements that fill the rest of the block. C++ puts such a number
   * before arrays, and allocation layers put the size in bytes before blocks. The program has no other
   * pointer to such a block.
   */
  #isBehindLength(block: number, value: number): boolean {
    const start = this.#blocks.startOf(block);
    const offset = value - start;
    if ((offset !== 4 && offset !== 8) || start % 4 !== 0) return false;
    const size = this.#blocks.sizeOf(block) - offset;
    const last = this.#memory.half(value - 4);
    const length = last === 0 && offset === 8 ? this.#memory.half(start) : last;
    return length > 0 && length <= size && size % length === 0;
  }

  /**
   * True if one of the two words before an address holds the block's start, as code that aligns blocks by
   * itself stores it. Also true if a word holds the size of the rest of the block, as `mmap` of WASI's C
   * library stores it. The program frees such a block by this word.
   */
  #isBehindHeader(block: number, value: number): boolean {
    const start = this.#blocks.startOf(block);
    const rest = this.#blocks.sizeOf(block) - (value - start);
    if (rest <= 0 || start % 4 !== 0 || value % 4 !== 0) return false;
    const isHead = (at: number, word: number): boolean => at >= start && word !== 0 && word === rest;
    if (isHead(value - 4, this.#memory.half(value - 4)) || isHead(value - 8, this.#memory.half(value - 8)))
      return true;
    const { wordBytes } = this.#memory;
    const isOwn = (at: number): boolean => at >= start && at % wordBytes === 0 && this.#word(at) === start;
    return isOwn(value - wordBytes) || isOwn(value - 2 * wordBytes);
  }

  /**
   * True if an interior address is a base of the object at the block's start, as C++ compilers lay it out.
   * Two words precede the virtual function table of each base; the first is the distance back to the object's
   * start.
   */
  #isSecondBase(block: number, value: number): boolean {
    const { wordBytes } = this.#memory;
    const start = this.#blocks.startOf(block);
    if (start % wordBytes !== 0 || value % wordBytes !== 0) return false;
    const [own, base] = [this.#word(start), this.#word(value)];
    if (own === base || this.#blocks.find(own) >= 0 || this.#blocks.find(base) >= 0) return false;
    return this.#isWayBack(own, 0) && this.#isWayBack(base, value - start);
  }

  /** True if the word two before a virtual function table holds this distance. */
  #isWayBack(table: number, distance: number): boolean {
    const { wordBytes } = this.#memory;
    const at = table - 2 * wordBytes;
    if (at < 0 || table % wordBytes !== 0) return false;
    if ((this.#memory.half(at) | 0) !== -distance) return false;
    // Zeros alone are no table: the second word points to type information, or the first entry to a function.
    if (wordBytes === 4) return true;
    return (this.#memory.half(at + 4) | 0) === (distance === 0 ? 0 : -1) && this.#word(table) !== 0;
  }

  /**
   * True if an address is that of a shared string's letters: length, capacity and number of owners precede
   * them.
   */
  #isString(block: number, value: number): boolean {
    const { wordBytes } = this.#memory;
    const start = this.#blocks.startOf(block);
    if (value - start !== 3 * wordBytes || start % wordBytes !== 0) return false;
    const [length, room] = [this.#word(start), this.#word(start + wordBytes)];
    return length <= room && this.#blocks.sizeOf(block) === room + 3 * wordBytes + 1;
  }

  /**
   * True if an address is that of a thread's vector of storage (dtv), which its number of entries precedes.
   */
  #isThreadVector(block: number, value: number): boolean {
    const start = this.#blocks.startOf(block);
    if (this.#memory.wordBytes !== 8 || value !== start + 16) return false;
    return this.#word(start) === this.#blocks.sizeOf(block) / 16 - 2;
  }

  #word(address: number): number {
    const low = this.#memory.half(address);
    return this.#memory.wordBytes === 4 ? low : this.#memory.half(address + 4) * 2 ** 32 + low;
  }
}

/*
 * Classes of live blocks by how a program can reach them, as in Valgrind's memcheck. A word with the address
 * of a block's first byte is a pointer to it. A word with an address inside the block (interior pointer) may
 * be one.
 *
 *    roots a ─▶ A ─▶ B        A, B reachable: by pointers from the roots
 *          c ─▶ (C+4) ─▶ D    C, D possibly lost: only by an interior pointer to C
 *          E ─▶ F ─▶ G        E lost: no pointer to it
 *               ▲    │        F, G indirectly lost: only lost blocks point to them; E owns them
 *               └────┘
 *          H ⇄ I              H lost, and owns I: in a ring without a pointer into it, the oldest block owns the rest
 *
 * Some interior pointers count as the address of the first byte, and so does the end of an array of no
 * objects, whose block holds only its length. They are examined if no other pointer leads to a block.
 */

/** Memory and roots in which pointers to blocks are searched. */
export interface PointerSpace {
  memory: ProgramMemory;
  /** Starts and ends of roots in this memory. */
  ranges: readonly number[];
  values: readonly number[];
  isOther?: IsOther | undefined;
  reached?: Iterable<number> | undefined;
  /** Receives the pointers that are found. */
  retainers?: Retainers | undefined;
}

/**
 * Classifies blocks by the pointers to them. The time is proportional to the words of roots and blocks; each
 * is read once.
 *
 * @param onOwner called with each lost block that owns others
 * @returns the `Reach` of each block
 */
export function classifyBlocks(
  blocks: BlockList,
  space: PointerSpace,
  times: BlockTimes,
  onOwner: (owner: number, owned: OwnedBlocks) => void,
): Uint8Array {
  const reach = new Uint8Array(blocks.length);
  const { retainers } = space;
  const rows = new PointerRows(blocks, space.memory, reach, space);
  rows.readRoots(space.ranges, space.values);
  for (const block of space.reached ?? []) {
    if (reach[block] !== Reach.Reachable) retainers?.holdByRoot(block, RootAt.Kept);
    reach[block] = Reach.Reachable;
  }
  rows.readBlocks();
  new Search(rows, reach, new BlockHeads(blocks, space.memory), retainers).run();
  findOwners(rows, reach, (block) => blocks.sizeOf(block), times, onOwner);
  if (retainers !== undefined) holdLost(retainers, rows, reach);
  return reach;
}

/** Searches by width: the way on which a block is found first is a shortest one. */
class Search {
  readonly #rows: PointerRows;
  readonly #reach: Uint8Array;
  readonly #heads: BlockHeads;
  readonly #retainers: Retainers | undefined;
  /** Reachable blocks, in the order in which they were found. */
  readonly #found = new IntList();
  /** Number of the found blocks whose pointers were followed. */
  #followed = 0;
  /** Reachable blocks whose interior pointers are still to be examined. */
  readonly #later = new IntList();
  readonly #possible = new IntList();

  /** @param reach is `Reachable` for the blocks to which roots point */
  constructor(rows: PointerRows, reach: Uint8Array, heads: BlockHeads, retainers: Retainers | undefined) {
    this.#rows = rows;
    this.#reach = reach;
    this.#heads = heads;
    this.#retainers = retainers;
  }

  run(): void {
    for (let block = 0; block < this.#reach.length; block++)
      if (this.#reach[block] === Reach.Reachable) this.#found.push(block);
    this.#close();
    this.#examineInterior(ROOT);
    for (let next = 0; next < this.#later.length; next++) this.#examineInterior(this.#later.at(next));
    for (let next = 0; next < this.#possible.length; next++) this.#followPossible(this.#possible.at(next));
  }

  #take(block: number): void {
    if (this.#reach[block] === Reach.Reachable) return;
    this.#reach[block] = Reach.Reachable;
    this.#found.push(block);
  }

  #close(): void {
    const rows = this.#rows;
    const retainers = this.#retainers;
    for (; this.#followed < this.#found.length; this.#followed++) {
      const block = this.#found.at(this.#followed);
      const end = rows.endOf(block);
      const group = retainers?.groupOf(block);
      let hasInterior = false;
      for (let at = rows.firstOf(block); at < end; at = rows.after(at)) {
        if (rows.isInterior(at)) {
          hasInterior = true;
          continue;
        }
        const target = rows.targetOf(at);
        // Only possibly lost blocks have been found, and still are to be taken.
        const isNew = retainers === undefined || retainers.hold(block, target, group);
        if (isNew || this.#possible.length > 0) this.#take(target);
      }
      if (hasInterior) this.#later.push(block);
    }
  }

  /** Examines the interior pointers in a reachable block. */
  #examineInterior(source: number): void {
    const rows = this.#rows;
    const end = rows.endOf(source);
    for (let at = rows.firstOf(source); at < end; at = rows.after(at)) {
      if (!rows.isInterior(at)) continue;
      const block = rows.targetOf(at);
      if (source === ROOT) this.#retainers?.holdByRoot(block, rows.addressOf(at));
      else this.#retainers?.hold(source, block);
      if (this.#reach[block] === Reach.Reachable) continue;
      if (this.#heads.standsForStart(block, rows.offsetOf(at))) {
        this.#take(block);
        this.#close();
      } else this.#takePossible(block);
    }
  }

  #takePossible(block: number): void {
    if (this.#reach[block] !== Reach.None) return;
    this.#reach[block] = Reach.Possible;
    this.#possible.push(block);
  }

  #followPossible(block: number): void {
    // A pointer to the block may have been found since.
    if (this.#reach[block] !== Reach.Possible) return;
    const rows = this.#rows;
    const end = rows.endOf(block);
    for (let at = rows.firstOf(block); at < end; at = rows.after(at)) {
      this.#takePossible(rows.targetOf(at));
      this.#retainers?.hold(block, rows.targetOf(at));
    }
  }
}
