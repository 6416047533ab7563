import { IntList, sortByKey } from "../../../../../ground/bytes/columns.ts";
import type { PointerRows } from "./pointer-rows.ts";
import { Reach } from "./reach-sums.ts";

export interface BlockTimes {
  timeOf(block: number): number;
  /** Time from which on blocks are late. */
  late: number;
}

/** Sums of the lost blocks that one of them owns. Only these point to each other. */
export interface OwnedBlocks {
  bytes: number;
  blocks: number;
  late: number;
}

/** Marks of lost blocks in the column of their reach. */
const [POINTED, BEHIND, TAKEN] = [16, 32, 64];
const NONE = -1;

/**
 * Finds the owners of lost blocks, and sets the reach of these to `Lost`, that of others to `Indirect`.
 * Blocks that point to each other form a group. In a group that no other group points to, the block that was
 * allocated first owns the rest, and all blocks that the group points to. An owner, such as a database, a
 * window or a document, exists before its parts, which point back to it. Among blocks of one age the lowest
 * is the owner. If two groups point to a block, the older group owns it.
 *
 * @param reach of lost blocks is `None`
 * @param onOwner called with each owner of other blocks
 */
export function findOwners(
  rows: PointerRows,
  reach: Uint8Array,
  sizeOf: (block: number) => number,
  times: BlockTimes,
  onOwner: (owner: number, owned: OwnedBlocks) => void,
): void {
  // Saves the work for a program that loses no block.
  if (!reach.includes(Reach.None)) return;
  new Owners(rows, reach, times).find(sizeOf, onOwner);
}

class Owners {
  readonly #rows: PointerRows;
  readonly #marks: Uint8Array;
  readonly #times: BlockTimes;
  /** Blocks whose pointers are still to be followed. */
  readonly #open = new IntList();

  constructor(rows: PointerRows, marks: Uint8Array, times: BlockTimes) {
    this.#rows = rows;
    this.#marks = marks;
    this.#times = times;
  }

