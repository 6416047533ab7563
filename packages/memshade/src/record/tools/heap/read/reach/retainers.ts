import {
  type InstanceRows,
  RETAINERS_SCHEMA,
  RETAINERS_VERSION,
  type RetainerRoot,
  type RetainersFile,
} from "../../../../../profile/model/retainers.ts";
import type { ProgramMemory } from "./program-memory.ts";
import { Reach } from "./reach-sums.ts";

/** Bounds on the tables: groups, and pairs of a holder and a group. */
const MOST_GROUPS = 2 ** 14;
const MOST_EDGES = 2 ** 16;
/**
 * Words of roots that are told apart for each context. Behind these, words at most so many bytes apart are one root, as
 * in an array of pointers.
 */
const MOST_WORDS = 64;
const NEAR_BYTES = 4096;
/** Bytes of a block in which the pointer of a path is searched again. */
const MOST_SEARCHED = 4096;
/** Parent, context or offset that a row does not have. */
const NO_ROW = -1;
/** First row: the root of blocks without room. Until the search finds a block, it is there. */
const BEYOND = 0;

/** Sources of pointers that have no address in memory. A global of a module is `FirstGlobal` minus its index. */
export const RootAt = { Kept: -1, Lost: -2, Beyond: -3, FirstGlobal: -4 } as const;

/** Rows of an instance, whose sites are still contexts of its tables. Can be sent between threads, and as JSON. */
export type InstanceRetainers = InstanceRows;

/** Numbers pairs of two numbers in the order of their first use; −1 when the table is full. */
class PairTable {
  readonly #slots: Int32Array;
  readonly #firsts: Int32Array;
  readonly #seconds: Int32Array;
  #length = 0;

  /** @param most a power of two */
  constructor(most: number) {
    this.#slots = new Int32Array(2 * most);
    this.#firsts = new Int32Array(most);
    this.#seconds = new Int32Array(most);
  }

