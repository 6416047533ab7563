import type { FindingDiff } from "../../../analyses/diff/finding-diff.ts";
import {
  type HeapDiff,
  type MetricChange,
  type OldAndNew,
  rankChanges,
} from "../../../analyses/diff/heap-diff.ts";
import type { MetricKey } from "../../../analyses/metrics.ts";
import type { HeapProfile } from "../../../model/heap-profile.ts";
import { printFindingDiff } from "../../findings/finding-lines.ts";
import { formatMean, plural } from "../../format.ts";
import { gapsOfBoth } from "../../gaps.ts";
import { printBinaries, printGaps } from "../common/header.ts";
import { formatterOf, HEADS, unitOf } from "../common/metric-format.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { cutMiddle, padLeft, printable } from "../common/text.ts";
import { pathLine } from "./callers.ts";
import { GROUP_NOUNS, SiteNames } from "./site-names.ts";

export interface DiffTableOptions extends ScreenOptions {
  readonly by: MetricKey;
  readonly rows: number;
  /** As they were named. */
  readonly inputs: { readonly old: string; readonly new: string };
  /** What a person can act on, in one of the two only. */
  readonly findings?: FindingDiff | undefined;
}

const CHANGE_WIDTH = 11;
const COLUMN_WIDTH = 10;
const PERCENT_WIDTH = 9;
const LABEL_WIDTH = 11;
const PATH_INDENT = 6;

/**
 * Totals of two profiles, then what changed most, one line each (for call paths a second one with the callers).
 *
 * @returns undefined where one of the profiles does not know the metric
 */
export function diffTable(
  profiles: { readonly old: HeapProfile; readonly new: HeapProfile },
  diff: HeapDiff,
  options: DiffTableOptions,
): string | undefined {
  const change = diff.metrics.find(({ metric }) => metric.key === options.by);
  if (change === undefined) return undefined;
  const screen = new Screen(options);
  const ranking = rankChanges(change);
  const noun = GROUP_NOUNS[diff.new.by];
  const unchanged = diff.pairs.length - ranking.length;
  screen.printEnds(
    `Change of ${change.metric.title}`,
    `${plural(ranking.length, noun)} changed, ${unchanged} did not`,
    screen.paint.strong,
  );
  for (const [side, file] of Object.entries(options.inputs)) {
    const name = printable(file);
    screen.print(screen.paint.faint(`${side}  ${screen.shorten(name, cutMiddle(name, screen.width - 5))}`));
  }
  printGaps(screen, gapsOfBoth(profiles.old, profiles.new));
  printBinaries(screen, profiles.old, "Old");
  printBinaries(screen, profiles.new, "New");
  const { clock } = profiles.new.description;
  const head = (words: string) => screen.print("", screen.paint.faint(words));
  const rightOf = (...cells: readonly [string, number][]) =>
    cells.map(([text, width]) => padLeft(text, width)).join("");
  const columns = rightOf(
    ["CHANGE", CHANGE_WIDTH],
    ["OLD", COLUMN_WIDTH],
    ["NEW", COLUMN_WIDTH],
    ["%", PERCENT_WIDTH],
  );
  const cells = (values: OldAndNew, { metric }: MetricChange, isIn: { old: boolean; new: boolean }) => {
    const format = formatterOf(metric, clock, "elsewhere");
    const difference = values.new - values.old;
    const sign = difference === 0 ? "" : difference > 0 ? "+" : "-";
    const cell = (side: "old" | "new") => (isIn[side] ? format(values[side]) : "–");
    return (
      screen.paint.amount(padLeft(`${sign}${format(Math.abs(difference))}`, CHANGE_WIDTH)) +
      rightOf(
        [cell("old"), COLUMN_WIDTH],
        [cell("new"), COLUMN_WIDTH],
        [percentOf(values, isIn), PERCENT_WIDTH],
      )
    );
  };
  head(`${columns}  TOTAL`);
  for (const each of diff.metrics) {
    screen.print(
      `${cells(each.total, each, { old: true, new: true })}  ${(HEADS[each.metric.key] + unitOf(each.metric, clock)).padEnd(LABEL_WIDTH)}`,
    );
  }
  if (ranking.length > 0) head(`${columns}  ${noun.toUpperCase()}${unitOf(change.metric, clock)}`);
  const names = {
    old: new SiteNames(profiles.old, diff.old),
    new: new SiteNames(profiles.new, diff.new),
  };
  const nameWidth = screen.width - CHANGE_WIDTH - 2 * COLUMN_WIDTH - PERCENT_WIDTH - 2;
  for (const row of ranking.slice(0, options.rows)) {
    const pair = diff.pairs[row]!;
    const side = pair.new === undefined ? "old" : "new";
    const group = pair[side]!;
    const values = { old: change.old[row]!, new: change.new[row]! };
    const isIn = { old: pair.old !== undefined, new: pair.new !== undefined };
    screen.print(`${cells(values, change, isIn)}  ${names[side].paint(screen, group, nameWidth)}`);
    if (diff.new.by === "path") {
      const context = diff[side].contexts[group]![0]!;
      screen.print(...pathLine(screen, profiles[side], context, PATH_INDENT).map(screen.paint.faint));
    }
  }
  const left = ranking.length - options.rows;
  if (left > 0) screen.print(screen.paint.faint(`  … and ${plural(left, `more ${noun}`)}: -n N shows them`));
  if (options.findings !== undefined) printFindingDiff(screen, options.findings);
  screen.printShortened();
  return screen.text();
}

/** How much more or less it is, of what it was; from ten times on, how many times that. */
export function percentOf({ old, new: now }: OldAndNew, isIn: { old: boolean; new: boolean }): string {
  if (!isIn.old) return "new";
  if (!isIn.new) return "gone";
  if (now === old) return "0 %";
  if (old === 0) return "";
  if (now >= 10 * old) return `×${formatMean(now / old)}`;
  const percent = (100 * (now - old)) / old;
  const size = Math.abs(percent);
  return `${percent > 0 ? "+" : "-"}${size < 0.05 ? "<0.1" : size.toFixed(1)} %`;
}