  find(sizeOf: (block: number) => number, onOwner: (owner: number, owned: OwnedBlocks) => void): void {
    const marks = this.#marks;
    this.#markPointed();
    const leaders = new IntList();
    for (let block = 0; block < marks.length; block++) {
      if (marks[block] !== Reach.None) continue;
      // No block points to it. An owner without pointers owns nothing, and takes part in nothing below.
      marks[block] |= TAKEN;
      if (this.#rows.firstOf(block) === this.#rows.endOf(block)) continue;
      leaders.push(block);
      this.#mark(block, BEHIND);
    }
    this.#addOldestOfRings(leaders);
    const owners = leaders.toArray().sort();
    for (const owner of sortByKey(owners, (i) => this.#times.timeOf(owners[i]!))) {
      const owned = this.#take(owner, sizeOf);
      if (owned.blocks > 0) onOwner(owner, owned);
    }
    this.#setReach(owners);
  }

  #isLost(block: number): boolean {
    return (this.#marks[block] & (POINTED - 1)) === Reach.None;
  }

  #markPointed(): void {
    const rows = this.#rows;
    for (let block = 0; block < this.#marks.length; block++) {
      if (!this.#isLost(block)) continue;
      for (let at = rows.firstOf(block); at < rows.endOf(block); at = rows.after(at)) {
        const target = rows.targetOf(at);
        if (this.#isLost(target)) this.#marks[target] |= POINTED;
      }
    }
  }

  /** Marks the lost blocks that a block leads to. */
  #mark(from: number, mark: number): void {
    const rows = this.#rows;
    this.#open.push(from);
    while (this.#open.length > 0) {
      const block = this.#open.pop();
      for (let at = rows.firstOf(block); at < rows.endOf(block); at = rows.after(at)) {
        const target = rows.targetOf(at);
        if (!this.#isLost(target) || (this.#marks[target] & mark) !== 0) continue;
        this.#marks[target] |= mark;
        this.#open.push(target);
      }
    }
  }

  /** Takes the lost blocks that a block leads to and no older owner has. */
  #take(owner: number, sizeOf: (block: number) => number): OwnedBlocks {
    const rows = this.#rows;
    const { late } = this.#times;
    const owned = { bytes: 0, blocks: 0, late: 0 };
    this.#open.push(owner);
    while (this.#open.length > 0) {
      const block = this.#open.pop();
      for (let at = rows.firstOf(block); at < rows.endOf(block); at = rows.after(at)) {
        const target = rows.targetOf(at);
        if (!this.#isLost(target) || (this.#marks[target] & TAKEN) !== 0) continue;
        this.#marks[target] |= TAKEN;
        this.#open.push(target);
        owned.bytes += sizeOf(target);
        owned.blocks++;
        if (this.#times.timeOf(target) >= late) owned.late++;
      }
    }
    return owned;
  }

  /** All blocks are taken now: owners are those that no block points to, and the oldest of rings. */
  #setReach(owners: Int32Array): void {
    const marks = this.#marks;
    for (let block = 0; block < marks.length; block++)
      if (this.#isLost(block)) marks[block] = (marks[block] & POINTED) === 0 ? Reach.Lost : Reach.Indirect;
    for (const owner of owners) marks[owner] = Reach.Lost;
  }

  /** Adds the oldest block of each group of the remaining blocks to which no other group points. */
  #addOldestOfRings(leaders: IntList): void {
    const groups = this.#groups();
    if (groups === undefined) return;
    const rows = this.#rows;
    const marks = this.#marks;
    const { groupOf, count } = groups;
    const oldest = new Int32Array(count).fill(NONE);
    const isLed = new Uint8Array(count);
    for (let block = 0; block < marks.length; block++) {
      if (!this.#isInRing(block)) continue;
      const group = groupOf(block);
      if (oldest[group] === NONE || this.#times.timeOf(block) < this.#times.timeOf(oldest[group]))
        oldest[group] = block;
      for (let at = rows.firstOf(block); at < rows.endOf(block); at = rows.after(at)) {
        const target = rows.targetOf(at);
        if (this.#isInRing(target) && groupOf(target) !== group) isLed[groupOf(target)] = 1;
      }
    }
    for (let group = 0; group < count; group++) {
      if (isLed[group] === 1) continue;
      marks[oldest[group]] |= TAKEN;
      leaders.push(oldest[group]);
    }
  }

  /** True for a lost block that only rings and blocks behind them lead to. */
  #isInRing(block: number): boolean {
    return this.#marks[block] === (Reach.None | POINTED);
  }

  /**
   * Finds strongly connected components by Pearce's algorithm, which needs fewer tables than Tarjan's. It has
   * no recursion, because lists are long. Undefined if no block remains.
   */
  #groups(): { groupOf: (block: number) => number; count: number } | undefined {
    if (!this.#marks.includes(Reach.None | POINTED)) return undefined;
    const rows = this.#rows;
    /** 0, then the number of the earliest block that it leads to, then `last` minus its group. */
    const numbers = new Int32Array(this.#marks.length);
    const last = 2 ** 31 - 1;
    const members = new IntList();
    /** Blocks on the way to the current one, and index of the next pointer of each. Complement: leads to an earlier one. */
    const path = new IntList();
    const positions = new IntList();
    let next = 1;
    let group = last;
    const begin = (block: number): void => {
      numbers[block] = next++;
      path.push(block);
      positions.push(rows.firstOf(block));
    };
    const lead = (number: number): void => {
      const top = path.length - 1;
      const entry = path.at(top);
      const block = entry < 0 ? ~entry : entry;
      if (number >= numbers[block]) return;
      numbers[block] = number;
      path.set(top, ~block);
    };
    const end = (): void => {
      positions.pop();
      const entry = path.pop();
      const block = entry < 0 ? ~entry : entry;
      if (entry < 0) members.push(block);
      else {
        next--;
        while (members.length > 0 && numbers[members.at(members.length - 1)] >= numbers[block]) {
          numbers[members.pop()] = group;
          next--;
        }
        numbers[block] = group--;
      }
      if (path.length > 0) lead(numbers[block]);
    };
    for (let first = 0; first < numbers.length; first++) {
      if (numbers[first] !== 0 || !this.#isInRing(first)) continue;
      begin(first);
      while (path.length > 0) {
        const top = path.length - 1;
        const entry = path.at(top);
        const at = positions.at(top);
        if (at >= rows.endOf(entry < 0 ? ~entry : entry)) {
          end();
          continue;
        }
        positions.set(top, rows.after(at));
        const target = rows.targetOf(at);
        if (!this.#isInRing(target)) continue;
        if (numbers[target] === 0) begin(target);
        else lead(numbers[target]);
      }
    }
    return { groupOf: (block) => last - numbers[block], count: last - group };
  }
}
