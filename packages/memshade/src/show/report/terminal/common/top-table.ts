import {
  bareName,
  codeOffset,
  functionInWords,
  placeOf,
  shortPlace,
} from "../../../../explain/analyses/frames/place-names.ts";
import { groupContexts } from "../../../../explain/analyses/groups.ts";
import type { PairRow } from "../../../../explain/analyses/waste.ts";
import { gapsOfTool, sampleUnit, stacksOf } from "../../../../explain/measures/index.ts";
import type { Measure, MeasuredProfiles } from "../../../../explain/measures/measure.ts";
import {
  insidePlace,
  type MeasuredFrame,
  type MeasuredStacks,
  type MeasuredTool,
  placePath,
  type RowGroups,
} from "../../../../explain/measures/measured-stacks.ts";
import type { Ranking } from "../../../../explain/measures/ranking.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { Clock } from "../../../../profile/model/run.ts";
import type { PairKind, WasteIp } from "../../../../profile/model/waste.ts";
import { amountFormat } from "../../measure-format.ts";
import { pathLine } from "../heap/callers.ts";
import { GROUP_NOUNS, SiteNames } from "../heap/site-names.ts";
import { ESTIMATED, marginText, printOmitted } from "../heap/site-rows.ts";
import { loadedValues } from "../waste.ts";
import { printCallers } from "./call-path.ts";
import { printBinaries, printGaps, printWrapped } from "./header.ts";
import { Screen, type ScreenOptions } from "./screen.ts";
import { displayWidth, padLeft, printable } from "./text.ts";

export interface TopTableOptions extends ScreenOptions {
  readonly rows: number;
}

/** Least width; a column is wider if a value would touch the column before it. */
const COLUMN_WIDTH = 10;
const LEAST_GAP = 1;
/** Width of lifetimes, which include the unit of the virtual clock. */
const LIFETIME_WIDTH = 15;
const PERCENT_WIDTH = 8;
const PATH_INDENT = 6;
const LONGEST_TYPE = 24;

/** A table column with the text of each row. */
interface TopColumn {
  readonly head: string;
  readonly width: number;
  readonly cell: (row: number) => string;
}

interface TopContents {
  readonly title: string;
  readonly summary: string;
  readonly gaps: readonly string[];
  /** Noun for a row, such as `site`. */
  readonly noun: string;
  /** Sentence in place of an empty table. */
  readonly nothing: string;
  /** Row numbers in ranked order; `values` has the amount of each row. */
  readonly ranked: readonly number[];
  readonly values: ArrayLike<number>;
  /** Formats sums; undefined if amounts do not add up. */
  readonly format: ((amount: number) => string) | undefined;
  readonly columns: readonly TopColumn[];
  readonly printHead?: (screen: Screen) => void;
  /** Returns the name of a row in `width` columns. */
  readonly name: (screen: Screen, row: number, width: number) => string;
  /** Prints the lines below a row. */
  readonly printBelow: (screen: Screen, row: number, indent: number) => void;
  /** Sentences below the table. */
  readonly remarks: readonly string[];
}

/** Formats a ranking: a line per row, with amount, share, further columns and the location. */
function tableText(contents: TopContents, options: TopTableOptions): string {
  const { ranked, values, noun } = contents;
  const screen = new Screen(options);
  screen.printEnds(contents.title, contents.summary, screen.paint.strong);
  printGaps(screen, contents.gaps);
  contents.printHead?.(screen);
  screen.print("");
  if (ranked.length === 0) {
    screen.print(`Nothing to rank: ${contents.nothing}.`);
    return screen.text();
  }
  const shown = ranked.slice(0, options.rows);
  const columns = contents.columns.map(({ head, width, cell }) => {
    const widest = shown.reduce((most, row) => Math.max(most, displayWidth(cell(row))), displayWidth(head));
    return { head, cell, width: Math.max(width, widest + LEAST_GAP) };
  });
  const left = columns.reduce((sum, { width }) => sum + width, 2);
  const heads = columns.map(({ head, width }) => padLeft(head, width)).join("");
  screen.print(screen.paint.faint(`${heads}  ${noun.toUpperCase()}`));
  for (const row of shown) {
    const [first, ...furtherCells] = columns.map(({ width, cell }) => padLeft(cell(row), width));
    const name = contents.name(screen, row, screen.width - left);
    screen.print(`${screen.paint.amount(first!)}${furtherCells.join("")}  ${name}`);
    contents.printBelow(screen, row, left);
  }
  printOmitted(screen, ranked.slice(options.rows), values, contents.format, noun);
  for (const remark of contents.remarks) screen.print(screen.paint.faint(`  ${remark}`));
  screen.printShortened();
  return screen.text();
}

