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
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (starts[middle] <= address) low = middle + 1;
      else high = middle;
    }
    return low > 0 && address < this.#ends[low - 1] ? this.#values[low - 1] : -1;
  }
}
