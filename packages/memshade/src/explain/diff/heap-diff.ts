import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { ContextGroups, GroupBy } from "../analyses/groups.ts";
import { measuresOfTool } from "../measures/index.ts";
import type { Measure } from "../measures/measure.ts";
import { amountsOf, wholeOf } from "../measures/ranking.ts";
import { type Change, changeOf, type RunValues } from "./changes.ts";
import { keyedGroups } from "./heap-groups.ts";
import { pairRows } from "./pair-rows.ts";
import type { RenamedFunctions } from "./renamed-functions.ts";

/** Change of a measure in both profiles. Totals are of the whole profile: a sum, or a mean over all blocks. */
export type MeasureChange = Change<Measure>;

/** Equal groups of the older and the newer side, by the numbers of {@link HeapSide}; undefined if a side has none. */
export interface GroupPair {
  readonly old: number | undefined;
  readonly new: number | undefined;
}

/**
 * Runs of a side. Group numbers continue from one run to the next: the groups of the first run have their own numbers.
 */
export interface HeapSide {
  readonly runs: readonly { readonly profile: HeapProfile; readonly groups: ContextGroups }[];
}

export interface HeapDiff {
  readonly by: GroupBy;
  readonly sides: { readonly old: HeapSide; readonly new: HeapSide };
  readonly old: ContextGroups;
  readonly new: ContextGroups;
  /** Distinct groups of both sides; on a side with several runs, the group of the first run that has it. */
  readonly pairs: readonly GroupPair[];
  /** Changes of the measures that all profiles have. */
  readonly changes: readonly MeasureChange[];
}

/** Compares two profiles, or the medians of several, group by group. */
export function diffHeaps(
  older: HeapProfile | readonly HeapProfile[],
  newer: HeapProfile | readonly HeapProfile[],
  by: GroupBy,
  renamed?: RenamedFunctions,
): HeapDiff {
  const [old, now] = [keyedRuns(listOf(older), by), keyedRuns(listOf(newer), by)];
  const rows = pairRows(
    old.map(({ keys }) => keys),
    now.map(({ keys }) => keys),
    renamed,
  );
  const [first, ...otherRuns] = [...old, ...now].map(({ profile }) => ({ heap: profile }));
  const changes = measuresOfTool("heap").flatMap((measure): MeasureChange[] => {
    if (otherRuns.some((other) => measure.differs?.(first!, other) !== undefined)) return [];
    const [before, after] = [
      valuesOf(old, measure, (pair) => rows[pair]!.old),
      valuesOf(now, measure, (pair) => rows[pair]!.new),
    ];
    return before === undefined || after === undefined ? [] : [changeOf(measure, before, after)];
  });
  return {
    by,
    sides: { old: { runs: old }, new: { runs: now } },
    old: old[0]!.groups,
    new: now[0]!.groups,
    pairs: rows.map((row) => ({ old: numberOf(old, row.old), new: numberOf(now, row.new) })),
    changes,
  };

  function valuesOf(
    runs: readonly KeyedRun[],
    measure: Measure,
    rowsOf: (pair: number) => readonly (number | undefined)[],
  ): RunValues | undefined {
    const columns = runs.map(({ profile, groups }) => ({
      values: amountsOf(measure, { heap: profile }, groups)?.values,
      total: wholeOf(measure, { heap: profile }),
    }));
    if (columns.some(({ values }) => values === undefined)) return undefined;
    return {
      rows: columns.map(({ values }, run) =>
        Float64Array.from(rows, (_, pair) => values![rowsOf(pair)[run] ?? -1] ?? 0),
      ),
      totals: columns.map(({ total }) => total!),
    };
  }
}

export function groupAt(
  { runs }: HeapSide,
  number: number,
): { run: HeapSide["runs"][number]; group: number } {
  let group = number;
  for (const run of runs) {
    if (group < run.groups.length) return { run, group };
    group -= run.groups.length;
  }
  throw new RangeError(`no such group: ${number}`);
}

type KeyedRun = ReturnType<typeof keyedGroups> & { readonly profile: HeapProfile };

function keyedRuns(profiles: readonly HeapProfile[], by: GroupBy): KeyedRun[] {
  return profiles.map((profile) => ({ profile, ...keyedGroups(profile, by) }));
}

function listOf(profiles: HeapProfile | readonly HeapProfile[]): readonly HeapProfile[] {
  return Array.isArray(profiles) ? profiles : [profiles as HeapProfile];
}

function numberOf(runs: readonly KeyedRun[], rows: readonly (number | undefined)[]): number | undefined {
  const first = rows.findIndex((row) => row !== undefined);
  if (first < 0) return undefined;
  return runs.slice(0, first).reduce((sum, { groups }) => sum + groups.length, rows[first]!);
}
