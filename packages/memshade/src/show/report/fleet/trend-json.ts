import type { Trend } from "../../../explain/fleet/trend.ts";
import { meanOf, varianceOf } from "../../../explain/fleet/welch.ts";
import { jsonText } from "../json/text.ts";

const TREND_SCHEMA = "memshade-trend";
const TREND_VERSION = 1;

/** A trend as JSON (docs/report-json.md). */
export function trendJson({ project, measure, builds, steps, failed, notes, isRepeatable }: Trend): string {
  return jsonText({
    schema: TREND_SCHEMA,
    version: TREND_VERSION,
    project,
    measure: measure.key,
    unit: measure.unit,
    repeatable: isRepeatable,
    builds: builds.map(({ build, commit, time, isCommitKnown, samples }) => ({
      build,
      commit: commit ?? null,
      time: new Date(time).toISOString(),
      orderedBy: isCommitKnown ? "commit" : "added",
      runs: samples.count,
      mean: meanOf(samples),
      deviation: Math.sqrt(varianceOf(samples)),
    })),
    steps: steps.map(({ at, before, now, t, parts }) => ({
      build: builds[at]!.build,
      before,
      now,
      t: finite(t),
      exact: t === undefined,
      parts: parts.map(({ frames, matched, ...part }) => ({
        before: part.before,
        now: part.now,
        t: finite(part.t),
        matched,
        frames: frames.map(({ name, file, line, library }) => ({
          function: name,
          file: file ?? null,
          line: line === undefined || line === 0 ? null : line,
          library: library ?? null,
        })),
      })),
    })),
    failed: failed.map(({ limit, build, growth }) => ({ limit: limit.text, build, growth })),
    notTracked: notes,
  });
}

function finite(t: number | undefined): number | null {
  return t === undefined || !Number.isFinite(t) ? null : t;
}