/** Formats code locations ranked by a measure. */
export function topTable(ranking: Ranking, profiles: MeasuredProfiles, options: TopTableOptions): string {
  const { measure, order, groups, ranked, values, rest, total } = ranking;
  const { tool, title } = measure;
  const stacks = stacksOf(tool, profiles)!;
  const { clock } = stacks;
  const format = formatOf(measure, clock);
  const noun = stacks.noun ?? GROUP_NOUNS[groups.by];
  const [most, least] = extremesOf(measure);
  const names = ROW_NAMES[tool]?.(profiles, groups) ?? stackNames(stacks, groups, measure.id, profiles);
  const isLowerBound = typeof measure.combine === "string" && measure.column(profiles)?.isLowerBound === true;
  const estimates = estimatesOf(stacks, groups, profiles);
  const share: TopColumn = {
    head: "%",
    width: PERCENT_WIDTH,
    cell: (group) => formatPercent(values[group]!, total!),
  };
  return tableText(
    {
      title: `${order === "largest" ? most : least} ${title}`,
      summary: `${total === undefined ? "" : `${format(total)} in `}${plural(ranked.length, noun)}`,
      // Only call paths have callers.
      gaps: [...gapsOfTool(tool, profiles), ...(groups.by === "path" ? stacks.gaps : [])],
      noun,
      nothing: `no ${noun} has ${title}`,
      ranked,
      values,
      format: total === undefined ? undefined : format,
      columns: [
        columnOf(measure, values, clock, estimates(measure), true),
        ...(total === undefined ? [] : [share]),
        ...ranking.beside.map((column) =>
          columnOf(column.measure, column.values, clock, estimates(column.measure)),
        ),
      ],
      ...names,
      remarks: [
        ...(total !== undefined && rest > 0 && format(rest) !== format(0)
          ? [`… and ${format(rest)} in no ${noun}`]
          : []),
        ...[measure.remark?.(profiles) ?? []].flat().filter((remark) => !stacks.gaps.includes(remark)),
        ...(ranked.some((group) => estimates(measure)(group) > 0)
          ? ["≈ marks estimates: JavaScript callers were sampled (± at 95 % confidence)."]
          : []),
        ...(isLowerBound ? ["There may be more: amounts are at least these."] : []),
      ],
    },
    options,
  );
}

/** Returns the words for both ends of a ranking. Accesses are counted, so the fewest come last. */
function extremesOf({ combine, unit }: Measure): readonly [most: string, least: string] {
  if (unit === "accessesPerByte") return ["Most", "Fewest"];
  if (combine === "sum") return ["Most", "Least"];
  return unit === "clock" ? ["Longest", "Shortest"] : ["Largest", "Smallest"];
}

function formatOf({ unit, isEstimate }: Measure, clock: Clock | undefined): (amount: number) => string {
  const format = amountFormat(unit, clock);
  return isEstimate === true ? (amount) => ESTIMATED + format(amount) : format;
}

function columnOf(
  measure: Measure,
  values: Float64Array,
  clock: Clock | undefined,
  estimate: Estimate,
  showsMargin = false,
): TopColumn {
  const format = formatOf(measure, clock);
  const isLong = measure.unit === "clock" && clock?.kind === "virtual";
  return {
    head: measure.head,
    width: isLong ? LIFETIME_WIDTH : COLUMN_WIDTH,
    cell: (group) => {
      const margin = estimate(group);
      if (margin === 0) return format(values[group]!);
      return `${ESTIMATED}${format(values[group]!)}${showsMargin ? marginText(margin, format) : ""}`;
    },
  };
}

/** Returns the margin of error of a group's amount; 0 if it was counted. */
type Estimate = (group: number) => number;

/** Returns the margins of measures whose amounts are sums over sampled callers. */
function estimatesOf(
  { marginOf }: MeasuredStacks,
  { rows }: RowGroups,
  profiles: MeasuredProfiles,
): (measure: Measure) => Estimate {
  return (measure) => {
    const column =
      measure.combine === "sum" && measure.unit !== "clock" ? measure.column(profiles) : undefined;
    if (column === undefined || marginOf === undefined) return () => 0;
    return (group) => Math.ceil(marginOf(column, sampleUnit(measure), rows[group]!) ?? 0);
  };
}

type RowNames = Pick<TopContents, "name" | "printBelow" | "printHead">;

function heapNames({ heap }: MeasuredProfiles, { by }: RowGroups): RowNames {
  const groups = groupContexts(heap!, by);
  const names = new SiteNames(heap!, groups);
  return {
    printHead: (screen) => printBinaries(screen, heap!),
    name: (screen, group, width) => names.paint(screen, group, width),
    printBelow: (screen, group) => {
      if (by === "path")
        screen.print(
          ...pathLine(screen, heap!, groups.contexts[group]![0]!, PATH_INDENT).map(screen.paint.faint),
        );
    },
  };
}

/** Tools with row names of their own. */
const ROW_NAMES: Readonly<
  Partial<Record<MeasuredTool, (profiles: MeasuredProfiles, groups: RowGroups) => RowNames>>
> = { heap: heapNames };

