import type { BlockList } from "./block-list.ts";
import type { ProgramMemory, SeeWords } from "./program-memory.ts";

const FIRST_LENGTH = 1024;

class IntList {
  length = 0;
  #values = new Int32Array(FIRST_LENGTH);

  push(value: number): void {
    if (this.length === this.#values.length) {
      const more = new Int32Array(2 * this.length);
      more.set(this.#values);
      this.#values = more;
    }
    this.#values[this.length++] = value;
  }

  get values(): Int32Array {
    return this.#values;
  }
}

const NOTHING = { from: 0, to: 0 };

/** Source of a pointer that lies in a root instead of a block. */
const ROOT = -1;

/**
 * Interior pointers in the order in which they were found: those of roots first, then by the block that
 * contains them.
 */
interface InsidePointers {
  readonly sources: IntList;
  readonly targets: IntList;
  readonly values: number[];
}

/**
 * Pointers between blocks: for each block, the blocks whose address it holds. The memory is read once, by
 * address, and only numbers of blocks are stored. Interior pointers are few and have a list of their own.
 */
class Pointers {
  /** Not 0 if a root holds the address of the block. */
  readonly isRooted: Uint8Array;
  readonly inside: InsidePointers = { sources: new IntList(), targets: new IntList(), values: [] };
  readonly #blocks: BlockList;
  readonly #memory: ProgramMemory;
  readonly #isOther: ((value: number, at: number, block: number) => boolean) | undefined;
  readonly #rowEnds: Uint32Array;
  readonly #targets = new IntList();
  #source = ROOT;

  /** @param isOther true if a value at an address is no pointer to a block though it looks like one */
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

  /**
   * Reads the roots; must run before `readBlocks`. @param ranges starts and ends @param values of roots that
   * are not in memory
   */
  readRoots(ranges: readonly number[], values: readonly number[]): void {
    for (const value of values) this.#addValue(Math.floor(value / 2 ** 32), value >>> 0, ROOT);
    const visitWords = this.#memory.wordBytes === 8 ? this.#seeLong : this.#seeShort;
    for (let i = 0; i < ranges.length; i += 2) this.#memory.read(ranges[i], ranges[i + 1], visitWords);
  }

  readBlocks(): void {
    const { starts, sizes, length } = this.#blocks;
    const { wordBytes } = this.#memory;
    const visitWords = wordBytes === 8 ? this.#seeLong : this.#seeShort;
    for (let block = 0; block < length; block++) {
      this.#source = block;
      if (sizes[block] >= wordBytes)
        this.#memory.read(starts[block], starts[block] + sizes[block], visitWords);
      this.#rowEnds[block] = this.#targets.length;
    }
  }

