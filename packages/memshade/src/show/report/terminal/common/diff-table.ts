import {
  type Change,
  isTotalWithinSpread,
  isWithinSpread,
  type OldAndNew,
  rankChanges,
  type Spread,
} from "../../../../explain/diff/changes.ts";
import type { FindingDiff } from "../../../../explain/diff/finding-diff.ts";
import type { Measure } from "../../../../explain/measures/measure.ts";
import { formatMean, plural } from "../../../../profile/model/format.ts";
import { printFindingDiff, printRenamed } from "../../findings.ts";
import { printGaps } from "./header.ts";
import { Screen, type ScreenOptions } from "./screen.ts";
import { cutMiddle, padLeft, printable } from "./text.ts";

export interface DiffTableOptions extends ScreenOptions {
  readonly rows: number;
  /** Runs of both sides, as the user named them. */
  readonly inputs: { readonly old: readonly string[]; readonly new: readonly string[] };
  /** Sentences: what the runs do not cover, and what cannot be compared. */
  readonly gaps: readonly string[];
  /** Findings that only one of the two sides has. */
  readonly findings?: FindingDiff | undefined;
}

export interface DiffTable {
  readonly pairs: readonly { readonly old: number | undefined; readonly new: number | undefined }[];
  readonly changes: readonly Change<Measure>[];
  /** The measure that rows are ranked by. */
  readonly by: Change<Measure>;
  /** Noun for a row, such as `site`. */
  readonly noun: string;
  /** Scope of all measures: `the heap`. */
  readonly whole: string;
  formatOf(measure: Measure): (value: number) => string;
  headOf(measure: Measure): string;
  readonly unit?: string | undefined;
  /** Returns the name of a pair in at most `width` columns. */
  nameOf(screen: Screen, pair: number, width: number): string;
  /** Returns the lines below the row of a pair. */
  below?(screen: Screen, pair: number): string[];
  printHead?(screen: Screen): void;
}

const CHANGE_WIDTH = 11;
const COLUMN_WIDTH = 10;
const SPREAD_WIDTH = 7;
const PERCENT_WIDTH = 9;

/**
 * Formats totals of two runs, then the largest changes, a line each, and the findings that came or went. If
 * nothing differs, the text states that instead of figures.
 */
export function diffTableText(table: DiffTable, options: DiffTableOptions): string {
  const screen = new Screen(options);
  const { faint, strong } = screen.paint;
  const { by, noun, pairs, changes } = table;
  const ranking = rankChanges(by);
  const within = ranking.filter((pair) => isWithinSpread(by, pair)).length;
  const counts = [
    `${plural(ranking.length - within, noun)} changed`,
    ...(within === 0 ? [] : [`${within} within the spread`]),
    `${pairs.length - ranking.length} did not`,
  ];
  const isSame = hasNoDifference(table, options.findings);
  if (isSame) screen.printEnds(`No difference in ${table.whole}`, sameCount(pairs.length, noun), strong);
  else screen.printEnds(`Change of ${by.measure.title}`, counts.join(", "), strong);
  for (const [side, runs] of Object.entries(options.inputs)) {
    const several = runs.length > 1 ? `median of ${runs.length}: ` : "";
    const names = printable(runs.join(", "));
    const room = screen.width - 5 - several.length;
    screen.print(
      faint(`${side}  ${several}${screen.shorten(names, (columns) => cutMiddle(names, columns), room)}`),
    );
  }
  printGaps(screen, options.gaps);
  table.printHead?.(screen);
  if (isSame) {
    if (options.findings !== undefined) printRenamed(screen, options.findings.renamed);
    return screen.text();
  }
  const isSpread = by.spread !== undefined;
  const heads = cellsText(["CHANGE", "OLD", "±", "NEW", "±", "%"], isSpread);
  screen.print("", faint(`${heads}  TOTAL`));
  for (const change of changes) {
    if (change.measure.isMain !== true && change.measure.id !== by.measure.id) continue;
    const isWithin = isTotalWithinSpread(change);
    const values = { values: change.total, spread: change.spread?.total, isWithin };
    screen.print(`${numbers(screen, table, change.measure, values)}  ${table.headOf(change.measure)}`);
  }
  if (ranking.length > 0) screen.print("", faint(`${heads}  ${noun.toUpperCase()}${table.unit ?? ""}`));
  const room = screen.width - cellsText(["", "", "", "", "", ""], isSpread).length - 2;
  for (const pair of ranking.slice(0, options.rows)) {
    const isIn = { old: pairs[pair]!.old !== undefined, new: pairs[pair]!.new !== undefined };
    const values = { old: by.old[pair]!, new: by.new[pair]! };
    const cells = { values, isIn, spread: spreadOf(by.spread, pair), isWithin: isWithinSpread(by, pair) };
    screen.print(`${numbers(screen, table, by.measure, cells)}  ${table.nameOf(screen, pair, room)}`);
    screen.print(...(table.below?.(screen, pair) ?? []));
  }
  const hiddenCount = ranking.length - options.rows;
  if (hiddenCount > 0) screen.print(faint(`  … and ${plural(hiddenCount, `more ${noun}`)}: -n N shows them`));
  if (within > 0) screen.print(faint("  ~: runs of both sides have such values, so that it may be chance"));
  if (options.findings !== undefined) printFindingDiff(screen, options.findings);
  screen.printShortened();
  return screen.text();
}

