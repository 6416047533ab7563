import type { BlockList } from "./block-list.ts";
import { type Pointers, ROOT } from "./pointers.ts";

/** What hangs on each lost block. */
export interface Behind {
  /** Blocks that lead others: nothing but what they lead to leads to them. */
  leaders: number[];
  bytes: Float64Array;
  blocks: Float64Array;
  /** How many of these are late. */
  late: Float64Array;
}

const NONE_BEHIND = new Float64Array();

/** When each block was allocated. */
export interface BlockTimes {
  times: ArrayLike<number>;
  /** From then on blocks are late. */
  late: number;
}

/**
 * Who owns lost blocks. Blocks that lead to each other are one group. Of a group that no other one leads to, the block that was allocated
 * first owns the rest, and all that the group leads to: whose parts point back to it was there before them, as a database, a window, a
 * document. Of blocks of one age it is the lowest. What two groups lead to is the older one's.
 */
export function findOwners(
  blocks: BlockList,
  pointers: Pointers,
  lost: readonly number[],
  { times, late }: BlockTimes,
): Behind {
  // Of a program that loses nothing, this takes nothing.
  if (lost.length === 0) return { leaders: [], bytes: NONE_BEHIND, blocks: NONE_BEHIND, late: NONE_BEHIND };
  const isOlder = (one: number, other: number): boolean =>
    times[one]! < times[other]! || (times[one] === times[other] && one < other);
  const graph = new LostGraph(blocks.length, pointers, lost);
  const groups = graph.groups();
  const leaderOf = new Int32Array(groups.count).fill(ROOT);
  const isLed = new Uint8Array(groups.count);
  for (const block of lost) {
    const group = groups.of[block];
    if (leaderOf[group] === ROOT || isOlder(block, leaderOf[group])) leaderOf[group] = block;
    graph.forEach(block, (target) => {
      if (groups.of[target] !== group) isLed[groups.of[target]] = 1;
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

/** Lost blocks, and the pointers between them. */
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

  forEach(block: number, see: (target: number) => void): void {
    for (let i = 0, target = this.#next(block, i); target >= 0; target = this.#next(block, ++i))
      if (this.#isLost[target] === 1) see(target);
  }

  /** The block that the pointer of this number leads to, of all that a block has; −1: it has no more. */
  #next(block: number, index: number): number {
    const { from, to } = this.#pointers.rowOf(block);
    if (from + index < to) return this.#pointers.targets[from + index];
    const inside = this.#pointers.insideOf(block);
    const at = inside.from + index - (to - from);
    return at < inside.to ? this.#pointers.inside.targets.values[at] : -1;
  }

  /** Tarjan's way to the groups, without recursion: lists are long. */
  groups(): { of: Int32Array; count: number } {
    const of = new Int32Array(this.#length).fill(-1);
    const order = new Int32Array(this.#length);
    const lowest = new Int32Array(this.#length);
    const nextOf = new Int32Array(this.#length);
    const stack: number[] = [];
    const path: number[] = [];
    let met = 0;
    let count = 0;
    const begin = (block: number): void => {
      order[block] = lowest[block] = ++met;
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
        of[member] = count;
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
        else if (of[target] < 0) lowest[block] = Math.min(lowest[block], order[target]);
      }
    }
    return { of, count };
  }
}
