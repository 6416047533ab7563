import { BlockHeads } from "./block-heads.ts";
import type { BlockList } from "./block-list.ts";
import { type BlockTimes, findOwners } from "./owners.ts";
import { Pointers, ROOT } from "./pointers.ts";
import type { ProgramMemory } from "./program-memory.ts";

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
 * Some addresses inside count as that of a block's first byte (`block-heads.ts`), and the end of an array of no objects, whose block has
 * nothing but its length (`pointers.ts`). They are looked at where nothing else leads to a block.
 */
export const Reach = { None: 0, Reachable: 1, Possible: 2, Lost: 3, Indirect: 4 } as const;

/** Where pointers to blocks are looked for. */
export interface PointerSpace {
  memory: ProgramMemory;
  /** Beginnings and ends of roots in this memory. */
  ranges: readonly number[];
  /** Values of roots elsewhere. */
  values: readonly number[];
  /** Tells of a value at an address that it is no pointer to a block, for all that it looks like one. */
  isOther?: ((value: number, at: number, block: number) => boolean) | undefined;
  /** Blocks that can be reached whatever leads there. */
  reached?: Iterable<number> | undefined;
}

/** What is found of each block. */
export interface Classified {
  /** `Reach` of each block. */
  reach: Uint8Array;
  /** Of lost blocks: what is behind them. Empty where there are none. */
  behindBytes: Float64Array;
  behindBlocks: Float64Array;
  /** And how many of those are late. */
  behindLate: Float64Array;
}

/** Tells blocks apart by the pointers to them. Takes time for the words of the roots and of the blocks, each once. */
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

/** Follows pointers from the roots on. */
class Search {
  readonly #pointers: Pointers;
  readonly #heads: BlockHeads;
  readonly #reach: Uint8Array;
  /** Blocks whose pointers are still to be followed. */
  readonly #open: number[] = [];
  /** Reachable blocks whose addresses inside of others are still to be looked at. */
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
    for (let block = this.#later.pop(); block !== undefined; block = this.#later.pop()) this.#look(block);
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

  /** Looks at the addresses inside of blocks that a reachable one has. */
  #look(source: number): void {
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
    // It may have been, until a pointer to it was found.
    if (this.#reach[block] !== Reach.Possible) return;
    const row = this.#pointers.rowOf(block);
    for (let i = row.from; i < row.to; i++) this.#takePossible(this.#pointers.targets[i]);
    const inside = this.#pointers.insideOf(block);
    for (let i = inside.from; i < inside.to; i++) this.#takePossible(this.#pointers.inside.targets.values[i]);
  }
}
