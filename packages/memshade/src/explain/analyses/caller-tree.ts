import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "../../profile/model/indices.ts";
import { siteStackOfContext } from "../../profile/model/site-frame.ts";

/**
 * Who called, seen from a site: a node's callers call the node's function. Two calls in one function
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
 * The callers of the frames that name the sites of some contexts, weighted by a value per context. Contexts of value 0
 * and those without a call path are left out.
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

/** Contexts, heaviest first, and for each the stack that has come to be looked at. */
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
    let known = byKey.get(key);
    if (known === undefined) {
      known = { frame, value: 0, contexts: [], stacks: [] };
      byKey.set(key, known);
    }
    known.value += values[contexts[index]!]!;
    known.contexts.push(contexts[index]!);
    known.stacks.push(caller);
  }
  return Array.from(byKey.values(), (known) => lazyCaller(profile, known, known, values)).sort(
    (a, b) => b.value - a.value,
  );
}

/** Whether none of the program's own code is in the host from here on outwards: what calls scripts tells nobody anything. */
function isOutside({ frames, stacks }: HeapProfile, stack: number): boolean {
  if (frames.library === undefined || frames.host === undefined) return false;
  for (let at = stack; at !== NONE; at = stacks.prefix[at]!) {
    const frame = stacks.frame[at]!;
    if (frames.host[frame] === undefined || frames.library[frame] === undefined) return false;
  }
  return true;
}

/** A node whose callers are found when somebody asks: of most nodes nobody does. */
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
  // All unknown functions of a module share one row; their frames still differ.
  return isKnown ? index : -1 - frame;
}
