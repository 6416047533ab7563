import type { HeapProfile, ProfileModule } from "../../profile/model/heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoFrameTable,
  type IndexIntoStackTable,
  NONE,
  type None,
} from "../../profile/model/indices.ts";
import {
  type AllocationType,
  classifyAllocation,
  type HotColdThresholds,
  LLVM_THRESHOLDS,
} from "../../profile/model/memprof/hot-cold.ts";

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

/** Contexts that share their innermost frames. */
interface Shared {
  /** The outermost of these frames. */
  readonly frame: IndexIntoFrameTable;
  readonly contexts: readonly IndexIntoContextTable[];
  readonly totals: ReadonlyMap<AllocationType, TypeTotals>;
}

const isOfSystem = ({ knows }: ProfileModule) => knows !== undefined;

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
  const { length, stack, mibs } = profile.contexts;
  const { allocCount, totalLifetime, totalLifetimeAccessDensity } = mibs;
  const typeOf = (context: number) =>
    classifyAllocation(
      allocCount[context]!,
      totalLifetime[context]!,
      totalLifetimeAccessDensity[context]!,
      thresholds,
    );
  const all = Array.from({ length }, (_, row) => row as IndexIntoContextTable);
  /** By context: the stack whose frame was looked at last. */
  const position = Int32Array.from(stack);
  const sites = divide(profile, all, position, typeOf);
  return sites
    .map((site) => classifySite(profile, site, position, typeOf))
    .sort((a, b) => b.totals.bytes - a.totals.bytes);
}

/** Contexts by the places of the frames where they are now; those that have none left are left out. */
function divide(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  position: Int32Array,
  typeOf: (context: number) => AllocationType,
): Shared[] {
  const { allocCount, totalSize } = profile.contexts.mibs;
  const parts = new Map<
    string,
    Shared & { contexts: IndexIntoContextTable[]; totals: Map<AllocationType, TypeTotals> }
  >();
  for (const context of contexts) {
    const stack = compiledFrom(profile, position[context]!);
    position[context] = stack;
    if (stack === NONE) continue;
    const frame = profile.stacks.frame[stack as IndexIntoStackTable]!;
    const place = placeOf(profile, frame);
    let part = parts.get(place);
    if (part === undefined) {
      part = { frame, contexts: [], totals: new Map() };
      parts.set(place, part);
    }
    part.contexts.push(context);
    const type = typeOf(context);
    const added = { contexts: 1, blocks: allocCount[context]!, bytes: Number(totalSize[context]) };
    part.totals.set(type, sum(part.totals.get(type) ?? NOTHING, added));
  }
  return [...parts.values()];
}

/** The innermost frame, from a stack's own on, that a compiler knows: code without lines is not compiled with the profile. */
function compiledFrom({ stacks, frames, functions, modules }: HeapProfile, stack: number): number {
  let from = stack as IndexIntoStackTable | None;
  while (from !== NONE) {
    const frame = stacks.frame[from]!;
    const module = functions.module[frames.function[frame]!]!;
    const isNative = module === NONE ? modules.some(isOfSystem) : isOfSystem(modules[module]!);
    if (!isNative || frames.line[frame] !== 0) break;
    from = stacks.prefix[from]!;
  }
  return from;
}

/** What the compiler tells frames apart by: function, line and column; without a line, the place in the code. */
function placeOf({ frames }: HeapProfile, frame: IndexIntoFrameTable): string {
  const line = frames.line[frame]!;
  return line === 0 ? `#${frame}` : `${frames.function[frame]} ${line} ${frames.column[frame]}`;
}

function classifySite(
  profile: HeapProfile,
  site: Shared,
  position: Int32Array,
  typeOf: (context: number) => AllocationType,
): ClassifiedSite {
  const types = [...site.totals.keys()];
  const deciding = decidingSuffixes(profile, site, position, typeOf);
  return {
    frame: site.frame,
    type: types.length === 1 ? types[0]! : "ambiguous",
    totals: [...site.totals.values()].reduce(sum),
    byType: site.totals,
    deciding: deciding.sort((a, b) => b.totals.bytes - a.totals.bytes),
  };
}

/** Walks towards the callers until all contexts below are of one type. */
function decidingSuffixes(
  profile: HeapProfile,
  site: Shared,
  position: Int32Array,
  typeOf: (context: number) => AllocationType,
): DecidingSuffix[] {
  const deciding: DecidingSuffix[] = [];
  const pending: { shared: Shared; inner: readonly IndexIntoFrameTable[] }[] = [{ shared: site, inner: [] }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { shared } = next;
    const frames = [...next.inner, shared.frame];
    const types = [...shared.totals.keys()];
    if (types.length === 1) {
      deciding.push({ type: types[0]!, frames, totals: shared.totals.get(types[0]!)! });
      continue;
    }
    for (const context of shared.contexts) position[context] = profile.stacks.prefix[position[context]!]!;
    const total = [...shared.totals.values()].reduce(sum);
    const callers = divide(profile, shared.contexts, position, typeOf);
    const above = callers.flatMap(({ totals }) => [...totals.values()]).reduce(sum, NOTHING);
    for (const caller of callers) pending.push({ shared: caller, inner: frames });
    // Contexts that end here have nothing left that could tell them from the others.
    if (above.contexts < total.contexts)
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
  return deciding;
}

function sum(a: TypeTotals, b: TypeTotals): TypeTotals {
  return { contexts: a.contexts + b.contexts, blocks: a.blocks + b.blocks, bytes: a.bytes + b.bytes };
}
