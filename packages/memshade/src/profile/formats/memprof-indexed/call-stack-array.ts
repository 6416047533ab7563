import {
  type FrameCounts,
  type MemprofStacks,
  type OrderedTree,
  orderTree,
} from "../../model/memprof/index.ts";

/** Frames and call stacks in the order of indexed versions 3 and 4. */
export interface CallStackArray {
  readonly frames: Uint32Array;
  readonly elements: Int32Array;
  /** Index in `elements` by stack; undefined for unused stacks. */
  readonly positions: Uint32Array;
}

/**
 * Lays out the call stacks in use, sharing their root ends, as LLVM does (memprof-format, section 11.7).
 *
 * @param isUsed 1 for each stack that a site refers to
 * @param ids frame ids, which break ties
 */
export function buildCallStackArray(
  stacks: MemprofStacks,
  isUsed: Uint8Array,
  ids: BigUint64Array,
): CallStackArray {
  const { frames, linearIds, ranks } = orderFrames(countFrames(stacks, isUsed, ids.length), ids);
  const tree = orderTree(stacks, isUsed, ranks);
  return { frames, ...layOut(stacks, isUsed, tree, linearIds) };
}

export interface FrameOrder {
  readonly frames: Uint32Array;
  readonly linearIds: Uint32Array;
  /** Rank among siblings in the tree, by frame; unused frames come first. */
  readonly ranks: Uint32Array;
}

export function orderFrames({ counts, positionSums }: FrameCounts, ids: BigUint64Array): FrameOrder {
  const compareIds = (a: number, b: number) => (ids[a]! < ids[b]! ? -1 : ids[a]! > ids[b]! ? 1 : 0);
  const allFrames = Uint32Array.from(ids.keys());
  const frames = allFrames
    .filter((frame) => counts[frame]! > 0)
    .sort((a, b) => counts[b]! - counts[a]! || positionSums[a]! - positionSums[b]! || compareIds(a, b));
  const linearIds = new Uint32Array(ids.length);
  for (const [index, frame] of frames.entries()) linearIds[frame] = index;
  const ascending = allFrames.sort((a, b) => counts[a]! - counts[b]! || compareIds(a, b));
  const ranks = new Uint32Array(ids.length);
  for (const [rank, frame] of ascending.entries()) ranks[frame] = rank;
  return { frames, linearIds, ranks };
}

function countFrames(stacks: MemprofStacks, isUsed: Uint8Array, frameCount: number): FrameCounts {
  const counts = new Float64Array(frameCount);
  const positionSums = new Float64Array(frameCount);
  for (let stack = 1; stack < stacks.length; stack++) {
    if (isUsed[stack] === 0) continue;
    let position = 0;
    for (let at = stack; at !== 0; at = stacks.parent[at]!) {
      const frame = stacks.frame[at]!;
      counts[frame]! += 1;
      positionSums[frame]! += position++;
    }
  }
  return { counts, positionSums };
}

/**
 * Walks the sorted stacks from last to first: children before their parent, later frames first. The array is built back
 * to front and reversed at the end.
 */
function layOut(
  stacks: MemprofStacks,
  isUsed: Uint8Array,
  { firstChild, nextSibling }: OrderedTree,
  linearIds: Uint32Array,
): { elements: Int32Array; positions: Uint32Array } {
  const elements = new GrowingArray();
  const positions = new Uint32Array(stacks.length);
  /** Position of the frame of each stack of the current path; valid up to `previousDepth`. */
  const placed: number[] = [];
  const path: number[] = [];
  let previousDepth = 0;
  const encode = (stack: number) => {
    // Shared part with the stack that was encoded before; the path follows the walk.
    const common = Math.min(previousDepth, path.length);
    if (common > 0) elements.push(placed[common - 1]! - elements.length);
    for (let depth = common; depth < path.length; depth++) {
      placed[depth] = elements.length;
      elements.push(linearIds[stacks.frame[path[depth]!]!]!);
    }
    positions[stack] = elements.length;
    elements.push(path.length);
    previousDepth = path.length;
  };
  let next = firstChild[0]!;
  while (next !== 0 || path.length > 0) {
    if (next !== 0) {
      path.push(next);
      next = firstChild[next]!;
      continue;
    }
    const stack = path.at(-1)!;
    if (isUsed[stack] === 1) encode(stack);
    path.pop();
    previousDepth = Math.min(previousDepth, path.length);
    next = nextSibling[stack]!;
  }
  if (isUsed[0] === 1) encode(0);
  const last = elements.length - 1;
  for (let stack = 0; stack < positions.length; stack++) positions[stack] = last - positions[stack]!;
  return { elements: elements.reversed(), positions };
}

class GrowingArray {
  length = 0;
  #values = new Int32Array(1024);

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Int32Array(Math.ceil(this.length * 1.5));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  reversed(): Int32Array {
    return this.#values.subarray(0, this.length).reverse();
  }
}
