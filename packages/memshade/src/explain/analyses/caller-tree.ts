import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "../../profile/model/indices.ts";
import { siteStackOfContext } from "../../profile/model/site-frame.ts";

/** Callers of a site as a tree: a node's callers call the node's function. Two calls in one function are one caller. */
export interface CallerNode {
  /** Heaviest of the node's frames. */
  readonly frame: IndexIntoFrameTable;
  /** Sum of all contexts that pass through the node. */
  readonly value: number;
  readonly callers: readonly CallerNode[];
}

/**
 * Builds the callers of the frames that name the sites of some contexts, weighted by a value per context. Contexts of
 * value 0 and those without a call path are left out.
 */
export function callerTree(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  values: ArrayLike<number>,
): CallerNode[] {
  const heaviestFirst = contexts
    .filter((context) => values[context]! > 0 && profile.contexts.stack[context] !== NONE)
    .sort((a, b) => values[b]! - values[a]!);
  const stacks = Int32Array.from(heaviestFirst, (context) => siteStackOfContext(profile, context));
  return callersOf(profile, { contexts: Int32Array.from(heaviestFirst), stacks }, values);
}

interface Weighed {
  readonly contexts: ArrayLike<number>;
  readonly stacks: ArrayLike<number>;
}

function callersOf(
  profile: HeapProfile,
  { contexts, stacks }: Weighed,
  values: ArrayLike<number>,
): CallerNode[] {
  const { prefix, frame: frames } = profile.stacks;
  const byKey = new Map<
    number,
    { frame: IndexIntoFrameTable; value: number; contexts: number[]; stacks: number[] }
  >();
  for (let index = 0; index < contexts.length; index++) {
    const caller = prefix[stacks[index]!]!;
    if (caller === NONE || isOutside(profile, caller)) continue;
    const frame = frames[caller]!;
    const key = callerKey(profile, frame);
    let node = byKey.get(key);
    if (node === undefined) {
      node = { frame, value: 0, contexts: [], stacks: [] };
      byKey.set(key, node);
    }
    node.value += values[contexts[index]!]!;
    node.contexts.push(contexts[index]!);
    node.stacks.push(caller);
  }
  return Array.from(byKey.values(), (node) => lazyCaller(profile, node, node, values)).sort(
    (a, b) => b.value - a.value,
  );
}

/**
 * Returns true if no frame from here outwards is the program's own host code. Callers of scripts are not informative.
 */
function isOutside({ frames, stacks }: HeapProfile, stack: number): boolean {
  if (frames.library === undefined || frames.host === undefined) return false;
  for (let at = stack; at !== NONE; at = stacks.prefix[at]!) {
    const frame = stacks.frame[at]!;
    if (frames.host[frame] === undefined || frames.library[frame] === undefined) return false;
  }
  return true;
}

/** Creates a node whose callers are computed on first access, because most nodes are never opened. */
function lazyCaller(
  profile: HeapProfile,
  { frame, value }: Pick<CallerNode, "frame" | "value">,
  weighed: Weighed,
  values: ArrayLike<number>,
): CallerNode {
  let found: CallerNode[] | undefined;
  return {
    frame,
    value,
    get callers() {
      found ??= callersOf(profile, weighed, values);
      return found;
    },
  };
}

function callerKey({ frames, functions }: HeapProfile, frame: IndexIntoFrameTable): number {
  const index = frames.function[frame]!;
  const isKnown = functions.wasmIndex[index] !== NONE || functions.name[index] !== NONE;
  // All unknown functions of a module share one row, but their frames differ.
  return isKnown ? index : -1 - frame;
}
