import { partitionPoint } from "../../../ground/bytes/partition-point.ts";

/** Intervals of addresses in ascending order, with a value each. */
export class SortedIntervals {
  readonly #starts: ArrayLike<number>;
  readonly #ends: ArrayLike<number>;
  readonly #values: ArrayLike<number>;

  constructor(starts: ArrayLike<number>, ends: ArrayLike<number>, values: ArrayLike<number>) {
    this.#starts = starts;
    this.#ends = ends;
    this.#values = values;
  }

  /** Value of the interval with the largest start at or below an address, if it reaches that far; else −1. */
  find(address: number): number {
    const starts = this.#starts;
    const last = partitionPoint(0, starts.length, (index) => starts[index] <= address) - 1;
    return last >= 0 && address < this.#ends[last] ? this.#values[last] : -1;
  }
}
