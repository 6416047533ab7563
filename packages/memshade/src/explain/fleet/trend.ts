import { pairRows } from "../diff/pair-rows.ts";
import type { KeyFrame, PathKey } from "../diff/path-keys.ts";
import type { FleetMeasure, StepLimit } from "./measures.ts";

export interface Samples {
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
}

export const NO_SAMPLES: Samples = { count: 0, sum: 0, squares: 0 };

export function addSamples(a: Samples, b: Samples): Samples {
  return { count: a.count + b.count, sum: a.sum + b.sum, squares: a.squares + b.squares };
}

export function meanOf({ count, sum }: Samples): number {
  return count === 0 ? 0 : sum / count;
}

/** Returns the variance of the samples themselves, not of their population: 0 for a single one. */
export function varianceOf({ count, sum, squares }: Samples): number {
  return count === 0 ? 0 : Math.max(0, squares / count - (sum / count) ** 2);
}

/** Relative rounding error of sums of large numbers, below which a difference is no spread. */
const ROUNDING = 1e-9;

function areEqual(samples: Samples): boolean {
  return Math.sqrt(varianceOf(samples)) <= Math.abs(meanOf(samples)) * Math.sqrt(ROUNDING);
}

/** Least number of samples for an estimate of their spread. */
const LEAST_SAMPLES = 3;
/** Least t of a change. By chance, one in some 100,000 has so large a t with ten samples a side. */
const LEAST_T = 5;

/**
 * Returns by how many standard errors the mean of `now` is above that of `before` (Welch's t, for samples with
 * different spreads); undefined for fewer than three samples a side.
 *
 * For example: ten runs with 100 ± 10, ten with 125 ± 10: 25 / √(100 / 9 + 100 / 9) = 5.3
 */
export function welchT(before: Samples, now: Samples): number | undefined {
  if (before.count < LEAST_SAMPLES || now.count < LEAST_SAMPLES) return undefined;
  const difference = meanOf(now) - meanOf(before);
  const error = Math.sqrt(varianceOf(before) / (before.count - 1) + varianceOf(now) / (now.count - 1));
  if (error <= Math.abs(meanOf(before)) * ROUNDING)
    return difference === 0 ? 0 : Math.sign(difference) * Infinity;
  return difference / error;
}

/** Most builds on each side of a step that are compared, because programs also change for other reasons over time. */
const WINDOW = 20;

interface ChangePoint {
  readonly at: number;
  /** Compared builds: from `first` to before `at`, and from `at` to before `end`. */
  readonly first: number;
  readonly end: number;
  /** Undefined if all runs of a build are equal, so that any difference is a change. */
  readonly t: number | undefined;
}

/**
 * Finds the builds between which a measure changed. If all runs of a build have the same number, every difference
 * counts. Otherwise the mean of up to twenty builds before a step is compared with that of as many builds after it, up
 * to the next step.
 *
 * @param builds in the order of their commits
 * @param isRepeatable true if one run of a build represents all of them
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

export interface BuildTotals {
  readonly build: string;
  readonly commit: string | undefined;
  /** Milliseconds since 1970 of the commit, else of the first run's addition. */
  readonly time: number;
  readonly isCommitKnown: boolean;
  readonly samples: Samples;
}

export interface PartFrame extends KeyFrame {
  readonly library?: string | undefined;
  readonly inlined?: boolean | undefined;
}

/** Amounts of a context, or a place, in the runs of some builds. Runs without it count as 0. */
export interface BuildPart {
  readonly key: bigint;
  readonly frames: readonly PartFrame[];
  readonly samples: Samples;
}

export interface PartChange {
  readonly frames: readonly PartFrame[];
  readonly before: number;
  readonly now: number;
  readonly t: number | undefined;
  /** Method of pairing: the same path, or functions whose lines have moved. */
  readonly matched: "exactly" | "by function" | "only here";
}

