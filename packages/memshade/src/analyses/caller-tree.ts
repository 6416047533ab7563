import type { HeapProfile } from "../model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "../model/indices.ts";
import { framesOfContext } from "../model/stacks.ts";

/**
 * Who called, seen from the leaf: a node's callers call the node's function. Two calls in one function
 * are one caller.
 */
export interface CallerNode {
  /** The heaviest of the frames that the node stands for. */
  readonly frame: IndexIntoFrameTable;
  /** Of all contexts that pass through here. */
  readonly value: number;
  /** Largest value first. */
  readonly callers: readonly CallerNode[];
}

/**
 * The callers of the leaf frames of some contexts, weighted by a value per context. Contexts of value 0
 * and those without a call path are left out.
 */
export function callerTree(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  values: ArrayLike<number>,
): CallerNode[] {
  const root = new GrowingLevel();
  const levels = [root];
  const heaviestFirst = contexts
    .filter((context) => values[context]! > 0)
    .sort((a, b) => values[b]! - values[a]!);
  for (const context of heaviestFirst) {
    let level = root;
    for (const frame of framesOfContext(profile, context).slice(1)) {
      const key = callerKey(profile, frame);
      let known = level.byKey.get(key);
      if (known === undefined) {
        const next = new GrowingLevel();
        known = { node: { frame, value: 0, callers: next.nodes }, next };
        level.byKey.set(key, known);
        level.nodes.push(known.node);
        levels.push(next);
      }
      known.node.value += values[context]!;
      level = known.next;
    }
  }
  // Level by level, not recursively: a damaged profile may have stacks of any depth.
  for (const { nodes } of levels) {
    nodes.sort((a, b) => b.value - a.value);
  }
  return root.nodes;
}

class GrowingLevel {
  readonly nodes: { frame: IndexIntoFrameTable; value: number; callers: CallerNode[] }[] = [];
  readonly byKey = new Map<number, { node: GrowingLevel["nodes"][0]; next: GrowingLevel }>();
}

function callerKey({ frames, functions }: HeapProfile, frame: IndexIntoFrameTable): number {
  const index = frames.function[frame]!;
  const isKnown = functions.wasmIndex[index] !== NONE || functions.name[index] !== NONE;
  // All unknown functions of a module share one row; their frames still differ.
  return isKnown ? index : -1 - frame;
}
