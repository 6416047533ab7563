import type { FindingDiff } from "../../../explain/diff/finding-diff.ts";
import { groupAt, type HeapDiff, type HeapSide } from "../../../explain/diff/heap-diff.ts";
import { gapsOf } from "../../../explain/measures/gaps.ts";
import { diffRowsJson } from "./diff-rows.ts";
import { findingDiffJson } from "./findings.ts";
import { createSiteWriter } from "./sites.ts";
import { jsonText } from "./text.ts";

export const DIFF_SCHEMA = "memshade-diff";
export const DIFF_VERSION = 2;

/** The runs of both sides. */
export interface DiffInputs {
  readonly old: readonly string[];
  readonly new: readonly string[];
}

export interface DiffJsonOptions {
  /** As they were named. */
  readonly inputs: DiffInputs;
  /** Id of the measure that rows are ranked by. */
  readonly by: string;
  readonly rows: number;
  readonly findings?: FindingDiff | undefined;
  /** Sentences: what cannot be compared. */
  readonly gaps: readonly string[];
}

/** The runs as they were named; of a side with several, all of them behind. */
export function inputsJson({ old, new: now }: DiffInputs) {
  const areSeveral = old.length > 1 || now.length > 1;
  return {
    old: old.join(","),
    new: now.join(","),
    runs: areSeveral ? { old, new: now } : undefined,
  };
}

/**
 * A comparison as JSON (docs/report-json.md).
 *
 * @returns undefined where one of the profiles does not know the measure
 */
export function diffJson(
  diff: HeapDiff,
  { inputs, by, rows, findings, gaps }: DiffJsonOptions,
): string | undefined {
  const change = diff.changes.find(({ measure }) => measure.id === by);
  if (change === undefined) return undefined;
  const { unit } = change.measure;
  const { old, new: now } = diff.sides;
  const writers = new Map(
    [...old.runs, ...now.runs].map((run) => [run, createSiteWriter(run.profile, run.groups)]),
  );
  const [older, newer] = [old.runs[0]!.profile.description, now.runs[0]!.profile.description];
  const gapsIn = ({ runs }: HeapSide) => [...new Set(runs.flatMap(({ profile }) => gapsOf(profile)))];
  return jsonText({
    schema: DIFF_SCHEMA,
    version: DIFF_VERSION,
    ...inputsJson(inputs),
    by,
    unit: unit === "clock" ? newer.clock.unit : unit,
    group: diff.by,
    clock: { old: older.clock, new: newer.clock },
    notTracked: { old: [...gapsIn(old), ...gaps], new: [...gapsIn(now), ...gaps] },
    ...diffRowsJson({
      pairs: diff.pairs,
      changes: diff.changes,
      by: change,
      most: rows,
      describe: (side, number) => {
        const { run, group } = groupAt(diff.sides[side], number);
        return writers.get(run)!(group);
      },
    }),
    findings: findings && findingDiffJson(findings),
  });
}

/** What several tools recorded of two runs, as one document: docs/report-json.md. */
export function runDiffJson(
  inputs: DiffInputs,
  findings: FindingDiff,
  tools: Readonly<Record<string, unknown>>,
): string {
  return jsonText({
    schema: "memshade-run-diff",
    version: 1,
    ...inputsJson(inputs),
    findings: findingDiffJson(findings),
    tools,
  });
}
