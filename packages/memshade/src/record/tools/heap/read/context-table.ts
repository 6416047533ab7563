import { entryOf } from "../../../../ground/bytes/entries.ts";
import { addCollection, type BlockCollection } from "../../../../profile/model/collection.ts";
import {
  addCapacity,
  addGrowth,
  type BlockCapacity,
  type BlockGrowth,
} from "../../../../profile/model/growth.ts";
import { combineMibs, type Mib } from "../../../../profile/model/mib.ts";
import { addDrag, type BlockDrag } from "../../../../profile/model/over-time/drag.ts";
import type { RunReach, RunSite } from "../../../../profile/model/run.ts";
import type { ReachSums } from "./reach/reach-sums.ts";

/** Figures of one calling context that MemProf's block has no field for. */
export interface ContextExtras
  extends Omit<
      RunSite,
      | "stackId"
      | "temporary"
      | "stage"
      | "entries"
      | "growth"
      | "capacity"
      | "keptAfterUse"
      | "collected"
      | keyof RunReach
    >,
    ReachSums {
  temporary: number;
  /** Entries of the innermost site that stands for the host. */
  entries: number;
  growth: BlockGrowth;
  capacity: BlockCapacity;
  drag: BlockDrag;
  collected: BlockCollection;
}

export interface ShadowContext {
  /** Code offsets of the calls, innermost first. Empty for allocations that found no room in the tables. */
  sites: number[];
  /** Ended blocks, and live ones as if they ended now. Undefined if there are none. */
  mib: Mib | undefined;
  /** Stamp of the peak to which `peakBytes` belongs, for contexts that are flushed before the end. */
  peakStamp: number;
  extras: ContextExtras;
}

export interface MergedContext extends ShadowContext {
  module: number;
  mib: Mib;
}

/** Values by call path, in the order of their first setting. */
export class PathMap<Value> {
  readonly #paths: (readonly number[])[] = [];
  readonly #values: Value[] = [];
  /** Newest entry of each hash, and per entry the one before it with the same hash. */
  readonly #newest = new Map<number, number>();
  readonly #before: number[] = [];

  get(path: readonly number[]): Value | undefined {
    const at = this.#find(hashOf(path), path);
    return at < 0 ? undefined : this.#values[at];
  }

  set(path: readonly number[], value: Value): void {
    const hash = hashOf(path);
    const at = this.#find(hash, path);
    if (at >= 0) {
      this.#values[at] = value;
      return;
    }
    const entry = this.#paths.push(path) - 1;
    this.#values.push(value);
    this.#before.push(this.#newest.get(hash) ?? -1);
    this.#newest.set(hash, entry);
  }

  values(): readonly Value[] {
    return this.#values;
  }

  #find(hash: number, path: readonly number[]): number {
    let at = this.#newest.get(hash) ?? -1;
    while (at >= 0 && !isSamePath(this.#paths[at], path)) at = this.#before[at];
    return at;
  }
}

/** Multiplier of the FNV hash. */
const FNV_PRIME = 16_777_619;

function hashOf(path: readonly number[]): number {
  let hash = path.length;
  for (const site of path) hash = Math.imul(hash ^ site, FNV_PRIME) ^ (hash >>> 15);
  return hash;
}

function isSamePath(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((site, depth) => site === other[depth]);
}

export class ContextTable {
  readonly contexts: MergedContext[] = [];
  readonly #indices = new Map<number, PathMap<number>>();
  readonly #modules = new Set<number>();
  /** Number of contexts in `#indices`. */
  #found = 0;

  /** Adds a context, whose objects must not change afterwards. */
  add(module: number, { mib, sites, extras }: ShadowContext): void {
    if (mib === undefined) return;
    const index = this.indexOf(module, sites);
    if (index < 0) {
      this.#push({ module, sites, mib, extras, peakStamp: 0 });
      return;
    }
    const existing = this.contexts[index]!;
    existing.mib = combineMibs(existing.mib, mib);
    existing.extras = addExtras(existing.extras, extras);
  }

  /** Adds contexts with different call paths. They must not change afterwards. */
  addDistinct(module: number, contexts: readonly ShadowContext[]): void {
    if (this.#modules.has(module)) for (const context of contexts) this.add(module, context);
    else
      for (const { sites, mib, extras } of contexts)
        if (mib !== undefined) this.#push({ module, sites, mib, extras, peakStamp: 0 });
  }

  indexOf(module: number, sites: readonly number[]): number {
    for (; this.#found < this.contexts.length; this.#found++) {
      const context = this.contexts[this.#found]!;
      entryOf(this.#indices, context.module, () => new PathMap()).set(context.sites, this.#found);
    }
    return this.#indices.get(module)?.get(sites) ?? -1;
  }

  #push(context: MergedContext): void {
    this.contexts.push(context);
    this.#modules.add(context.module);
  }
}

function addExtras(first: ContextExtras, second: ContextExtras): ContextExtras {
  const { growth, capacity, drag, collected, ...counts } = first;
  for (const field of Object.keys(counts) as (keyof typeof counts)[]) counts[field] += second[field];
  return {
    ...counts,
    growth: addGrowth(growth, second.growth),
    capacity: addCapacity(capacity, second.capacity),
    drag: addDrag(drag, second.drag),
    collected: addCollection(collected, second.collected),
  };
}