  get firsts(): number[] {
    return [...this.#firsts.subarray(0, this.#length)];
  }

  get seconds(): number[] {
    return [...this.#seconds.subarray(0, this.#length)];
  }

  numberOf(first: number, second: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hash = Math.imul(first ^ Math.imul(second, 0x9e3779b1), 0x85ebca6b);
    for (let at = (hash ^ (hash >>> 15)) & mask; ; at = (at + 1) & mask) {
      const number = slots[at] - 1;
      if (number < 0) {
        if (this.#length === this.#firsts.length) return -1;
        this.#firsts[this.#length] = first;
        this.#seconds[this.#length] = second;
        slots[at] = ++this.#length;
        return this.#length - 1;
      }
      if (this.#firsts[number] === first && this.#seconds[number] === second) return number;
    }
  }
}

interface RetainedBlocks {
  readonly length: number;
  startOf(block: number): number;
  sizeOf(block: number): number;
  contextOf(block: number): number;
}

/**
 * Groups blocks by the way on which the search from the roots finds them first: the root, then the contexts of the
 * blocks, each once. A block whose context is on the way already belongs to that group, so that a list or a tree is
 * one group. Each way is that of a block, and a part of it with no context twice.
 *
 *    root ─▶ A ─▶ A ─▶ B        groups root/A (2 blocks), root/A/B (1 block)
 */
export class Retainers {
  readonly #blocks: RetainedBlocks;
  readonly #contextOf: Int32Array;
  /** Group of each block, 0 before the search finds it. Small numbers, as this column is read for each pointer. */
  readonly #groupOf: Uint16Array;
  readonly #parents: number[] = [];
  readonly #contexts: number[] = [];
  readonly #places: number[] = [];
  /** First block of each group, and the block that holds it. */
  readonly #firsts: number[] = [];
  readonly #holders: number[] = [];
  readonly #ways = new PairTable(MOST_EDGES);
  readonly #groupOfWay: number[] = [];
  readonly #edges = new PairTable(MOST_EDGES);
  readonly #pointers = new Uint32Array(MOST_EDGES);
  /** Newest root of each context, its last word, and the number of words. Then the first group of each context. */
  readonly #roots = new Map<number, { root: number; last: number; words: number }>();
  readonly #firstOf = new Map<number, number>();
  readonly #specials = new Map<number, number>();
  #lastFrom = NO_ROW;
  #lastTo = NO_ROW;
  #lastEdge = NO_ROW;

  constructor(blocks: RetainedBlocks) {
    this.#blocks = blocks;
    this.#contextOf = new Int32Array(blocks.length);
    for (let block = 0; block < blocks.length; block++) this.#contextOf[block] = blocks.contextOf(block);
    this.#groupOf = new Uint16Array(blocks.length);
    this.#special(RootAt.Beyond);
  }

  /** Adds a pointer from a root. @param at address of the word, or `RootAt` */
  holdByRoot(block: number, at: number): void {
    const root = at === RootAt.Kept || at === RootAt.Lost ? this.#special(at) : this.#rootAt(block, at);
    this.#hold(root, block, NO_ROW);
  }

  /**
   * Adds a pointer in a block that the search has found.
   *
   * @param from group of the source, which a caller with many pointers asks for once
   * @returns true if the block was not found before
   */
  hold(source: number, block: number, from = this.groupOf(source)): boolean {
    return this.#hold(from, block, source);
  }

  groupOf(block: number): number {
    return this.#groupOf[block];
  }

  isFound(block: number): boolean {
    return this.#groupOf[block] !== BEYOND;
  }

  /** Returns the rows without their roots, which have `RootAt` or an address as their offset. */
  result(memory: Pick<ProgramMemory, "wordBytes" | "half">): Omit<InstanceRetainers, "roots"> {
    const length = this.#parents.length;
    const [blocks, bytes] = [new Array<number>(length).fill(0), new Array<number>(length).fill(0)];
    for (let block = 0; block < this.#blocks.length; block++) {
      const row = this.#groupOf[block];
      blocks[row]!++;
      bytes[row]! += this.#blocks.sizeOf(block);
    }
    for (let row = 0; row < length; row++)
      if (this.#holders[row]! >= 0) this.#places[row] = this.#offsetOf(row, memory);
    const froms = this.#edges.firsts;
    return {
      holders: this.#parents,
      sites: this.#contexts,
      blocks,
      bytes,
      offsets: this.#places,
      froms,
      tos: this.#edges.seconds,
      pointers: [...this.#pointers.subarray(0, froms.length)],
    };
  }

  #hold(from: number, block: number, source: number): boolean {
    let group = this.#groupOf[block];
    const isNew = group === BEYOND;
    if (isNew) {
      group = this.#groupBelow(from, block, source);
      this.#groupOf[block] = group;
    }
    if (from !== this.#lastFrom || group !== this.#lastTo) {
      let edge = this.#edges.numberOf(from, group);
      // A pointer without room is unknown to the sums, so its block must not seem to fall with others.
      if (edge < 0) edge = this.#edges.numberOf(BEYOND, group);
      [this.#lastFrom, this.#lastTo, this.#lastEdge] = [from, group, edge];
    }
    if (this.#lastEdge >= 0) this.#pointers[this.#lastEdge]++;
    return isNew;
  }

  #rootAt(block: number, at: number): number {
    const context = this.#contextOf[block];
    const known = this.#roots.get(context) ?? { root: BEYOND, last: 0, words: 0 };
    const isNew = known.words < MOST_WORDS || at < known.last || at - known.last > NEAR_BYTES;
    if (isNew && this.#parents.length < MOST_GROUPS) {
      known.root = this.#row(NO_ROW, NO_ROW, at);
      this.#roots.set(context, known);
    }
    known.last = at;
    known.words++;
    return known.root;
  }

  #special(at: number): number {
    const known = this.#specials.get(at);
    if (known !== undefined) return known;
    const root = this.#row(NO_ROW, NO_ROW, at);
    this.#specials.set(at, root);
    return root;
  }

  #groupBelow(parent: number, block: number, holder: number): number {
    const context = this.#contextOf[block];
    if (this.#contexts[parent] === context) return parent;
    const way = this.#ways.numberOf(parent, context);
    const known = way < 0 ? this.#firstOf.get(context) : this.#groupOfWay[way];
    if (known !== undefined) return known;
    let group = parent;
    while (group >= 0 && this.#contexts[group] !== context) group = this.#parents[group]!;
    if (group < 0) {
      const isFull = way < 0 || this.#parents.length >= MOST_GROUPS;
      group = isFull
        ? (this.#firstOf.get(context) ?? BEYOND)
        : this.#row(parent, context, NO_ROW, block, holder);
      if (!isFull && !this.#firstOf.has(context)) this.#firstOf.set(context, group);
    }
    if (way >= 0) this.#groupOfWay[way] = group;
    return group;
  }

  #row(parent: number, context: number, place: number, first = NO_ROW, holder = NO_ROW): number {
    this.#contexts.push(context);
    this.#places.push(place);
    this.#firsts.push(first);
    this.#holders.push(holder);
    return this.#parents.push(parent) - 1;
  }

  /** Returns the offset of the pointer to a group's first block in the block that holds it. */
  #offsetOf(row: number, memory: Pick<ProgramMemory, "wordBytes" | "half">): number {
    const { wordBytes } = memory;
    const holder = this.#blocks.startOf(this.#holders[row]!);
    const from = Math.ceil(holder / wordBytes) * wordBytes;
    const end = holder + Math.min(MOST_SEARCHED, this.#blocks.sizeOf(this.#holders[row]!));
    const start = this.#blocks.startOf(this.#firsts[row]!);
    const behind = start + Math.max(1, this.#blocks.sizeOf(this.#firsts[row]!));
    for (let at = from; at + wordBytes <= end; at += wordBytes) {
      const value = memory.half(at) + (wordBytes === 8 ? memory.half(at + 4) * 2 ** 32 : 0);
      if (value >= start && value < behind) return at - holder;
    }
    return NO_ROW;
  }
}

const KINDS_OF_ROOTS: Readonly<Record<number, RetainerRoot["kind"]>> = {
  [RootAt.Kept]: "kept",
  [RootAt.Lost]: "lost",
  [RootAt.Beyond]: "beyond",
};

/** @param describe describes a root by its address */
export function describeRoots(
  rows: Omit<InstanceRetainers, "roots">,
  describe: (address: number) => Omit<RetainerRoot, "row">,
): InstanceRetainers {
  const roots = rows.holders.flatMap((holder, row): RetainerRoot[] => {
    if (holder >= 0) return [];
    const at = rows.offsets[row]!;
    const kind = KINDS_OF_ROOTS[at];
    if (kind !== undefined) return [{ row, kind }];
    return [{ row, ...(at < 0 ? { kind: "global", address: RootAt.FirstGlobal - at } : describe(at)) }];
  });
  const offsets = rows.offsets.map((offset, row) => (rows.holders[row]! < 0 ? NO_ROW : offset));
  return { ...rows, offsets, roots };
}

interface Pointers {
  firstOf(source: number): number;
  endOf(source: number): number;
  after(index: number): number;
  targetOf(index: number): number;
}

/** Groups lost blocks below their owners. Pointers in them hold no reachable block. */
export function holdLost(retainers: Retainers, rows: Pointers, reach: Uint8Array): void {
  const isLost = (block: number): boolean => reach[block] === Reach.Lost || reach[block] === Reach.Indirect;
  let open: number[] = [];
  for (let block = 0; block < reach.length; block++)
    if (reach[block] === Reach.Lost) {
      retainers.holdByRoot(block, RootAt.Lost);
      open.push(block);
    }
  while (open.length > 0) {
    const next: number[] = [];
    for (const block of open)
      for (let at = rows.firstOf(block); at < rows.endOf(block); at = rows.after(at)) {
        const target = rows.targetOf(at);
        if (!isLost(target)) continue;
        if (!retainers.isFound(target)) next.push(target);
        retainers.hold(block, target);
      }
    open = next;
  }
}

interface PlacedReach {
  module: number;
  reach: { retainers?: InstanceRetainers | undefined } | object | undefined;
  /** Returns the row of a context in the run; −1 if it has none. */
  siteOf: (context: number) => number;
}

/** Returns the retainers of all instances of a run; undefined if none are known. */
export function placeRetainers(instances: readonly PlacedReach[]): RetainersFile | undefined {
  const placed = instances.flatMap(({ module, reach, siteOf }): InstanceRows[] => {
    const retainers = reach !== undefined && "retainers" in reach ? reach.retainers : undefined;
    if (retainers === undefined) return [];
    const rows = new Map([...new Set(retainers.sites)].map((context) => [context, siteOf(context)]));
    const roots = retainers.roots.map((root) =>
      root.kind === "static" || root.kind === "global" ? { module, ...root } : root,
    );
    const sites = retainers.sites.map((context) => (context < 0 ? NO_ROW : (rows.get(context) ?? NO_ROW)));
    return [{ ...retainers, roots, sites }];
  });
  if (placed.length === 0) return undefined;
  return { schema: RETAINERS_SCHEMA, version: RETAINERS_VERSION, instances: placed };
}
