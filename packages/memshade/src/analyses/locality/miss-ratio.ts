import type { ValueHistogram } from "./histogram.ts";
import type { ReuseProfile } from "./reuse.ts";

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

  static of(profile: ReuseProfile): MissRatioCurve {
    return new MissRatioCurve(profile.distances, profile.lines, profile.references);
  }

  at(cacheLines: number): number {
    if (this.#total <= 0) return 0;
    const missing = this.#cold + this.#distances.atLeast(cacheLines);
    return Math.min(1, Math.max(0, missing / this.#total));
  }
}

/** Mean absolute difference of two curves over the given cache sizes, in lines. */
export function meanAbsoluteError(
  one: { at(cacheLines: number): number },
  other: { at(cacheLines: number): number },
  sizes: readonly number[],
): number {
  return sizes.reduce((sum, size) => sum + Math.abs(one.at(size) - other.at(size)), 0) / sizes.length;
}

/** Cache sizes from 1 line to at least `lines`, `perDoubling` steps for each factor of two. */
export function cacheSizesUpTo(lines: number, perDoubling = 4): number[] {
  const sizes: number[] = [];
  const last = Math.ceil(Math.log2(Math.max(1, lines)) * perDoubling);
  for (let step = 0; step <= last; step++) {
    const size = Math.round(2 ** (step / perDoubling));
    if (size !== sizes.at(-1)) sizes.push(size);
  }
  return sizes;
}