function stackNames(
  stacks: MeasuredStacks,
  { by, rows }: RowGroups,
  id: string,
  { waste }: MeasuredProfiles,
): RowNames {
  return {
    name: (screen, group, width) => {
      const row = rows[group]![0]!;
      const via = by === "function" ? undefined : insidePlace(stacks, row).at(-1);
      const label = by === "function" ? undefined : stacks.labels?.[row];
      return placeName(screen, { own: placePath(stacks, row)[0], via, label, by }, width);
    },
    printBelow: (screen, group, indent) => {
      if (by === "path") {
        const [, ...callers] = placePath(stacks, rows[group]![0]!);
        const frames = callers.map((frame) => ({ ...frame, name: functionInWords(frame) }));
        printCallers(screen, frames, " ".repeat(indent));
      }
      const values = id === "redundant" ? loadedValues(waste!, rows[group]!) : [];
      const margin = " ".repeat(indent);
      if (values.length > 0)
        printWrapped(screen, printable(values.join(", ")), margin, margin, screen.paint.faint);
    },
  };
}

/**
 * Formats `sweep (sweep.c:7) via memset`, `add (library.kt:17) ArrayList`; code without a line is named by
 * its offset.
 */
function placeName(
  screen: Screen,
  {
    own,
    via,
    label,
    by,
  }: {
    readonly own: MeasuredFrame | undefined;
    readonly via: MeasuredFrame | undefined;
    readonly label: string | undefined;
    readonly by: RowGroups["by"];
  },
  width: number,
): string {
  const { strong, faint } = screen.paint;
  if (own === undefined) return faint("(not known)");
  if (own.isWord === true) return faint(`[${printable(own.function ?? "")}]`);
  const place = by === "function" ? "" : placeText(own, screen.isWide);
  const made = label === undefined ? "" : ` ${screen.fit(label, LONGEST_TYPE)}`;
  const called = via === undefined ? "" : ` via ${bareName(via.function ?? "a library")}`;
  const name = functionInWords(own);
  const room = Math.max(12, width - displayWidth(place) - displayWidth(made));
  const isWhole = screen.isWhole || displayWidth(name + called) <= room;
  if (!isWhole && called !== "") screen.isShortened = true;
  const shown = isWhole ? called : "";
  return `${strong(screen.fit(name, room - displayWidth(shown)))}${faint(place + shown + made)}`;
}

function placeText({ file, line, approximate, address }: MeasuredFrame, isWide: boolean): string {
  const place =
    isWide && file !== undefined ? `${file}:${line ?? 0}` : shortPlace({ file, line, approximate });
  if (place !== undefined) return ` (${printable(place)})`;
  return address === undefined ? "" : ` (${codeOffset(address)})`;
}

/** Relation of the second location to the bytes of the first. */
const LINKS: Readonly<Record<PairKind, string>> = {
  overwritten: "overwritten by",
  deallocated: "freed by",
  returned: "frame ended by",
  exit: "unread at the end",
  silent: "stored again by",
  redundant: "loaded again by",
};
const ORIGINS = { init: "a data segment", zero: "memory as the system gave it" } as const;
const LABEL_WIDTH = 18;

/** Formats pairs of locations: the first, the effect of the second, and the callers that both share. */
export function pairTable(
  title: string,
  pairs: readonly PairRow[],
  gaps: readonly string[],
  options: TopTableOptions,
): string {
  const values = pairs.map(({ bytes }) => bytes);
  const total = values.reduce((sum, bytes) => sum + bytes, 0);
  const line = (screen: Screen, label: string, text: string): void =>
    screen.print(
      `    ${screen.paint.faint(label.padEnd(LABEL_WIDTH))}${screen.fitPlace(text, screen.width - LABEL_WIDTH - 4)}`,
    );
  const path = (screen: Screen, ips: readonly WasteIp[], label: string): void =>
    ips.forEach((ip, depth) => {
      line(screen, depth === 0 ? label : "  called from", placeOf([ip]));
    });
  const soFar = (row: number) => Math.round(pairs[row]!.cumulativeShare * total);
  return tableText(
    {
      title,
      summary: `${formatBytes(total)} in ${plural(pairs.length, "pair")}`,
      gaps,
      noun: "pair",
      nothing: "there are no such pairs",
      ranked: [...pairs.keys()],
      values,
      format: formatBytes,
      columns: [
        { head: "BYTES", width: COLUMN_WIDTH, cell: (row) => formatBytes(values[row]!) },
        { head: "%", width: PERCENT_WIDTH, cell: (row) => formatPercent(values[row]!, total) },
        { head: "SO FAR", width: COLUMN_WIDTH, cell: (row) => formatPercent(soFar(row), total) },
        { head: "OPERATIONS", width: COLUMN_WIDTH, cell: (row) => formatCount(pairs[row]!.operations) },
      ],
      name: (screen, row, width) => {
        const { first, origin } = pairs[row]!;
        return screen.fitPlace(
          first.length > 0 ? placeOf(first.slice(0, 1)) : ORIGINS[origin ?? "zero"],
          width,
        );
      },
      printBelow: (screen, row) => {
        const { kind, first, second, common } = pairs[row]!;
        for (const ip of first.slice(1)) line(screen, "  called from", placeOf([ip]));
        if (second.length > 0) path(screen, second, LINKS[kind]);
        else screen.print(`    ${screen.paint.faint(LINKS[kind])}`);
        path(screen, common, "both called from");
      },
      remarks: [],
    },
    options,
  );
}
