import { type ContextGroups, type GroupBy, groupContexts } from "../../../analyses/groups.ts";
import { METRICS, type Metric, type MetricKey, measureGroups, rank } from "../../../analyses/metrics.ts";
import type { HeapProfile } from "../../../model/heap-profile.ts";
import type { Clock } from "../../../model/run.ts";
import { formatPercent, plural } from "../../format.ts";
import { gapsOf } from "../../gaps.ts";
import { printBinaries, printGaps } from "../common/header.ts";
import { formatterOf, HEADS } from "../common/metric-format.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { padLeft } from "../common/text.ts";
import { pathLine } from "./callers.ts";
import { GROUP_NOUNS, SiteNames } from "./site-names.ts";
import { printOmitted } from "./site-rows.ts";

export interface TopTableOptions extends ScreenOptions {
  readonly by: MetricKey;
  readonly group: GroupBy;
  readonly order: "largest" | "smallest";
  readonly rows: number;
}

/** What is shown beside the metric: few enough to leave room for names. */
const OTHER_COLUMNS: { readonly [Key in MetricKey]: readonly MetricKey[] } = {
  bytes: ["count", "lifetime", "density"],
  peak: ["bytes", "lifetime", "density"],
  live: ["bytes", "count", "density"],
  lost: ["live", "bytes", "count"],
  count: ["bytes", "lifetime", "density"],
  accesses: ["bytes", "count", "density"],
  density: ["bytes", "count", "lifetime"],
  lifetime: ["bytes", "count", "density"],
  temporary: ["count", "bytes", "lifetime"],
  copied: ["bytes", "count", "peak"],
  spare: ["bytes", "count", "peak"],
};

/** At least; wider where a value would touch the column before. */
const COLUMN_WIDTH = 10;
const LEAST_GAP = 1;
/** Of lifetimes with the unit of the virtual clock. */
const LIFETIME_WIDTH = 15;
const PERCENT_WIDTH = 8;
const PATH_INDENT = 6;

/**
 * Sites ranked by one metric, one line each (for call paths a second one with the callers).
 *
 * @returns undefined where the profile does not know the metric
 */
export function topTable(profile: HeapProfile, options: TopTableOptions): string | undefined {
  const groups = groupContexts(profile, options.group);
  const metric = METRICS.find(({ key }) => key === options.by)!;
  const values = measureGroups(profile, groups, options.by);
  if (values === undefined) {
    return undefined;
  }
  const screen = new Screen(options);
  const ranking = rank(values, options.order);
  const shown = ranking.slice(0, options.rows);
  const noun = GROUP_NOUNS[options.group];
  const total = values.reduce((sum, value) => sum + value, 0);
  const amount = metric.isAdditive ? `${formatterOf(metric, profile.description.clock)(total)} in ` : "";
  const [most, least] = metric.unit === "clock" ? ["Longest", "Shortest"] : ["Most", "Least"];
  const title = `${options.order === "largest" ? most : least} ${metric.title}`;
  screen.printEnds(title, amount + plural(ranking.length, noun), screen.paint.strong);
  printGaps(screen, gapsOf(profile));
  printBinaries(screen, profile);
  screen.print("");
  if (ranking.length === 0) {
    screen.print(`Nothing to rank: no ${noun} has ${metric.title}.`);
    return screen.text();
  }
  const columns = columnsOf(profile, groups, metric, values, total).map(({ head, width, cell }) => {
    const widest = Math.max(...shown.map((group) => cell(group).length));
    return { head, cell, width: Math.max(width, widest + LEAST_GAP) };
  });
  screen.print(
    screen.paint.faint(
      `${columns.map(({ head, width }) => padLeft(head, width)).join("")}  ${noun.toUpperCase()}`,
    ),
  );
  const nameWidth = screen.width - columns.reduce((sum, { width }) => sum + width, 2);
  const names = new SiteNames(profile, groups);
  for (const group of shown) {
    const contexts = groups.contexts[group]!;
    const cells = columns.map(({ width, cell }, index) => {
      const text = padLeft(cell(group), width);
      return index === 0 ? screen.paint.amount(text) : text;
    });
    screen.print(`${cells.join("")}  ${names.paint(screen, group, nameWidth)}`);
    if (options.group === "path") {
      screen.print(...pathLine(screen, profile, contexts[0]!, PATH_INDENT).map(screen.paint.faint));
    }
  }
  const formatOmitted = metric.isAdditive ? formatterOf(metric, profile.description.clock) : undefined;
  printOmitted(screen, ranking.slice(options.rows), values, formatOmitted, noun);
  screen.printShortened();
  return screen.text();
}

interface TopColumn {
  readonly head: string;
  readonly width: number;
  readonly cell: (group: number) => string;
}

function widthOf({ unit }: Metric, clock: Clock): number {
  return unit === "clock" && clock.kind === "virtual" ? LIFETIME_WIDTH : COLUMN_WIDTH;
}

function columnsOf(
  profile: HeapProfile,
  groups: ContextGroups,
  metric: Metric,
  values: Float64Array,
  total: number,
): TopColumn[] {
  const { clock } = profile.description;
  const format = formatterOf(metric, clock);
  const columns: TopColumn[] = [
    { head: HEADS[metric.key], width: widthOf(metric, clock), cell: (group) => format(values[group]!) },
  ];
  if (metric.isAdditive) {
    columns.push({
      head: "%",
      width: PERCENT_WIDTH,
      cell: (group) => formatPercent(values[group]!, total),
    });
  }
  for (const key of OTHER_COLUMNS[metric.key]) {
    const others = measureGroups(profile, groups, key);
    if (others !== undefined) {
      const other = METRICS.find((one) => one.key === key)!;
      const formatOther = formatterOf(other, clock);
      columns.push({
        head: HEADS[key],
        width: widthOf(other, clock),
        cell: (group) => formatOther(others[group]!),
      });
    }
  }
  return columns;
}
