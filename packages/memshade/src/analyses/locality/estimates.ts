import type { ReuseProfile } from "./reuse.ts";

/** Estimates from reuse times alone, for when distances were not measured. */
export class ReuseTimeModel {
  readonly #profile: ReuseProfile;

  constructor(profile: ReuseProfile) {
    this.#profile = profile;
  }

  /** P(time): part of all references whose line is referenced again later than `time` references on, or never. */
  survival(time: number): number {
    const { references, lines, times } = this.#profile;
    return (times.atLeast(time + 1) + lines) / references;
  }

  /** StatStack: expected stack distance of a reuse of the given time, P(1) + … + P(time − 1). */
  expectedDistance(time: number): number {
    return time < 1 ? 0 : this.#sum(time) - this.survival(0);
  }

  /** AET: the miss ratio of an LRU cache of `cacheLines` lines, interpolated inside a step of the clock. */
  missRatio(cacheLines: number): number {
    const { references, lines } = this.#profile;
    if (references === 0) return 0;
    if (cacheLines > this.#sum(references)) return lines / references;
    let low = 0;
    let high = references;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#sum(middle) >= cacheLines) high = middle;
      else low = middle + 1;
    }
    if (low === 0) return this.survival(0);
    const before = this.#sum(low - 1);
    const part = (cacheLines - before) / (this.#sum(low) - before);
    const from = this.survival(low - 1);
    return from + part * (this.survival(low) - from);
  }

  /** P(0) + … + P(time − 1): each reference counts its reuse time, but `time` at most. */
  #sum(time: number): number {
    const { references, lines, times } = this.#profile;
    return (times.excessOver(0) - times.excessOver(time) + lines * time) / references;
  }
}
