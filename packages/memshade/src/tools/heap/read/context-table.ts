import { addCapacity, addGrowth } from "../../../model/growth.ts";
import { combineMibs, type Mib } from "../../../model/mib.ts";
import { addDrag } from "../../../model/over-time/drag.ts";
import type { ContextExtras, ShadowContext } from "./read-shadow.ts";

/** One calling context of the whole run. */
export interface MergedContext {
  module: number;
  sites: number[];
  mib: Mib;
  extras: ContextExtras;
}

/** Contexts of all instances, found by module and call path, in the order in which they came. */
export class ContextTable {
  readonly #byKey = new Map<string, MergedContext>();
  /** Made when it is asked for; contexts are only added. */
  #indices = new Map<string, number>();

  add(module: number, context: ShadowContext): void {
    const { mib } = context;
    if (mib === undefined) return;
    const key = `${module}:${context.sites.join()}`;
    const known = this.#byKey.get(key);
    if (known === undefined) {
      this.#byKey.set(key, { module, sites: context.sites, mib, extras: { ...context.extras } });
      return;
    }
    known.mib = combineMibs(known.mib, mib);
    known.extras = addExtras(known.extras, context.extras);
  }

  /** A table that changes on its own from here on. */
  copy(): ContextTable {
    const copy = new ContextTable();
    for (const [key, context] of this.#byKey)
      copy.#byKey.set(key, { ...context, extras: { ...context.extras } });
    return copy;
  }

  /** Which of the contexts it is; −1: none. */
  indexOf(module: number, sites: readonly number[]): number {
    if (this.#indices.size !== this.#byKey.size)
      this.#indices = new Map([...this.#byKey.keys()].map((key, index) => [key, index]));
    return this.#indices.get(`${module}:${sites.join()}`) ?? -1;
  }

  get contexts(): MergedContext[] {
    return [...this.#byKey.values()];
  }
}

function addExtras(one: ContextExtras, other: ContextExtras): ContextExtras {
  const { growth, capacity, drag, ...counts } = one;
  for (const field of Object.keys(counts) as (keyof typeof counts)[]) counts[field] += other[field];
  return {
    ...counts,
    growth: addGrowth(growth, other.growth),
    capacity: addCapacity(capacity, other.capacity),
    drag: addDrag(drag, other.drag),
  };
}
