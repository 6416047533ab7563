import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
/**
 * Values (distances, times) with how often each occurred. Weights may be fractions, and negative ones come from
 * corrections. Infinite values (references without an earlier one) are kept apart by whoever counts.
 */
export class ValueHistogram {
  readonly #counts = new Map<number, number>();
  #sorted: { values: Float64Array; from: Float64Array; weightedFrom: Float64Array } | undefined;
  /** Sum of all weights. */
  total = 0;

  add(value: number, weight = 1): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + weight);
    this.total += weight;
    this.#sorted = undefined;
  }

  /** (value, weight), smallest value first. */
  entries(): [value: number, weight: number][] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }

  /** Weight of the values ≥ `value`. */
  atLeast(value: number): number {
    const { values, from } = this.#suffixSums();
    return from[firstAtLeast(values, value)];
  }

  /** Sum of max(0, v − `value`) over all v. */
  excessOver(value: number): number {
    const { values, from, weightedFrom } = this.#suffixSums();
    const at = firstAtLeast(values, value);
    return weightedFrom[at] - value * from[at];
  }

  #suffixSums() {
    if (this.#sorted !== undefined) return this.#sorted;
    const entries = this.entries();
    const values = Float64Array.from(entries, ([value]) => value);
    const from = new Float64Array(entries.length + 1);
    const weightedFrom = new Float64Array(entries.length + 1);
    for (let i = entries.length - 1; i >= 0; i--) {
      from[i] = from[i + 1] + entries[i][1];
      weightedFrom[i] = weightedFrom[i + 1] + entries[i][0] * entries[i][1];
    }
    this.#sorted = { values, from, weightedFrom };
    return this.#sorted;
  }
}

/** Index of the first value ≥ `value` in ascending values. */
function firstAtLeast(values: Float64Array, value: number): number {
  return partitionPoint(0, values.length, (index) => values[index] < value);
}

/** The bin of a value: 0, 1, then one bin for each [2^i, 2^(i+1)). */
export function binOf(value: number): number {
  return value < 1 ? 0 : Math.floor(Math.log2(value)) + 1;
}

/** Smallest value of a bin. */
export function binStart(bin: number): number {
  return bin === 0 ? 0 : 2 ** (bin - 1);
}

/** Weight per bin, up to the last bin that has any. */
export function binned(histogram: ValueHistogram): number[] {
  const bins: number[] = [];
  for (const [value, weight] of histogram.entries()) {
    const bin = binOf(value);
    while (bins.length <= bin) bins.push(0);
    bins[bin] += weight;
  }
  return bins;
}

/** Mean, median (lower one) and standard deviation of the finite values. */
export interface Summary {
  count: number;
  mean: number;
  median: number;
  deviation: number;
}

export function summarize(histogram: ValueHistogram): Summary {
  const entries = histogram.entries();
  const count = histogram.total;
  if (count <= 0) return { count: 0, mean: 0, median: 0, deviation: 0 };
  const mean = entries.reduce((sum, [value, weight]) => sum + value * weight, 0) / count;
  const variance = entries.reduce((sum, [value, weight]) => sum + weight * (value - mean) ** 2, 0) / count;
  let seen = 0;
  let median = 0;
  for (const [value, weight] of entries) {
    seen += weight;
    if (seen * 2 >= count) {
      median = value;
      break;
    }
  }
  return { count, mean, median, deviation: Math.sqrt(Math.max(0, variance)) };
}
