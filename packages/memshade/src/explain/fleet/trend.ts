import { pairRows } from "../diff/pair-rows.ts";
import type { KeyFrame, PathKey } from "../diff/path-keys.ts";
import type { ChangePoint } from "./change-points.ts";
import type { FleetMeasure, StepLimit } from "./measures.ts";
import { LEAST_T, meanOf, type Samples, welchT } from "./welch.ts";

/** One build of a project, with all its runs. */
export interface BuildTotals {
  readonly build: string;
  readonly commit: string | undefined;
  /** Milliseconds since 1970: of the commit, else of when the first run was added. */
  readonly time: number;
  readonly isCommitKnown: boolean;
  readonly samples: Samples;
}

/** A frame of a part of a run. */
export interface PartFrame extends KeyFrame {
  /** What library it is of, in words. */
  readonly library?: string | undefined;
  readonly inlined?: boolean | undefined;
}

/** What a context, or a place, had in the runs of some builds. Runs that do not have it have 0 there. */
export interface BuildPart {
  readonly key: bigint;
  /** Innermost first. */
  readonly frames: readonly PartFrame[];
  readonly samples: Samples;
}

export interface PartChange {
  readonly frames: readonly PartFrame[];
  readonly before: number;
  readonly now: number;
  readonly t: number | undefined;
  /** How the two were found to be one: by the same path, or by functions whose lines have moved. */
  readonly matched: "exactly" | "by function" | "only here";
}

/** A change of the whole, and of the parts that made it. */
export interface TrendStep {
  readonly at: number;
  readonly before: number;
  readonly now: number;
  readonly t: number | undefined;
  /** The largest first. */
  readonly parts: readonly PartChange[];
}

/** A step that grew by more than a limit allows, of the limit's measure. */
export interface FailedStep {
  readonly limit: StepLimit;
  readonly build: string;
  readonly growth: number;
}

export interface Trend {
  readonly project: string;
  readonly measure: FleetMeasure;
  readonly builds: readonly BuildTotals[];
  /** Whether one run of a build stands for all. */
  readonly isRepeatable: boolean;
  readonly steps: readonly TrendStep[];
  readonly failed: readonly FailedStep[];
  /** Sentences: what the answer does not cover. */
  readonly notes: readonly string[];
}

/** The parts of a step: those that changed by more than noise, both ways, the largest first. */
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

/** Equal keys are one part; what is left over on both sides is compared by functions and the order of lines. */
function pairs(
  before: readonly BuildPart[],
  now: readonly BuildPart[],
  keysOf: (parts: readonly BuildPart[]) => PathKey[],
): { old: number | undefined; new: number | undefined }[] {
  const newer = new Map(now.map(({ key }, index) => [key, index]));
  const found: { old: number | undefined; new: number | undefined }[] = [];
  const left: number[] = [];
  for (const [old, { key }] of before.entries()) {
    const same = newer.get(key);
    if (same === undefined) left.push(old);
    else found.push({ old, new: same });
    newer.delete(key);
  }
  const more = [...newer.values()];
  for (const { old, new: now_ } of pairRows(
    [keysOf(left.map((index) => before[index]!))],
    [keysOf(more.map((index) => now[index]!))],
  )) {
    const [a] = old;
    const [b] = now_;
    found.push({ old: a === undefined ? undefined : left[a], new: b === undefined ? undefined : more[b] });
  }
  return found;
}

/** The steps that grow by more than a limit allows. */
export function failedSteps({ steps, builds }: Trend, limit: StepLimit): FailedStep[] {
  const { amount, isPercent } = limit;
  return steps.flatMap(({ at, before, now }) => {
    const growth = now - before;
    const most = isPercent ? (before * amount) / 100 : amount;
    return growth > 0 && growth > most ? [{ limit, build: builds[at]!.build, growth }] : [];
  });
}

/** What a step compares: the builds in front of it, and those from it on. */
export function sidesOf(
  builds: readonly BuildTotals[],
  { at, first, end }: ChangePoint,
): { readonly before: readonly BuildTotals[]; readonly now: readonly BuildTotals[] } {
  return { before: builds.slice(first, at), now: builds.slice(at, end) };
}
