import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { PageContexts, PageFrames } from "./page-data.ts";

/** A key for each frame, and one frame of each key. −1: the frame has no key. */
export interface FrameKeys {
  readonly of: Int32Array;
  readonly first: Int32Array;
}

/** Returns keys by source line; frames without a line have none. */
export function lineKeys({ file, line, length }: PageFrames): FrameKeys {
  return keysOf(length, (frame) =>
    file[frame]! < 0 || line[frame] === 0 ? undefined : file[frame]! * 2 ** 24 + line[frame]!,
  );
}

export function fileKeys({ file, length }: PageFrames): FrameKeys {
  return keysOf(length, (frame) => (file[frame]! < 0 ? undefined : file[frame]!));
}

function keysOf(frames: number, keyOf: (frame: number) => number | undefined): FrameKeys {
  const numbers = new Map<number, number>();
  const first: number[] = [];
  const of = Int32Array.from({ length: frames }, (_, frame) => {
    const key = keyOf(frame);
    if (key === undefined) return -1;
    return entryOf(numbers, key, () => first.push(frame) - 1);
  });
  return { of, first: Int32Array.from(first) };
}

type Tree = Pick<PageContexts, "parent" | "frame">;

/** Adds to each context's value those of all contexts below it. */
export function withCalls({ parent }: Pick<Tree, "parent">, values: Float64Array): Float64Array {
  const sums = values.slice();
  for (let context = sums.length - 1; context >= 0; context--)
    if (parent[context]! >= 0) sums[parent[context]!]! += sums[context]!;
  return sums;
}

/**
 * Sums of lines or files, callees included: for each key, the values of all contexts whose frame has the key,
 * and of everything they called.
 */
export class Through {
  readonly #keys: FrameKeys;
  /** Key of each outermost context with that key; −1 for other contexts. */
  readonly #keyAt: Int32Array;

  constructor(tree: Tree, keys: FrameKeys) {
    this.#keys = keys;
    this.#keyAt = outermostKeys(tree, keys);
  }

  /**
   * Returns one sum per key.
   * @param below result of `withCalls`
   */
  sums(below: Float64Array): Float64Array {
    const sums = new Float64Array(this.#keys.first.length);
    for (let context = 0; context < below.length; context++) {
      const key = this.#keyAt[context]!;
      if (key >= 0) sums[key]! += below[context]!;
    }
    return sums;
  }
}

/** Visits callers before their callees, and leaves them afterwards. Recursion enters a key only once. */
function outermostKeys({ parent, frame }: Tree, keys: FrameKeys): Int32Array {
  const keyAt = new Int32Array(parent.length).fill(-1);
  // Index: caller + 1; index 0 has the roots.
  const firstCalled = new Int32Array(parent.length + 1).fill(-1);
  const next = new Int32Array(parent.length);
  for (let context = parent.length - 1; context >= 0; context--) {
    next[context] = firstCalled[parent[context]! + 1]!;
    firstCalled[parent[context]! + 1] = context;
  }
  const entered = new Int32Array(keys.first.length);
  for (let context = firstCalled[0]!; context >= 0; ) {
    const key = keys.of[frame[context]!]!;
    if (key >= 0 && entered[key]!++ === 0) keyAt[context] = key;
    let following = firstCalled[context + 1]!;
    for (let ancestor = context; following < 0 && ancestor >= 0; ancestor = parent[ancestor]!) {
      const leftKey = keys.of[frame[ancestor]!]!;
      if (leftKey >= 0) entered[leftKey]!--;
      following = next[ancestor]!;
    }
    context = following;
  }
  return keyAt;
}
