import { type ChainOrder, ChainWalk, Column, RankedBits } from "../../model/memprof/index.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";

/**
 * The call stack array of the stacks in use, from its first element to its last. Each stack gives its length, the
 * frames that it does not share with the next one, and a jump to the others, which stand with a later stack: so it is
 * walked twice, first for the places that jumps go to.
 */
export class ChainArray {
  private readonly tree: ChainOrder;
  private readonly used: RankedBits;
  /** Stacks that jumps may go to, and their places in the array by their numbers among these. */
  private readonly joints = new RankedBits();
  private readonly places = new Column();

  constructor(tree: ChainOrder, used: RankedBits) {
    this.tree = tree;
    this.used = used;
    tree.branches.forEach((stack) => {
      this.joints.set(stack);
    });
    used.forEach((stack) => {
      if (tree.stacks.isContinued(stack)) this.joints.set(stack);
    });
    this.joints.rankAll();
  }

  /** Tells each used stack its place. @returns the number of elements */
  measure(see: (stack: number, position: number) => void): number {
    const { joints } = this;
    let length = 0;
    const walk = new SharingWalk(this.tree, this.used);
    while (walk.next()) {
      const { depth, shared, path } = walk;
      see(walk.stack, length);
      for (let at = depth; at > shared; at--) {
        if (joints.has(path[at]!)) this.places.set(joints.rankOf(path[at]!), length + 1 + depth - at);
      }
      length += 1 + depth - shared + (shared > 0 ? 1 : 0);
    }
    return length;
  }

  /** @param linearIds of the frames as the tree has them */
  *write(writer: ChunkWriter, linearIds: Uint32Array): Chunks {
    const { joints, tree } = this;
    let length = 0;
    const walk = new SharingWalk(tree, this.used);
    while (walk.next()) {
      const { depth, shared, path } = walk;
      writer.u32(depth);
      for (let at = depth; at > shared; at--) writer.u32(linearIds[tree.stacks.frameOf(path[at]!)]!);
      length += 1 + depth - shared;
      if (shared > 0) writer.u32(length++ - this.places.get(joints.rankOf(path[shared]!)));
      if (writer.isFull) yield* writer.take();
    }
  }

  release(): void {
    this.joints.release();
    this.places.release();
  }
}

/** A walk through the stacks in use that knows what each one shares with the next. */
class SharingWalk {
  stack = 0;
  depth = 0;
  /** The stack and its callers, by depth. */
  readonly path: number[] = [0];
  /** Number of frames at the root that the next stack has too. */
  shared = 0;
  private readonly used: RankedBits;
  private readonly walk: ChainWalk;
  /** Whether there is a stack after this one; the walk is at it already. */
  private isThere: boolean;
  private isAtRoot: boolean;

  constructor(tree: ChainOrder, used: RankedBits) {
    this.used = used;
    this.walk = new ChainWalk(tree);
    this.isAtRoot = used.has(0);
    this.isThere = this.isAtRoot || this.seek();
  }

  /** @returns false at the end */
  next(): boolean {
    if (!this.isThere) return false;
    const { walk, path } = this;
    if (this.isAtRoot) {
      // The empty stack comes first.
      this.isAtRoot = false;
    } else {
      for (let at = this.shared + 1; at <= walk.depth; at++) path[at] = walk.path[at]!;
      this.stack = walk.stack;
      this.depth = walk.depth;
    }
    this.shared = this.depth;
    this.isThere = this.seek();
    return true;
  }

  private seek(): boolean {
    const { walk, used } = this;
    while (walk.next()) {
      if (walk.depth <= this.shared) this.shared = walk.depth - 1;
      if (used.has(walk.stack)) return true;
    }
    this.shared = 0;
    return false;
  }
}
