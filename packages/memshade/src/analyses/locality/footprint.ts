import type { ReuseProfile } from "./reuse.ts";

/**
 * The footprint curve: fp(T) is the mean number of distinct lines over all windows of T consecutive references, from
 * the positions of first and last references and the reuse times alone (Xiang et al.'s closed form).
 */
export class FootprintCurve {
  readonly #profile: ReuseProfile;

  constructor(profile: ReuseProfile) {
    this.#profile = profile;
  }

  /** Mean number of lines in a window of `window` references, 1 ≤ window ≤ references. */
  at(window: number): number {
    const { references, lines, firsts, lasts, times } = this.#profile;
    const missing = firsts.excessOver(window) + lasts.excessOver(window) + times.excessOver(window);
    return lines - missing / (references - window + 1);
  }

  /**
   * The miss ratio of a fully associative LRU cache that holds fp(window) lines, as the curve's slope predicts it;
   * the cache's size in lines is `at(window)`.
   */
  predictedMissRatio(window: number): number {
    return this.at(window + 1) - this.at(window);
  }
}
