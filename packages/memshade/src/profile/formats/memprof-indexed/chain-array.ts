import {
  type ChainOrder,
  ChainWalk,
  Column,
  NarrowColumn,
  RankedBits,
  type StackChains,
} from "../../model/memprof/index.ts";

/** Pieces of a file, in order. Each piece is valid until the next one is requested. */
export type Chunks = Generator<Uint8Array, void, undefined>;

const CHUNK_BYTES = 1 << 18;

/**
 * Writes little-endian values into a buffer that is passed on whenever it is full, so that large files are never in
 * memory as a whole. The data between two calls of `take` must fit into memory.
 */
export class ChunkWriter {
  #buffer = new Uint8Array(CHUNK_BYTES + 4096);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  get isFull(): boolean {
    return this.#length >= CHUNK_BYTES;
  }

  *take(): Chunks {
    yield this.#buffer.subarray(0, this.#length);
    this.#length = 0;
  }

  *finish(): Chunks {
    if (this.#length > 0) yield* this.take();
  }

  u8(value: number): this {
    const at = this.#room(1);
    this.#buffer[at] = value;
    return this;
  }

  u16(value: number): this {
    const at = this.#room(2);
    this.#view.setUint16(at, value, true);
    return this;
  }

  u32(value: number): this {
    const at = this.#room(4);
    this.#view.setUint32(at, value, true);
    return this;
  }

  /** @param values bigints, or numbers from 0 below 2^53 */
  u64s(...values: (number | bigint)[]): this {
    for (const value of values) {
      const at = this.#room(8);
      if (typeof value === "bigint") {
        this.#view.setBigUint64(at, value, true);
      } else {
        this.#view.setUint32(at, value, true);
        this.#view.setUint32(at + 4, value / 2 ** 32, true);
      }
    }
    return this;
  }

  words(content: Uint32Array): this {
    return this.bytes(new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
  }

  bytes(content: Uint8Array): this {
    const at = this.#room(content.length);
    this.#buffer.set(content, at);
    return this;
  }

  // Growing replaces `#buffer` and `#view`, so callers must read these fields after the call.
  #room(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, at));
      this.#buffer = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

const ELEMENTS_AT_ONCE = 1 << 13;

/**
 * Call stack array of the used stacks, from the first element to the last. Each stack has its length, the frames that
 * it does not share with the next stack, and a jump to the shared frames, which are stored with a later stack.
 * Positions are therefore computed before anything is written.
 */
export class ChainArray {
  readonly #stacks: StackChains;
  readonly #used: RankedBits;
  /** Stacks that jumps may target, and their positions in the array by rank among these stacks. */
  readonly #joints = new RankedBits();
  readonly #places = new Column();
  /** Used stacks in order, their depths, and the number of frames at the root that each shares with the next. */
  readonly #order = new Column();
  readonly #depths = new NarrowColumn(1);
  readonly #shared = new NarrowColumn(1);
  #elements = new Uint32Array(ELEMENTS_AT_ONCE);

  constructor(stacks: StackChains, used: RankedBits, branches: RankedBits) {
    this.#stacks = stacks;
    this.#used = used;
    branches.forEach((stack) => {
      this.#joints.set(stack);
    });
    used.forEach((stack) => {
      if (stacks.isContinued(stack)) this.#joints.set(stack);
    });
    this.#joints.rankAll();
  }

  /**
   * Computes the position of each used stack and passes it to `see`.
   *
   * @param tree is consumed
   * @returns the number of elements
   */
  layOut(tree: ChainOrder, see: (stack: number, position: number) => void): number {
    const joints = this.#joints;
    let length = 0;
    const walk = new SharingWalk(tree, this.#used);
    for (let index = 0; walk.next(); index++) {
      const { stack, depth, shared, path } = walk;
      see(stack, length);
      this.#order.set(index, stack);
      this.#depths.set(index, depth);
      this.#shared.set(index, shared);
      for (let at = depth; at > shared; at--)
        if (joints.has(path[at]!)) this.#places.set(joints.rankOf(path[at]!), length + 1 + depth - at);
      length += 1 + depth - shared + (shared > 0 ? 1 : 0);
    }
    tree.release();
    return length;
  }

  /** @param linearIds file numbers of frames, by frame number in the stacks */
  *write(writer: ChunkWriter, linearIds: Uint32Array): Chunks {
    let length = 0;
    let count = 0;
    for (let index = 0; index < this.#used.count; index++) {
      const most = this.#depths.get(index) + 2;
      if (count + most > this.#elements.length) {
        writer.words(this.#elements.subarray(0, count));
        count = 0;
        if (most > this.#elements.length) this.#elements = new Uint32Array(most);
        if (writer.isFull) yield* writer.take();
      }
      const next = this.#put(index, count, length, linearIds);
      length += next - count;
      count = next;
    }
    writer.words(this.#elements.subarray(0, count));
  }

  release(): void {
    for (const table of [this.#joints, this.#places, this.#order, this.#depths, this.#shared])
      table.release();
  }

  /** Stores the elements of a stack at `at` of `#elements`, which is `position` in the whole array. @returns the end */
  #put(index: number, at: number, position: number, linearIds: Uint32Array): number {
    const stacks = this.#stacks;
    const elements = this.#elements;
    const shared = this.#shared.get(index);
    const depth = this.#depths.get(index);
    let stack = this.#order.get(index);
    let end = at;
    elements[end++] = depth;
    for (let remaining = depth; remaining > shared; remaining--) {
      elements[end++] = linearIds[stacks.frameOf(stack)]!;
      stack = stacks.parentOf(stack);
    }
    if (shared > 0) elements[end] = position + (end - at) - this.#places.get(this.#joints.rankOf(stack));
    return shared > 0 ? end + 1 : end;
  }
}

/** Walks through the used stacks and computes how many frames each one shares with the next. */
class SharingWalk {
  stack = 0;
  depth = 0;
  readonly path: number[] = [0];
  /** Number of frames at the root that the next stack has too. */
  shared = 0;
  readonly #used: RankedBits;
  readonly #walk: ChainWalk;
  /** True if another stack follows; `#walk` already points to it. */
  #isThere: boolean;
  #isAtRoot: boolean;

  constructor(tree: ChainOrder, used: RankedBits) {
    this.#used = used;
    this.#walk = new ChainWalk(tree);
    this.#isAtRoot = used.has(0);
    this.#isThere = this.#isAtRoot || this.#seek();
  }

  next(): boolean {
    if (!this.#isThere) return false;
    const { path } = this;
    const walk = this.#walk;
    if (this.#isAtRoot) {
      this.#isAtRoot = false;
    } else {
      for (let at = this.shared + 1; at <= walk.depth; at++) path[at] = walk.path[at]!;
      this.stack = walk.stack;
      this.depth = walk.depth;
    }
    this.shared = this.depth;
    this.#isThere = this.#seek();
    return true;
  }

  #seek(): boolean {
    const walk = this.#walk;
    const used = this.#used;
    while (walk.next()) {
      if (walk.depth <= this.shared) this.shared = walk.depth - 1;
      if (used.has(walk.stack)) return true;
    }
    this.shared = 0;
    return false;
  }
}
