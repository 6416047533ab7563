import type { FindingDiff } from "../../../analyses/diff/finding-diff.ts";
import { type OldAndNew, rankChanges } from "../../../analyses/diff/heap-diff.ts";
import type { PlaceChange, PlaceDiff, PlaceMetric } from "../../../analyses/diff/place-diff.ts";
import type { PlaceFrame } from "../../../analyses/findings/finding.ts";
import { printFindingDiff } from "../../findings/finding-lines.ts";
import { formatBytes, formatCount, plural } from "../../format.ts";
import { shortPlace } from "../../frames.ts";
import { bareName } from "../../waste-sentences.ts";
import { percentOf } from "../heap/diff-table.ts";
import { printGaps } from "./header.ts";
import { shortenName } from "./names.ts";
import { Screen, type ScreenOptions } from "./screen.ts";
import { cutMiddle, displayWidth, padLeft, printable } from "./text.ts";

export interface PlaceDiffTableOptions extends ScreenOptions {
  readonly rows: number;
  /** As they were named. */
  readonly inputs: { readonly old: string; readonly new: string };
  /** Sentences: what the runs do not cover, and what cannot be compared. */
  readonly gaps: readonly string[];
  readonly findings: FindingDiff;
}

const NOUNS = { path: "call path", site: "site", function: "function" } as const;
const CHANGE_WIDTH = 11;
const COLUMN_WIDTH = 10;
const PERCENT_WIDTH = 9;

/** Totals of two runs, then the places that changed most, and the findings that came or went. */
export function placeDiffTable(diff: PlaceDiff, change: PlaceChange, options: PlaceDiffTableOptions): string {
  const screen = new Screen(options);
  const { faint, strong, amount } = screen.paint;
  const ranking = rankChanges(change);
  const noun = NOUNS[diff.group];
  const unchanged = diff.pairs.length - ranking.length;
  screen.printEnds(
    `Change of ${change.metric.title}`,
    `${plural(ranking.length, noun)} changed, ${unchanged} did not`,
    strong,
  );
  for (const [side, file] of Object.entries(options.inputs)) {
    const name = printable(file);
    screen.print(faint(`${side}  ${screen.shorten(name, cutMiddle(name, screen.width - 5))}`));
  }
  printGaps(screen, options.gaps);
  const heads =
    padLeft("CHANGE", CHANGE_WIDTH) +
    ["OLD", "NEW"].map((head) => padLeft(head, COLUMN_WIDTH)).join("") +
    padLeft("%", PERCENT_WIDTH);
  const cells = (metric: PlaceMetric, values: OldAndNew, isIn: { old: boolean; new: boolean }) => {
    const format = metric.unit === "bytes" ? formatBytes : formatCount;
    const difference = values.new - values.old;
    const sign = difference === 0 ? "" : difference > 0 ? "+" : "-";
    const cell = (side: "old" | "new") => padLeft(isIn[side] ? format(values[side]) : "–", COLUMN_WIDTH);
    return (
      amount(padLeft(`${sign}${format(Math.abs(difference))}`, CHANGE_WIDTH)) +
      cell("old") +
      cell("new") +
      padLeft(percentOf(values, isIn), PERCENT_WIDTH)
    );
  };
  screen.print("", faint(`${heads}  TOTAL`));
  for (const { metric, total } of diff.changes)
    screen.print(`${cells(metric, total, { old: true, new: true })}  ${metric.head}`);
  if (ranking.length > 0) screen.print("", faint(`${heads}  ${noun.toUpperCase()}`));
  const room = screen.width - CHANGE_WIDTH - 2 * COLUMN_WIDTH - PERCENT_WIDTH - 2;
  for (const row of ranking.slice(0, options.rows)) {
    const pair = diff.pairs[row]!;
    const isIn = { old: pair.old !== undefined, new: pair.new !== undefined };
    const { path } = pair.new === undefined ? diff.old[pair.old!]! : diff.new[pair.new]!;
    const values = { old: change.old[row]!, new: change.new[row]! };
    screen.print(`${cells(change.metric, values, isIn)}  ${nameOf(screen, diff.group, path, room)}`);
  }
  const left = ranking.length - options.rows;
  if (left > 0) screen.print(faint(`  … and ${plural(left, `more ${noun}`)}: -n N shows them`));
  printFindingDiff(screen, options.findings);
  screen.printShortened();
  return screen.text();
}

/** `parse (parse.c:88)`; of a call path with the functions that led there. */
function nameOf(
  screen: Screen,
  group: PlaceDiff["group"],
  path: readonly PlaceFrame[],
  room: number,
): string {
  const [own, ...callers] = path;
  if (own === undefined) return "no code";
  const line = group === "function" ? undefined : shortPlace(own);
  const place = line === undefined ? "" : ` (${printable(line)})`;
  const behind = callers.map(({ function: name = "?" }) => ` ← ${bareName(name)}`).join("");
  const name = bareName(own.function ?? "a function without a name");
  if (screen.isWide) return `${name}${place}${behind}`;
  const short = screen.shorten(name, shortenName(name, Math.max(1, room - displayWidth(place))));
  const rest = room - displayWidth(short) - displayWidth(place);
  return `${short}${place}${screen.shorten(behind, cutMiddle(behind, Math.max(0, rest)))}`;
}
