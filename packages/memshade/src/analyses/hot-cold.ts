import type { HeapProfile } from "../model/heap-profile.ts";
import type { IndexIntoContextTable, IndexIntoFrameTable } from "../model/indices.ts";
import {
  type AllocationType,
  classifyAllocation,
  type HotColdThresholds,
  LLVM_THRESHOLDS,
} from "../model/memprof/hot-cold.ts";
import { framesOfContext } from "../model/stacks.ts";

/** How often and how much one kind of context allocated. */
export interface TypeTotals {
  readonly contexts: number;
  readonly blocks: number;
  readonly bytes: number;
}

/** Contexts of a site that share their innermost frames, and are of one type. */
export interface DecidingSuffix {
  readonly type: AllocationType;
  /** Innermost first: the fewest frames that tell these contexts from those of other types. */
  readonly frames: readonly IndexIntoFrameTable[];
  readonly totals: TypeTotals;
}

/** What the compiler would make of one allocation call. */
export interface ClassifiedSite {
  readonly frame: IndexIntoFrameTable;
  /** "ambiguous": its contexts are of several types, so that functions have to be cloned to tell them apart. */
  readonly type: AllocationType | "ambiguous";
  readonly totals: TypeTotals;
  readonly byType: ReadonlyMap<AllocationType, TypeTotals>;
  /** What decides; one entry without a choice if all contexts are of one type. Largest first. */
  readonly deciding: readonly DecidingSuffix[];
}

interface Node {
  readonly frame: IndexIntoFrameTable;
  readonly callers: Map<string, Node>;
  readonly totals: Map<AllocationType, TypeTotals>;
}

const NOTHING: TypeTotals = { contexts: 0, blocks: 0, bytes: 0 };

/**
 * Classifies the allocation calls of a profile by LLVM's rule and finds, for those whose contexts differ, which
 * callers decide: the shortest part of each call path, from the allocation on, below which all contexts are of one
 * type. Contexts that cannot be told apart at all count as not cold, as in the compiler. Most bytes first.
 */
export function classifySites(
  profile: HeapProfile,
  thresholds: HotColdThresholds = LLVM_THRESHOLDS,
): ClassifiedSite[] {
  const sites = new Map<string, Node>();
  for (let row = 0; row < profile.contexts.length; row++) {
    const context = row as IndexIntoContextTable;
    const frames = framesOfContext(profile, context);
    if (frames.length === 0) continue;
    const { allocCount, totalSize, totalLifetime, totalLifetimeAccessDensity } = profile.contexts.mibs;
    const type = classifyAllocation(
      allocCount[row]!,
      totalLifetime[row]!,
      totalLifetimeAccessDensity[row]!,
      thresholds,
    );
    const added = { contexts: 1, blocks: allocCount[row]!, bytes: Number(totalSize[row]) };
    let level = sites;
    for (const frame of frames) {
      const node = nodeOf(level, placeOf(profile, frame), frame);
      node.totals.set(type, sum(node.totals.get(type) ?? NOTHING, added));
      level = node.callers;
    }
  }
  return [...sites.values()].map(classifySite).sort((a, b) => b.totals.bytes - a.totals.bytes);
}

function nodeOf(level: Map<string, Node>, key: string, frame: IndexIntoFrameTable): Node {
  let node = level.get(key);
  if (node === undefined) {
    node = { frame, callers: new Map(), totals: new Map() };
    level.set(key, node);
  }
  return node;
}

/** What the compiler tells frames apart by: function, line and column; without a line, the place in the code. */
function placeOf({ frames }: HeapProfile, frame: IndexIntoFrameTable): string {
  const line = frames.line[frame]!;
  return line === 0 ? `#${frame}` : `${frames.function[frame]} ${line} ${frames.column[frame]}`;
}

function classifySite(site: Node): ClassifiedSite {
  const types = [...site.totals.keys()];
  return {
    frame: site.frame,
    type: types.length === 1 ? types[0]! : "ambiguous",
    totals: [...site.totals.values()].reduce(sum),
    byType: site.totals,
    deciding: decidingSuffixes(site).sort((a, b) => b.totals.bytes - a.totals.bytes),
  };
}

/** Walks towards the callers until all contexts below are of one type. */
function decidingSuffixes(site: Node): DecidingSuffix[] {
  const deciding: DecidingSuffix[] = [];
  const pending: { node: Node; inner: readonly IndexIntoFrameTable[] }[] = [{ node: site, inner: [] }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node } = next;
    const frames = [...next.inner, node.frame];
    const types = [...node.totals.keys()];
    if (types.length === 1) {
      deciding.push({ type: types[0]!, frames, totals: node.totals.get(types[0]!)! });
      continue;
    }
    const total = [...node.totals.values()].reduce(sum);
    const callers = [...node.callers.values()];
    const above = callers.flatMap(({ totals }) => [...totals.values()]).reduce(sum, NOTHING);
    for (const caller of callers) pending.push({ node: caller, inner: frames });
    // Contexts that end here have nothing left that could tell them from the others.
    if (above.contexts < total.contexts) {
      deciding.push({
        type: "notcold",
        frames,
        totals: {
          contexts: total.contexts - above.contexts,
          blocks: total.blocks - above.blocks,
          bytes: total.bytes - above.bytes,
        },
      });
    }
  }
  return deciding;
}

function sum(a: TypeTotals, b: TypeTotals): TypeTotals {
  return { contexts: a.contexts + b.contexts, blocks: a.blocks + b.blocks, bytes: a.bytes + b.bytes };
}
