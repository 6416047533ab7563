import { type ContextGroups, sumByGroup } from "../../../../explain/analyses/groups.ts";
import { marginOf } from "../../../../explain/analyses/host-stacks.ts";
import { rank } from "../../../../explain/measures/ranking.ts";
import { formatBytes, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../../profile/model/indices.ts";
import type { Screen } from "../common/screen.ts";
import { bar, displayWidth, padLeft, padRight } from "../common/text.ts";
import { SiteNames } from "./site-names.ts";

/** Mark before estimated figures. */
export const ESTIMATED = "≈";
const AMOUNT_WIDTH = 10;
const PERCENT_WIDTH = 8;
const BAR_WIDTH = 8;
/** Columns before the name of a site. */
const NAME_COLUMN = AMOUNT_WIDTH + PERCENT_WIDTH + 2 + BAR_WIDTH + 2;

/** Formats the margin of error that follows a figure: ` ±1.5 KiB`. */
export function marginText(margin: number | undefined, format: (value: number) => string): string {
  return margin === undefined || margin === 0 ? "" : ` ±${format(Math.ceil(margin))}`;
}

/** A table of sites, ranked by a value per context. */
export interface SiteRows {
  readonly groups: ContextGroups;
  /** Ranking value of each context. */
  readonly values: ArrayLike<number> | ArrayLike<bigint>;
  readonly format: (value: number) => string;
  /** Most rows to show. */
  readonly limit: number;
  /** Part of the total (0 to 1): once the rows make it up, the rest is left out. */
  readonly enough: number;
  /** Returns the lines below a row, which is `part` (0 to 1) of the table. */
  readonly details: (
    contexts: readonly IndexIntoContextTable[],
    values: Float64Array,
    part: number,
  ) => readonly string[];
}

/**
 * Prints the heaviest sites, one line each: amount, percentage of the total, a bar, the function that
 * allocates. A last line counts the sites left out.
 */
export function printSiteRows(screen: Screen, profile: HeapProfile, rows: SiteRows): void {
  const { groups, format, enough } = rows;
  const perContext = Float64Array.from(rows.values, Number);
  const values = sumByGroup(groups, perContext);
  const ranking = rank(values);
  const total = values.reduce((sum, value) => sum + value, 0);
  const largest = ranking.length === 0 ? 0 : values[ranking[0]!]!;
  const limit = rowsToShow(ranking, values, enough * total, rows.limit);
  const names = new SiteNames(profile, groups);
  const { paint } = screen;
  for (const group of ranking.slice(0, limit)) {
    const value = values[group]!;
    const contexts = groups.contexts[group]!;
    const amount = (isEstimated(profile, contexts) ? ESTIMATED : "") + format(value);
    const whole = format === formatBytes ? "totalSize" : "allocCount";
    const margin = marginText(marginOf(profile, rows.values, contexts, whole), format);
    screen.print(
      paint.amount(padLeft(amount, AMOUNT_WIDTH)) +
        padLeft(formatPercent(value, total), PERCENT_WIDTH) +
        `  ${paint.bar(padRight(bar(value, largest, BAR_WIDTH), BAR_WIDTH))}  ` +
        names.paint(screen, group, screen.width - NAME_COLUMN - displayWidth(margin)) +
        paint.faint(margin),
      ...rows.details(contexts, perContext, value / total).map(paint.faint),
    );
  }
  printOmitted(screen, ranking.slice(limit), values, format);
}

/** True if part of the figures was distributed over sampled callers. */
export function isEstimated(
  { contexts: { isEstimated } }: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): boolean {
  return isEstimated !== undefined && contexts.some((context) => isEstimated[context] === 1);
}

function rowsToShow(ranking: readonly number[], values: Float64Array, enough: number, limit: number): number {
  let shown = 0;
  let count = 0;
  while (count < Math.min(limit, ranking.length) && shown < enough) {
    shown += values[ranking[count]!]!;
    count += 1;
  }
  return count;
}

export function printOmitted(
  screen: Screen,
  omitted: readonly number[],
  values: ArrayLike<number>,
  format: ((sum: number) => string) | undefined,
  noun = "site",
): void {
  if (omitted.length > 0) {
    const sum = omitted.reduce((total, group) => total + values[group]!, 0);
    const amount = format === undefined ? "" : ` with ${format(sum)}`;
    screen.print(
      screen.paint.faint(`  … and ${plural(omitted.length, `more ${noun}`)}${amount}: -n N shows them`),
    );
  }
}