function hasNoDifference({ pairs, changes }: DiffTable, findings: FindingDiff | undefined): boolean {
  return (
    pairs.every(({ old, new: now }) => old !== undefined && now !== undefined) &&
    changes.every((change) => change.total.old === change.total.new && rankChanges(change).length === 0) &&
    (findings === undefined || findings.new.length + findings.gone.length === 0)
  );
}

function sameCount(count: number, noun: string): string {
  if (count === 0) return `no ${noun} in either`;
  return count === 1 ? `1 ${noun} is the same` : `${plural(count, noun)} are the same`;
}

interface Cells {
  readonly values: OldAndNew;
  readonly isIn?: { readonly old: boolean; readonly new: boolean };
  readonly spread: Spread["total"] | undefined;
  readonly isWithin: boolean;
}

function numbers(
  screen: Screen,
  { formatOf }: DiffTable,
  measure: Measure,
  { values, isIn = { old: true, new: true }, spread, isWithin }: Cells,
): string {
  const format = formatOf(measure);
  const difference = values.new - values.old;
  const sign = difference === 0 ? "" : difference > 0 ? "+" : "-";
  const cell = (side: "old" | "new") => (isIn[side] ? format(values[side]) : "–");
  const about = (side: "old" | "new") => (spread === undefined ? "" : spreadText(values[side], spread[side]));
  const percent = isWithin && difference !== 0 ? "~" : percentOf(values, isIn);
  const change = padLeft(`${sign}${format(Math.abs(difference))}`, CHANGE_WIDTH);
  const others = cellsText(
    ["", cell("old"), about("old"), cell("new"), about("new"), percent],
    spread !== undefined,
  );
  return (isWithin ? change : screen.paint.amount(change)) + others.slice(CHANGE_WIDTH);
}

function cellsText(
  [change, old, oldSpread, now, newSpread, percent]: [string, string, string, string, string, string],
  isSpread: boolean,
): string {
  const spread = (text: string) => (isSpread ? padLeft(text, SPREAD_WIDTH) : "");
  return (
    padLeft(change, CHANGE_WIDTH) +
    padLeft(old, COLUMN_WIDTH) +
    spread(oldSpread) +
    padLeft(now, COLUMN_WIDTH) +
    spread(newSpread) +
    padLeft(percent, PERCENT_WIDTH)
  );
}

function spreadOf(spread: Spread | undefined, pair: number): Spread["total"] | undefined {
  return (
    spread && {
      old: [spread.old.low[pair]!, spread.old.high[pair]!],
      new: [spread.new.low[pair]!, spread.new.high[pair]!],
    }
  );
}

/**
 * Formats the largest distance of a value from the median, as a percentage of the median. Empty if all values
 * are equal.
 */
function spreadText(median: number, [low, high]: readonly [number, number]): string {
  if (low === high) return "";
  if (median === 0) return "± ∞";
  const percent = (100 * Math.max(high - median, median - low)) / median;
  return `± ${percent < 0.95 ? "<1" : Math.round(Math.min(percent, 999))} %`;
}

/** Formats a change as a percentage of the old value; from ten times on as a factor. */
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
