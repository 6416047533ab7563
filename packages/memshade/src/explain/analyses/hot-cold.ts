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

export interface TypeTotals {
  /** Call paths, blocks and bytes. */
  readonly contexts: number;
  readonly blocks: number;
  readonly bytes: number;
}

/** Contexts of a site that share their innermost frames, and are of one type. */
export interface DecidingSuffix {
  readonly type: AllocationType;
  /**
   * Shortest list of innermost frames, innermost first, that distinguishes these contexts from those of other types.
   */
  readonly frames: readonly IndexIntoFrameTable[];
  readonly totals: TypeTotals;
}

export interface ClassifiedSite {
  readonly frame: IndexIntoFrameTable;
  /**
   * Type of the site. "ambiguous": its contexts have several types, so the compiler must clone functions to distinguish
   * them.
   */
  readonly type: AllocationType | "ambiguous";
  readonly totals: TypeTotals;
  readonly byType: ReadonlyMap<AllocationType, TypeTotals>;
  /** Deciding frames, largest first. One entry without frames to choose from if all contexts are of one type. */
  readonly deciding: readonly DecidingSuffix[];
}

interface Shared {
  readonly frame: IndexIntoFrameTable;
  readonly contexts: readonly IndexIntoContextTable[];
  readonly totals: ReadonlyMap<AllocationType, TypeTotals>;
}

const isOfSystem = ({ knows }: ProfileModule) => knows !== undefined;

const NOTHING: TypeTotals = { contexts: 0, blocks: 0, bytes: 0 };

/**
 * Classifies the allocation calls of a profile by LLVM's rule. If the contexts of a call differ, the deciding callers
 * are found: the shortest innermost part of each call path whose contexts all have one type. Indistinguishable contexts
 * count as not cold, as in the compiler. Most bytes first.
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
  const contextRows = Array.from({ length }, (_, row) => row as IndexIntoContextTable);
  /** Current stack of each context during the walk. */
  const position = Int32Array.from(stack);
  const sites = divide(profile, contextRows, position, typeOf);
  return sites
    .map((site) => classifySite(profile, site, position, typeOf))
    .sort((a, b) => b.totals.bytes - a.totals.bytes);
}

/** Divides contexts by the places of their current frames; contexts without further frames are left out. */
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

/**
 * Returns the innermost stack, from a given one outwards, whose code was compiled with the profile. Native code without
 * lines was not.
 */
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

/** Returns the compiler's key of a frame: function, line and column; without a line, the frame itself. */
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
    // Contexts that end here have no further frames that could distinguish them.
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
