import type { CounterPlace } from "../event-table.ts";
import { allocates, fixedLength } from "../instructions.ts";
import type { SizeModel } from "../size-model.ts";
import type { KnownObjects } from "./module-objects.ts";

/** The counters of an instance at some moment. */
export interface Counts {
  readonly table: Float64Array;
  /** Those in frames, by the address of the frame. */
  readonly frames: ReadonlyMap<number, FrameCounts>;
}

/** The counters of a function in one context. */
export interface FrameCounts {
  /** Number of the function among the defined ones. */
  readonly defined: number;
  /** In the calling context tree of the instance. */
  readonly node: number;
  readonly counts: Float64Array;
}

/** What was counted since `before`. */
export function countsSince(now: Counts, before: Counts | undefined): Counts {
  if (before === undefined) return now;
  const difference = (a: Float64Array, b: Float64Array | undefined) =>
    b === undefined ? a : a.map((value, index) => value - b[index]);
  return {
    table: difference(now.table, before.table),
    frames: new Map(
      [...now.frames].map(([address, frame]) => [
        address,
        { ...frame, counts: difference(frame.counts, before.frames.get(address)?.counts) },
      ]),
    ),
  };
}

/** Counters of instances of a module, those of a function in all of its contexts added up. */
export class CounterSums {
  readonly #table: Float64Array;
  readonly #framed = new Map<number, Float64Array>();

  constructor(all: readonly Counts[]) {
    this.#table = new Float64Array(all[0]?.table.length ?? 0);
    for (const { table, frames } of all) {
      addTo(this.#table, table);
      for (const { defined, counts } of frames.values()) {
        const sums = this.#framed.get(defined);
        if (sums === undefined) this.#framed.set(defined, counts.slice());
        else addTo(sums, counts);
      }
    }
  }

  /** `defined`: the function that the counter is one of. */
  readonly counter = (place: CounterPlace, defined: number): number =>
    counterIn(place, this.#table, this.#framed.get(defined));

  /** All bytes, what constant expressions made left out. */
  allocatedBytes({ events, module }: KnownObjects, model: SizeModel): number {
    let bytes = 0;
    for (const { op, first, second, defined, counter, elements } of events) {
      if (!allocates(op)) continue;
      const type = module.types[first];
      const times = this.counter(counter, defined);
      const length = elements === 0 ? times * fixedLength(op, second) : this.counter(elements, defined);
      bytes += times * model.fixedBytes(type) + length * model.elementBytes(type);
    }
    return bytes;
  }
}

/** A counter by its place, in the table or in the counts of a frame. */
export function counterIn(
  place: CounterPlace,
  table: Float64Array | undefined,
  frame: Float64Array | undefined,
): number {
  return ((place & 1) === 0 ? table : frame)?.[place >>> 1] ?? 0;
}

function addTo(sums: Float64Array, values: Float64Array): void {
  for (let i = 0; i < values.length; i++) sums[i] += values[i];
}
