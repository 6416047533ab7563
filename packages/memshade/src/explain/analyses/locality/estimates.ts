import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { ReuseProfile } from "./reuse-profile.ts";

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
    const reached = partitionPoint(0, references, (time) => this.#sum(time) < cacheLines);
    if (reached === 0) return this.survival(0);
    const before = this.#sum(reached - 1);
    const part = (cacheLines - before) / (this.#sum(reached) - before);
    const from = this.survival(reached - 1);
    return from + part * (this.survival(reached) - from);
  }

  /** P(0) + … + P(time − 1): each reference counts its reuse time, but `time` at most. */
  #sum(time: number): number {
    const { references, lines, times } = this.#profile;
    return (times.excessOver(0) - times.excessOver(time) + lines * time) / references;
  }
}
