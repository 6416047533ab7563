import type { ValueHistogram } from "./histogram.ts";

/**
 * Miss ratios of fully associative LRU caches of every size: mr(C) = (cold + #{d ≥ C}) / total, C in lines.
 */
export class MissRatioCurve {
  readonly #distances: ValueHistogram;
  readonly #cold: number;
  readonly #total: number;

  /** `cold`: weight of the references without an earlier one; `total`: weight of all references. */
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
