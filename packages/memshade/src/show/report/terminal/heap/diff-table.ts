import { groupAt, type HeapDiff } from "../../../../explain/diff/heap-diff.ts";
import { gapsOf, gapsOfBoth } from "../../../../explain/measures/gaps.ts";
import { amountFormat, clockOf } from "../../measure-format.ts";
import { type DiffTableOptions, diffTableText } from "../common/diff-table.ts";
import { printBinaries } from "../common/header.ts";
import { pathLine } from "./callers.ts";
import { GROUP_NOUNS, SiteNames } from "./site-names.ts";

export interface HeapDiffTableOptions extends DiffTableOptions {
  /** Id of the measure that rows are ranked by. */
  readonly by: string;
}

const LABEL_WIDTH = 11;
const PATH_INDENT = 6;

/**
 * Formats totals of two profiles, then the largest changes, one line each. Call paths get a second line with
 * the callers.
 *
 * @returns undefined if one of the profiles lacks the measure
 */
export function diffTable(diff: HeapDiff, options: HeapDiffTableOptions): string | undefined {
  const by = diff.changes.find(({ measure }) => measure.id === options.by);
  if (by === undefined) return undefined;
  const { old, new: now } = diff.sides;
  const runs = [...old.runs, ...now.runs];
  const names = new Map(runs.map((run) => [run, new SiteNames(run.profile, run.groups)]));
  const { clock } = now.runs[0]!.profile.description;
  const at = (pair: number) => {
    const { old: before, new: after } = diff.pairs[pair]!;
    return after === undefined ? groupAt(old, before!) : groupAt(now, after);
  };
  const gapsIn = (side: HeapDiff["sides"]["old"]) => side.runs.flatMap(({ profile }) => gapsOf(profile));
  return diffTableText(
    {
      pairs: diff.pairs,
      changes: diff.changes,
      by,
      whole: "the heap",
      noun: GROUP_NOUNS[diff.by],
      unit: clockOf(by.measure.unit, clock),
      formatOf: ({ unit }) => amountFormat(unit, clock, "elsewhere"),
      headOf: ({ head, unit }) => (head + clockOf(unit, clock)).padEnd(LABEL_WIDTH),
      nameOf: (screen, pair, width) => {
        const { run, group } = at(pair);
        return names.get(run)!.paint(screen, group, width);
      },
      below: (screen, pair) => {
        if (diff.by !== "path") return [];
        const { run, group } = at(pair);
        const context = run.groups.contexts[group]![0]!;
        return pathLine(screen, run.profile, context, PATH_INDENT).map(screen.paint.faint);
      },
      printHead: (screen) => {
        printBinaries(screen, old.runs[0]!.profile, "Old");
        printBinaries(screen, now.runs[0]!.profile, "New");
      },
    },
    { ...options, gaps: [...options.gaps, ...gapsOfBoth(gapsIn(old), gapsIn(now))] },
  );
}
