import { bareName } from "../../../../explain/analyses/frames/place-names.ts";
import { groupContexts } from "../../../../explain/analyses/groups.ts";
import { type HeapPhases, heapPhases, sitesOverTime } from "../../../../explain/analyses/over-time.ts";
import type { Phase } from "../../../../explain/analyses/phases.ts";
import { counted } from "../../../../profile/model/counted.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { InstanceHeap } from "../../../../profile/model/over-time/heap-intervals.ts";
import type { Screen } from "../common/screen.ts";
import { sparkline } from "../common/sparkline.ts";
import { bar, displayWidth, padLeft, padRight, printable } from "../common/text.ts";
import { SiteNames } from "./site-names.ts";

const INSTANCES_SHOWN = 4;
const SITES_SHOWN = 5;
/** Sites whose largest amount is a smaller part of the heap's peak are left out. */
const LEAST_PART = 0.01;
const WIDE_COLUMNS = 160;
/** Columns of a site's line, and of the largest amount after it. */
const SITE_COLUMNS = 30;
const AMOUNT_COLUMNS = 9;

/** Prints the heap over time: live bytes, allocations, sites and phases. */
export function printOverTime(screen: Screen, profile: HeapProfile, rows: number | undefined): void {
  const recorded = profile.overTime?.instances.filter(({ intervals }) => intervals.start.length > 1) ?? [];
  const most = screen.isWide ? recorded.length : INSTANCES_SHOWN;
  for (const instance of recorded.toSorted((a, b) => allocationsOf(b) - allocationsOf(a)).slice(0, most))
    printInstance(screen, profile, instance, { rows: rows ?? SITES_SHOWN, isAlone: recorded.length === 1 });
  if (recorded.length > most)
    screen.print(
      "",
      screen.paint.faint(`${plural(recorded.length - most, "more instance")}: --wide shows them.`),
    );
}

function allocationsOf({ intervals: { start, end } }: InstanceHeap): number {
  return end[end.length - 1]! - start[0]!;
}

function printInstance(
  screen: Screen,
  profile: HeapProfile,
  instance: InstanceHeap,
  { rows, isAlone }: { rows: number; isAlone: boolean },
): void {
  const { paint } = screen;
  const { intervals, period } = instance;
  const name = printable(profile.modules[instance.module]?.name ?? "module");
  const title = isAlone ? "Over time" : `Over time: ${name}, instance ${instance.instance}`;
  const count = intervals.start.length;
  screen.print("");
  screen.printEnds(title, `${counted(count, "interval")} of ${counted(period, "allocation")}`, paint.heading);
  screen.print(paint.faint("─".repeat(screen.width)));
  const width = (screen.isWide ? WIDE_COLUMNS : screen.width) - 2;
  const row = (label: string, values: readonly number[]): void => {
    const largest = values.reduce((most, value) => Math.max(most, value), 0);
    screen.print(
      paint.faint(`  ${label}, at most ${formatBytes(largest)}`),
      `  ${paint.bar(sparkline(values, width))}`,
    );
  };
  row("live", intervals.maxBytes);
  row("allocated in an interval", intervals.allocatedBytes);
  printSites(screen, profile, instance, rows);
  printPhases(screen, heapPhases(profile, instance));
}

/** Prints the sites with the largest amounts, each to its own scale. */
function printSites(screen: Screen, profile: HeapProfile, instance: InstanceHeap, rows: number): void {
  const largest = instance.intervals.liveBytes.reduce((most, bytes) => Math.max(most, bytes), 0);
  const sites = sitesOverTime(profile, instance).filter(({ most }) => most >= LEAST_PART * largest);
  if (sites.length < 2) return;
  const groups = groupContexts(profile, "site");
  const names = new SiteNames(profile, groups);
  screen.print(screen.paint.faint("  live by site, each to its own scale"));
  for (const { contexts, liveBytes, most } of sites.slice(0, rows)) {
    const group = groups.contexts.findIndex((own) => own[0] === contexts[0]);
    const line = sparkline(Array.from(liveBytes), SITE_COLUMNS);
    const gap = " ".repeat(SITE_COLUMNS - displayWidth(line));
    const room = screen.width - SITE_COLUMNS - AMOUNT_COLUMNS - 6;
    screen.print(
      `  ${screen.paint.bar(line)}${gap}  ${screen.paint.amount(padLeft(formatBytes(most), AMOUNT_COLUMNS))}  ${names.paint(screen, group, room)}`,
    );
  }
  if (sites.length > rows)
    screen.print(screen.paint.faint(`  … and ${plural(sites.length - rows, "more site")}`));
}

function printPhases(screen: Screen, { phases }: HeapPhases): void {
  if (phases.length < 2) return;
  const largest = phases.reduce((most, { mean }) => Math.max(most, mean), 0);
  screen.print(screen.paint.faint("  phases, by allocations"));
  for (const phase of phases)
    screen.print(
      `  ${padLeft(formatCount(phase.start), 8)} – ${padRight(formatCount(phase.end), 8)} ${padLeft(formatBytes(phase.mean), AMOUNT_COLUMNS)} ${screen.paint.bar(padRight(bar(phase.mean, largest, 8), 8))} ${screen.paint.faint(padRight(`peak ${formatBytes(phase.peak)}`, 14))}  ${nameOf(screen, phase)}`,
    );
}

function nameOf(screen: Screen, { name, agreement }: Phase): string {
  if (name === undefined) return "";
  const part = agreement < 1 ? ` (${formatPercent(agreement, 1)})` : "";
  const room = screen.width - 8 - 3 - 8 - AMOUNT_COLUMNS - 8 - 14 - 9 - displayWidth(part);
  return `in ${screen.fit(bareName(name), Math.max(8, room))}${part}`;
}
