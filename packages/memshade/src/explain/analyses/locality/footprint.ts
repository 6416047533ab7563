import type { ReuseProfile } from "./reuse-profile.ts";

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
}
