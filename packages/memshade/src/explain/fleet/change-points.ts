import { addSamples, areEqual, LEAST_T, meanOf, NO_SAMPLES, type Samples, welchT } from "./welch.ts";

/** Builds on each side of a step that count, at most: programs change in between for other reasons too. */
const WINDOW = 20;

/** A step between two builds, one behind the other. */
export interface ChangePoint {
  /** Index of the first build behind the step. */
  readonly at: number;
  /** The builds that were compared: those from `first` on to before `at`, and those from `at` on to before `end`. */
  readonly first: number;
  readonly end: number;
  /** Undefined where all runs of a build are the same: then any difference is one. */
  readonly t: number | undefined;
}

/**
 * Between which builds a measure changed. Where all runs of a build give the same number, every difference counts. Else the mean of up
 * to twenty builds before a step is compared with that of as many behind it, up to the next step.
 *
 * @param builds in the order of their commits
 * @param isRepeatable whether one run of a build says what all say
 */
export function changePoints(builds: readonly Samples[], isRepeatable: boolean): ChangePoint[] {
  if (isRepeatable && builds.every(areEqual))
    return builds.flatMap((build, at) =>
      at > 0 && meanOf(build) !== meanOf(builds[at - 1]!)
        ? [{ at, first: at - 1, end: at + 1, t: undefined }]
        : [],
    );
  return split(builds, 0, builds.length).sort((a, b) => a.at - b.at);
}

function split(builds: readonly Samples[], start: number, end: number): ChangePoint[] {
  let best: (ChangePoint & { readonly t: number }) | undefined;
  for (let at = start + 1; at < end; at++) {
    const first = Math.max(start, at - WINDOW);
    const last = Math.min(end, at + WINDOW);
    const t = welchT(sumOf(builds, first, at), sumOf(builds, at, last));
    if (
      t !== undefined &&
      Math.abs(t) >= Math.max(LEAST_T, Math.abs(best?.t ?? 0)) &&
      Math.abs(t) !== Math.abs(best?.t ?? 0)
    )
      best = { at, first, end: last, t };
  }
  if (best === undefined) return [];
  return [...split(builds, start, best.at), best, ...split(builds, best.at, end)];
}

function sumOf(builds: readonly Samples[], start: number, end: number): Samples {
  return builds.slice(start, end).reduce(addSamples, NO_SAMPLES);
}