  /** Returns the row of blocks whose addresses a block holds, as a range of `targets`. */
  rowOf(block: number): { from: number; to: number } {
    return { from: block === 0 ? 0 : this.#rowEnds[block - 1], to: this.#rowEnds[block] };
  }

  get targets(): Int32Array {
    return this.#targets.values;
  }

  /** Returns the interior pointers of a block, or of roots, as a range of `inside`. */
  insideOf(source: number): { from: number; to: number } {
    const { values, length } = this.inside.sources;
    if (length === 0) return NOTHING;
    return { from: firstFrom(values, length, source), to: firstFrom(values, length, source + 1) };
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

  /**
   * Returns the block of an array of no objects with a destructor (`new T[0]`), −1 if there is none. Such a
   * block holds only the length, zero, and the array's address is its end.
   */
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

export interface Behind {
  /** Lost blocks that own others. Only blocks that they own point to them. */
  leaders: number[];
  bytes: Float64Array;
  blocks: Float64Array;
  late: Float64Array;
}

const NONE_BEHIND = new Float64Array();

export interface BlockTimes {
  times: ArrayLike<number>;
  /** Time from which on blocks are late. */
  late: number;
}

/**
 * Finds the owners of lost blocks.
 * Blocks that point to each other form a group. In a group that no other group points to, the block that was
 * allocated first owns the rest, and all blocks that the group points to. An owner, such as a database, a
 * window or a document, exists before its parts, which point back to it. Among blocks of one age the lowest
 * is the owner. If two groups point to a block, the older group owns it.
 */
function findOwners(
  blocks: BlockList,
  pointers: Pointers,
  lost: readonly number[],
  { times, late }: BlockTimes,
): Behind {
  // Saves the work for a program that loses no block.
  if (lost.length === 0) return { leaders: [], bytes: NONE_BEHIND, blocks: NONE_BEHIND, late: NONE_BEHIND };
  const isOlder = (first: number, second: number): boolean =>
    times[first]! < times[second]! || (times[first] === times[second] && first < second);
  const graph = new LostGraph(blocks.length, pointers, lost);
  const groups = graph.groups();
  const leaderOf = new Int32Array(groups.count).fill(ROOT);
  const isLed = new Uint8Array(groups.count);
  for (const block of lost) {
    const group = groups.groupOf[block];
    if (leaderOf[group] === ROOT || isOlder(block, leaderOf[group])) leaderOf[group] = block;
    graph.forEach(block, (target) => {
      if (groups.groupOf[target] !== group) isLed[groups.groupOf[target]] = 1;
    });
  }
  const leaders = [...leaderOf]
    .filter((_, group) => isLed[group] === 0)
    .sort((a, b) => times[a]! - times[b]! || a - b);
  const behind: Behind = {
    leaders,
    bytes: new Float64Array(blocks.length),
    blocks: new Float64Array(blocks.length),
    late: new Float64Array(blocks.length),
  };
  const isTaken = new Uint8Array(blocks.length);
  for (const leader of leaders) isTaken[leader] = 1;
  for (const leader of leaders) {
    const open = [leader];
    for (let block = open.pop(); block !== undefined; block = open.pop())
      graph.forEach(block, (target) => {
        if (isTaken[target] !== 0) return;
        isTaken[target] = 1;
        open.push(target);
        behind.bytes[leader] += blocks.sizes[target];
        behind.blocks[leader]++;
        if (times[target]! >= late) behind.late[leader]++;
      });
  }
  return behind;
}

class LostGraph {
  readonly #pointers: Pointers;
  readonly #lost: readonly number[];
  readonly #isLost: Uint8Array;
  readonly #length: number;

  constructor(length: number, pointers: Pointers, lost: readonly number[]) {
    this.#length = length;
    this.#pointers = pointers;
    this.#lost = lost;
    this.#isLost = new Uint8Array(length);
    for (const block of lost) this.#isLost[block] = 1;
  }

  forEach(block: number, visit: (target: number) => void): void {
    for (let i = 0, target = this.#next(block, i); target >= 0; target = this.#next(block, ++i))
      if (this.#isLost[target] === 1) visit(target);
  }

  /** Returns the target of a block's pointer by index, −1 after the last one. */
  #next(block: number, index: number): number {
    const { from, to } = this.#pointers.rowOf(block);
    if (from + index < to) return this.#pointers.targets[from + index];
    const inside = this.#pointers.insideOf(block);
    const at = inside.from + index - (to - from);
    return at < inside.to ? this.#pointers.inside.targets.values[at] : -1;
  }

  /** Finds strongly connected components by Tarjan's algorithm, without recursion, because lists are long. */
  groups(): { groupOf: Int32Array; count: number } {
    const groupOf = new Int32Array(this.#length).fill(-1);
    const order = new Int32Array(this.#length);
    const lowest = new Int32Array(this.#length);
    const nextOf = new Int32Array(this.#length);
    const stack: number[] = [];
    const path: number[] = [];
    let visited = 0;
    let count = 0;
    const begin = (block: number): void => {
      order[block] = lowest[block] = ++visited;
      stack.push(block);
      path.push(block);
    };
    const end = (block: number): void => {
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) lowest[parent] = Math.min(lowest[parent], lowest[block]);
      if (lowest[block] !== order[block]) return;
      for (let member = -1; member !== block; ) {
        member = stack.pop()!;
        groupOf[member] = count;
      }
      count++;
    };
    for (const first of this.#lost) {
      if (order[first] !== 0) continue;
      begin(first);
      for (let block = path.at(-1); block !== undefined; block = path.at(-1)) {
        const target = this.#next(block, nextOf[block]++);
        if (target < 0) end(block);
        else if (this.#isLost[target] === 0) continue;
        else if (order[target] === 0) begin(target);
        else if (groupOf[target] < 0) lowest[block] = Math.min(lowest[block], order[target]);
      }
    }
    return { groupOf, count };
  }
}

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
   * True if an address follows the number of elements that fill the rest of the block. C++ puts such a number
   * before arrays, and allocation layers put the size in bytes before blocks. The program has no other
   * pointer to such a block.
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
   * True if one of the two words before an address holds the block's start, as code that aligns blocks by
   * itself stores it. Also true if a word holds the size of the rest of the block, as `mmap` of WASI's C
   * library stores it. The program frees such a block by this word.
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
   * True if an interior address is a base of the object at the block's start, as C++ compilers lay it out.
   * Two words precede the virtual function table of each base; the first is the distance back to the object's
   * start.
   */
  #isSecondBase(block: number, value: number): boolean {
    const { wordBytes } = this.#memory;
    const start = this.#blocks.starts[block];
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
    const start = this.#blocks.starts[block];
    if (value - start !== 3 * wordBytes || start % wordBytes !== 0) return false;
    const [length, room] = [this.#word(start), this.#word(start + wordBytes)];
    return length <= room && this.#blocks.sizes[block] === room + 3 * wordBytes + 1;
  }

  /**
   * True if an address is that of a thread's vector of storage (dtv), which its number of entries precedes.
   */
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
export const Reach = { None: 0, Reachable: 1, Possible: 2, Lost: 3, Indirect: 4 } as const;

/** Memory and roots in which pointers to blocks are searched. */
export interface PointerSpace {
  memory: ProgramMemory;
  /** Starts and ends of roots in this memory. */
  ranges: readonly number[];
  values: readonly number[];
  /** True if a value at an address is no pointer to a block though it looks like one. */
  isOther?: ((value: number, at: number, block: number) => boolean) | undefined;
  reached?: Iterable<number> | undefined;
}

export interface Classified {
  reach: Uint8Array;
  /** Sums of the blocks that each lost block owns. Empty if none is lost. */
  behindBytes: Float64Array;
  behindBlocks: Float64Array;
  behindLate: Float64Array;
}

/**
 * Classifies blocks by the pointers to them. The time is proportional to the words of roots and blocks; each
 * is read once.
 */
export function classifyBlocks(
  blocks: BlockList,
  space: PointerSpace,
  times: BlockTimes = { times: new Uint32Array(blocks.length), late: Number.POSITIVE_INFINITY },
): Classified {
  const pointers = new Pointers(blocks, space.memory, space.isOther);
  pointers.readRoots(space.ranges, space.values);
  for (const block of space.reached ?? []) pointers.isRooted[block] = 1;
  pointers.readBlocks();
  const reach = new Search(pointers, new BlockHeads(blocks, space.memory)).run();
  const lost: number[] = [];
  for (let block = 0; block < blocks.length; block++) if (reach[block] === Reach.None) lost.push(block);
  const behind = findOwners(blocks, pointers, lost, times);
  for (const block of lost) reach[block] = Reach.Indirect;
  for (const block of behind.leaders) reach[block] = Reach.Lost;
  return { reach, behindBytes: behind.bytes, behindBlocks: behind.blocks, behindLate: behind.late };
}

class Search {
  readonly #pointers: Pointers;
  readonly #heads: BlockHeads;
  readonly #reach: Uint8Array;
  /** Blocks whose pointers are still to be followed. */
  readonly #open: number[] = [];
  /** Reachable blocks whose interior pointers are still to be examined. */
  readonly #later: number[] = [ROOT];
  readonly #possible: number[] = [];

  constructor(pointers: Pointers, heads: BlockHeads) {
    this.#pointers = pointers;
    this.#heads = heads;
    this.#reach = new Uint8Array(pointers.isRooted.length);
  }

  run(): Uint8Array {
    const { isRooted } = this.#pointers;
    for (let block = 0; block < isRooted.length; block++) if (isRooted[block] === 1) this.#take(block);
    this.#close();
    for (let block = this.#later.pop(); block !== undefined; block = this.#later.pop())
      this.#examineInterior(block);
    for (let block = this.#possible.pop(); block !== undefined; block = this.#possible.pop())
      this.#followPossible(block);
    return this.#reach;
  }

  #take(block: number): void {
    if (this.#reach[block] === Reach.Reachable) return;
    this.#reach[block] = Reach.Reachable;
    this.#open.push(block);
  }

  #close(): void {
    const { targets } = this.#pointers;
    for (let block = this.#open.pop(); block !== undefined; block = this.#open.pop()) {
      const { from, to } = this.#pointers.rowOf(block);
      for (let i = from; i < to; i++) this.#take(targets[i]);
      this.#later.push(block);
    }
  }

  /** Examines the interior pointers in a reachable block. */
  #examineInterior(source: number): void {
    const { targets, values } = this.#pointers.inside;
    const { from, to } = this.#pointers.insideOf(source);
    for (let i = from; i < to; i++) {
      const block = targets.values[i];
      if (this.#reach[block] === Reach.Reachable) continue;
      if (this.#heads.standsForStart(block, values[i]!)) {
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
    const row = this.#pointers.rowOf(block);
    for (let i = row.from; i < row.to; i++) this.#takePossible(this.#pointers.targets[i]);
    const inside = this.#pointers.insideOf(block);
    for (let i = inside.from; i < inside.to; i++) this.#takePossible(this.#pointers.inside.targets.values[i]);
  }
}
