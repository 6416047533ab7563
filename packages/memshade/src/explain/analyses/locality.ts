import { partitionPoint } from "../../ground/bytes/columns.ts";
import { KIB, MIB } from "../../ground/bytes/sizes.ts";

/**
 * Histogram of values (distances, times). Weights may be fractional, or negative for corrections. The caller counts
 * infinite values (references without an earlier one) separately.
 */
export class ValueHistogram {
  readonly #counts = new Map<number, number>();
  #sorted: { values: Float64Array; from: Float64Array; weightedFrom: Float64Array } | undefined;
  total = 0;

  add(value: number, weight = 1): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + weight);
    this.total += weight;
    this.#sorted = undefined;
  }

  /** Returns pairs (value, weight), smallest value first. */
  entries(): [value: number, weight: number][] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }

  atLeast(value: number): number {
    const { values, from } = this.#suffixSums();
    return from[firstAtLeast(values, value)];
  }

  /** Returns the sum of max(0, v − `value`) over all v. */
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

function firstAtLeast(values: Float64Array, value: number): number {
  return partitionPoint(0, values.length, (index) => values[index] < value);
}

/** Returns the bin of a value: 0, 1, then one bin for each [2^i, 2^(i+1)). */
export function binOf(value: number): number {
  return value < 1 ? 0 : Math.floor(Math.log2(value)) + 1;
}

export function binStart(bin: number): number {
  return bin === 0 ? 0 : 2 ** (bin - 1);
}

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
  /** Number of followed values. */
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

/** Data cache of a common machine, for marks on a curve. Sizes are in bytes, per core unless shared. */
interface CommonCache {
  name: string;
  bytes: number;
}

/**
 * Common caches, smallest first. Sizes are typical ones from vendors' data sheets, not those of the profiled machine.
 */
export const COMMON_CACHES: readonly CommonCache[] = [
  { name: "L1 32 KiB (most x86-64, small Arm cores)", bytes: 32 * KIB },
  { name: "L1 48 KiB (Intel since Ice Lake)", bytes: 48 * KIB },
  { name: "L1 128 KiB (Apple performance cores)", bytes: 128 * KIB },
  { name: "L2 256 KiB (older x86-64)", bytes: 256 * KIB },
  { name: "L2 512 KiB (AMD Zen 2, Zen 3; phones)", bytes: 512 * KIB },
  { name: "L2 1 MiB (AMD Zen 4; servers)", bytes: MIB },
  { name: "L2 2 MiB (Intel since Alder Lake)", bytes: 2 * MIB },
  { name: "L3 8 MiB (laptops)", bytes: 8 * MIB },
  { name: "L2 16 MiB (Apple, shared)", bytes: 16 * MIB },
  { name: "L3 32 MiB (desktops)", bytes: 32 * MIB },
  { name: "L3 96 MiB (AMD with stacked cache)", bytes: 96 * MIB },
];

/** Lines of a reference stream over time. Positions count references from 1. */
interface Footprints {
  references: number;
  lines: number;
  /** Differences between the position of a reference and that of the line's previous one. */
  times: ValueHistogram;
  firsts: ValueHistogram;
  /** References from the last one to each line to the end, inclusive. */
  lasts: ValueHistogram;
}

/**
 * Footprint curve: fp(T) is the mean number of distinct lines over all windows of T consecutive references. It is
 * computed from the positions of first and last references and the reuse times (Xiang et al.'s closed form).
 */
export class FootprintCurve {
  readonly #profile: Footprints;

  constructor(profile: Footprints) {
    this.#profile = profile;
  }

  /** Returns the mean number of lines in a window of `window` references, 1 ≤ window ≤ references. */
  at(window: number): number {
    const { references, lines, firsts, lasts, times } = this.#profile;
    const missing = firsts.excessOver(window) + lasts.excessOver(window) + times.excessOver(window);
    return lines - missing / (references - window + 1);
  }
}

/** Miss ratios of fully associative LRU caches of every size: mr(C) = (cold + #{d ≥ C}) / total, C in lines. */
export class MissRatioCurve {
  readonly #distances: ValueHistogram;
  readonly #cold: number;
  readonly #total: number;

  /**
   * @param cold weight of the references without an earlier one
   * @param total weight of all references
   */
  constructor(distances: ValueHistogram, cold: number, total: number) {
    this.#distances = distances;
    this.#cold = cold;
    this.#total = total;
  }

  at(cacheLines: number): number {
    if (this.#total <= 0) return 0;
    const missing = this.#cold + this.#distances.atLeast(cacheLines);
    return Math.min(1, Math.max(0, missing / this.#total));
  }
}

/** Sampled part of a reference stream. */
interface ShardsProfile {
  references: number;
  sampled: number;
  rate: number;
  distances: ValueHistogram;
  cold: number;
}

/**
 * Returns the miss-ratio curve of a sampled stream, adjusted (SHARDS-adj). The difference between the expected and the
 * actual number of sampled references is added to the references of distance 0. Without it, a few hot lines in or out
 * of the sample would shift the whole curve. (Waldspurger et al., Efficient MRC Construction with SHARDS, FAST '15.)
 */
export function shardsCurve({ references, sampled, rate, distances, cold }: ShardsProfile): MissRatioCurve {
  const adjusted = new ValueHistogram();
  for (const [distance, weight] of distances.entries()) adjusted.add(distance, weight);
  const missing = references * rate - sampled;
  adjusted.add(0, missing);
  return new MissRatioCurve(adjusted, cold, sampled + missing);
}
