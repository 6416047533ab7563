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

export interface MergedContext {
  module: number;
  sites: number[];
  mib: Mib;
  extras: ContextExtras;
}

const keys = new WeakMap<readonly number[], string>();

/** Returns a call path as text. The path must not change afterwards, because the text is cached. */
export function pathKey(sites: readonly number[]): string {
  return entryOf(keys, sites, () => sites.join());
}

export class ContextTable {
  readonly contexts: MergedContext[] = [];
  readonly #indices = new Map<number, Map<string, number>>();

  add(module: number, context: ShadowContext): void {
    const { mib, sites, extras } = context;
    if (mib === undefined) return;
    const index = this.indexOf(module, sites);
    if (index < 0) {
      this.#push({ module, sites, mib, extras: { ...extras } });
      return;
    }
    const existing = this.contexts[index]!;
    existing.mib = combineMibs(existing.mib, mib);
    existing.extras = addExtras(existing.extras, extras);
  }

  copy(): ContextTable {
    const copy = new ContextTable();
    for (const context of this.contexts) copy.#push({ ...context, extras: { ...context.extras } });
    return copy;
  }

  indexOf(module: number, sites: readonly number[]): number {
    return this.#indices.get(module)?.get(pathKey(sites)) ?? -1;
  }

  #push(context: MergedContext): void {
    const { module, sites } = context;
    const index = this.contexts.push(context) - 1;
    const ofModule = this.#indices.get(module);
    if (ofModule === undefined) this.#indices.set(module, new Map([[pathKey(sites), index]]));
    else ofModule.set(pathKey(sites), index);
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
