import type { MemprofStacks } from "./profile.ts";

/** Children of the kept stacks, siblings in descending order of their frames. 0 means none. */
export interface OrderedTree {
  readonly firstChild: Uint32Array;
  readonly nextSibling: Uint32Array;
}

/**
 * Returns the part of a stack tree that leads to certain stacks.
 *
 * @param isWanted 1 for the stacks to keep
 * @param ranks of the frames, all different, from 0
 */
export function orderTree(stacks: MemprofStacks, isWanted: Uint8Array, ranks: Uint32Array): OrderedTree {
  const { length, parent, frame } = stacks;
  const isKept = isWanted.slice();
  for (let stack = length - 1; stack > 0; stack--) if (isKept[stack] === 1) isKept[parent[stack]!] = 1;
  // Counting sort by rank: each stack is then inserted before its siblings.
  const starts = new Uint32Array(ranks.length + 1);
  for (let stack = 1; stack < length; stack++)
    if (isKept[stack] === 1) starts[ranks[frame[stack]!]! + 1]! += 1;
  for (let rank = 0; rank < ranks.length; rank++) starts[rank + 1]! += starts[rank]!;
  const byRank = new Uint32Array(starts[ranks.length]!);
  for (let stack = 1; stack < length; stack++)
    if (isKept[stack] === 1) byRank[starts[ranks[frame[stack]!]!]!++] = stack;
  const firstChild = new Uint32Array(length);
  const nextSibling = new Uint32Array(length);
  for (const stack of byRank) {
    const above = parent[stack]!;
    nextSibling[stack] = firstChild[above]!;
    firstChild[above] = stack;
  }
  return { firstChild, nextSibling };
}