export interface TrendStep {
  readonly at: number;
  readonly before: number;
  readonly now: number;
  readonly t: number | undefined;
  readonly parts: readonly PartChange[];
}

export interface FailedStep {
  readonly limit: StepLimit;
  readonly build: string;
  readonly growth: number;
}

export interface Trend {
  readonly project: string;
  readonly measure: FleetMeasure;
  readonly builds: readonly BuildTotals[];
  /** True if one run of a build represents all of them. */
  readonly isRepeatable: boolean;
  readonly steps: readonly TrendStep[];
  readonly failed: readonly FailedStep[];
  readonly notes: readonly string[];
}

/** Returns the parts of a step that changed by more than noise, in either direction, the largest first. */
export function changedParts(
  before: readonly BuildPart[],
  now: readonly BuildPart[],
  runs: { readonly before: number; readonly now: number },
  isRepeatable: boolean,
): PartChange[] {
  const keys = (parts: readonly BuildPart[]) =>
    parts.map(({ frames }): PathKey => ({ frames, withPlaces: true }));
  const changes: PartChange[] = [];
  for (const { old, new: newer } of pairs(before, now, keys)) {
    const a = old === undefined ? undefined : before[old]!;
    const b = newer === undefined ? undefined : now[newer]!;
    const was = { ...(a?.samples ?? { sum: 0, squares: 0 }), count: runs.before };
    const is = { ...(b?.samples ?? { sum: 0, squares: 0 }), count: runs.now };
    const t = isRepeatable ? undefined : (welchT(was, is) ?? 0);
    if (meanOf(was) === meanOf(is) || (t !== undefined && Math.abs(t) < LEAST_T)) continue;
    changes.push({
      frames: (b ?? a)!.frames,
      before: meanOf(was),
      now: meanOf(is),
      t,
      matched: a === undefined || b === undefined ? "only here" : a.key === b.key ? "exactly" : "by function",
    });
  }
  return changes.sort((a, b) => Math.abs(b.now - b.before) - Math.abs(a.now - a.before));
}

/** Pairs parts: first by equal keys, then the rest by functions and the order of lines. */
function pairs(
  before: readonly BuildPart[],
  now: readonly BuildPart[],
  keysOf: (parts: readonly BuildPart[]) => PathKey[],
): { old: number | undefined; new: number | undefined }[] {
  const newer = new Map(now.map(({ key }, index) => [key, index]));
  const found: { old: number | undefined; new: number | undefined }[] = [];
  const unmatched: number[] = [];
  for (const [old, { key }] of before.entries()) {
    const same = newer.get(key);
    if (same === undefined) unmatched.push(old);
    else found.push({ old, new: same });
    newer.delete(key);
  }
  const more = [...newer.values()];
  for (const { old, new: now_ } of pairRows(
    [keysOf(unmatched.map((index) => before[index]!))],
    [keysOf(more.map((index) => now[index]!))],
  )) {
    const [a] = old;
    const [b] = now_;
    found.push({
      old: a === undefined ? undefined : unmatched[a],
      new: b === undefined ? undefined : more[b],
    });
  }
  return found;
}

export function failedSteps({ steps, builds }: Trend, limit: StepLimit): FailedStep[] {
  const { amount, isPercent } = limit;
  return steps.flatMap(({ at, before, now }) => {
    const growth = now - before;
    const most = isPercent ? (before * amount) / 100 : amount;
    return growth > 0 && growth > most ? [{ limit, build: builds[at]!.build, growth }] : [];
  });
}

/** Returns the compared builds of a step: those before it, and those from it on. */
export function sidesOf(
  builds: readonly BuildTotals[],
  { at, first, end }: ChangePoint,
): { readonly before: readonly BuildTotals[]; readonly now: readonly BuildTotals[] } {
  return { before: builds.slice(first, at), now: builds.slice(at, end) };
}

/** Returns the UTC day of a time in milliseconds since 1970: 2026-11-24. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
