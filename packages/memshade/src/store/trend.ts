import { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import type { FleetMeasure, StepLimit } from "../explain/fleet/measures.ts";
import { partsOfBuilds, totalsByBuild } from "../explain/fleet/statements.ts";
import {
  addSamples,
  type BuildPart,
  type BuildTotals,
  changedParts,
  changePoints,
  type FailedStep,
  failedSteps,
  meanOf,
  NO_SAMPLES,
  type Samples,
  sidesOf,
  type Trend,
  type TrendStep,
} from "../explain/fleet/trend.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { counted } from "../profile/model/counted.ts";
import type { Cell, StoreDatabase } from "./database.ts";
import { namedFrames } from "./frames.ts";
import { onlyProject } from "./projects.ts";

export interface TrendOptions {
  /** Absent: the store's only project. */
  readonly project?: string | undefined;
  readonly measure: FleetMeasure;
  readonly last: number;
  readonly limits: readonly StepLimit[];
  readonly rules?: FrameRules | undefined;
}

/**
 * Returns the changes of a measure from build to build, and the parts of the program that caused them.
 *
 * @throws UserError if there is no data
 */
export async function trendOf(database: StoreDatabase, options: TrendOptions): Promise<Trend> {
  const project = options.project ?? (await onlyProject(database));
  const trend = await followed(database, project, options.measure, options);
  const failed: FailedStep[] = [];
  for (const limit of options.limits) {
    const limitTrend =
      limit.measure === options.measure ? trend : await followed(database, project, limit.measure, options);
    failed.push(...failedSteps(limitTrend, limit));
  }
  return { ...trend, failed };
}

async function followed(
  database: StoreDatabase,
  project: string,
  measure: FleetMeasure,
  { last, rules = new FrameRules() }: TrendOptions,
): Promise<Trend> {
  const { rows } = await database.ask(totalsByBuild(measure, project));
  if (rows.length === 0) throw new UserError(`there are no runs of a project ${project} in this store`);
  const allBuilds = rows.map(buildOf);
  const knownBuilds = allBuilds.filter(({ samples }) => samples.count > 0);
  if (knownBuilds.length === 0)
    throw new UserError(
      `no run of ${project} has ${measure.title}${measure.key === "bytes" ? "" : ": use --by bytes, which all heaps have"}`,
    );
  const builds = knownBuilds.slice(-last);
  const notes: string[] = [];
  if (knownBuilds.length < allBuilds.length)
    notes.push(
      `${counted(allBuilds.length - knownBuilds.length, "build has", "builds have")} no run that knows the ${measure.title}.`,
    );
  if (builds.some(({ isSampled }) => isSampled))
    notes.push("Some callers in JavaScript are estimates: totals are exact, the parts of a step may be off.");
  const isRepeatable = measure.isEstimate !== true && builds.every(({ isOfWallClock }) => !isOfWallClock);
  const points = changePoints(
    builds.map(({ samples }) => samples),
    isRepeatable,
  );
  const isExact = points.every(({ t }) => t === undefined) && isRepeatable;
  const steps: TrendStep[] = [];
  for (const point of points) {
    const sides = sidesOf(builds, point);
    const before = sum(sides.before);
    const now = sum(sides.now);
    const parts =
      measure.ofParts === undefined
        ? []
        : changedParts(
            await partsOf(database, measure, project, sides.before, rules),
            await partsOf(database, measure, project, sides.now, rules),
            { before: before.count, now: now.count },
            point.t === undefined,
          );
    steps.push({ at: point.at, before: meanOf(before), now: meanOf(now), t: point.t, parts });
  }
  return { project, measure, builds, isRepeatable: isExact, steps, failed: [], notes };
}

function buildOf(
  row: readonly Cell[],
): BuildTotals & { readonly isOfWallClock: boolean; readonly isSampled: boolean } {
  const [build, commit, commitTime, added, , runsWithValue, total, squares, wall, sampled] = row;
  return {
    build: build as string,
    commit: (commit as string | null) ?? undefined,
    time: ((commitTime ?? added) as Date).getTime(),
    isCommitKnown: commitTime !== null,
    samples: { count: Number(runsWithValue), sum: Number(total ?? 0), squares: Number(squares ?? 0) },
    isOfWallClock: Number(wall) === 1,
    isSampled: Number(sampled) === 1,
  };
}

function sum(builds: readonly BuildTotals[]): Samples {
  return builds.map(({ samples }) => samples).reduce(addSamples, NO_SAMPLES);
}

async function partsOf(
  database: StoreDatabase,
  measure: FleetMeasure,
  project: string,
  builds: readonly BuildTotals[],
  rules: FrameRules,
): Promise<BuildPart[]> {
  const { rows } = await database.ask(
    partsOfBuilds(
      measure,
      project,
      builds.map(({ build }) => build),
    ),
  );
  const samples = rows.map(([part, total, squares, runs]) => ({
    key: part as bigint,
    samples: { sum: Number(total ?? 0), squares: Number(squares ?? 0), count: Number(runs) },
  }));
  const paths = await framesOf(
    database,
    measure,
    samples.map(({ key }) => key),
  );
  const frames = await namedFrames(database, [...paths.values()].flat(), rules);
  return samples.map(({ key, samples: partSamples }) => ({
    key,
    frames: (paths.get(key) ?? []).map((frame) => frames.get(frame) ?? { name: "unknown" }),
    samples: partSamples,
  }));
}

/** Returns the keys of the frames of parts, innermost first. */
async function framesOf(
  database: StoreDatabase,
  measure: FleetMeasure,
  keys: readonly bigint[],
): Promise<Map<bigint, readonly bigint[]>> {
  if (keys.length === 0) return new Map();
  if (measure.ofParts?.table !== "metrics") return new Map(keys.map((key) => [key, [key]]));
  const { rows } = await database.ask(
    `select c.ctx, c.frames from contexts as c where c.ctx in (${keys.join(", ")})`,
  );
  return new Map(rows.map(([key, frames]) => [key as bigint, frames as readonly bigint[]]));
}
