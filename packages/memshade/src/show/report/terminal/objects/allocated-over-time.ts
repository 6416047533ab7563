import { bareName, functionInWords, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import {
  type ObjectPhase,
  objectIntervals,
  objectPhases,
  objectSitesOverTime,
} from "../../../../explain/analyses/objects.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { ModuleObjects, ObjectSite } from "../../../../profile/model/objects.ts";
import { type Screen, shortenName } from "../common/screen.ts";
import { sparkline } from "../common/sparkline.ts";
import { bar, cutStart, displayWidth, padLeft, padRight, printable } from "../common/text.ts";

/** Longest location before it is cut: `link_implementation.dart:155` is. */
const LONGEST_PLACE = 20;

/** Formats `parse (parse.kt:88)`, or the code offset if there is no line. */
export function siteInWords(screen: Screen, { frame, offset }: ObjectSite, width: number): string {
  if (frame === undefined) return `offset 0x${offset.toString(16)}`;
  const line = shortPlace({ file: frame.file, line: frame.line });
  const shown = line === undefined ? `0x${offset.toString(16)}` : printable(line);
  const place = ` (${screen.isWhole ? shown : cutStart(shown, LONGEST_PLACE)})`;
  const name = functionInWords({ function: frame.name ?? `func[${frame.function}]` });
  const nameWidth = Math.max(8, width - displayWidth(place));
  return (
    screen.paint.strong(screen.shorten(name, (columns) => shortenName(name, columns), nameWidth)) +
    screen.paint.faint(place)
  );
}

const SITES_SHOWN = 5;
/** Sites whose part of every interval is smaller are left out. */
const LEAST_PART = 0.01;
/** Columns of a site's line, and of the amount after it. */
const SITE_COLUMNS = 30;
const AMOUNT_COLUMNS = 9;
const WIDE_COLUMNS = 160;

/** Prints allocations over time: number of objects, sites and phases. */
export function printAllocated(screen: Screen, part: ModuleObjects): void {
  const intervals = objectIntervals(part);
  if (intervals === undefined) return;
  const { strong, faint, bar: drawn } = screen.paint;
  const width = (screen.isWide ? WIDE_COLUMNS : screen.width) - 2;
  screen.print(
    "",
    strong("Allocated over time") +
      faint(`, in ${plural(intervals.end.length, "interval")}; time is in bytes allocated`),
    faint(`  objects in an interval, at most ${formatCount(mostOf(intervals.objects))}`),
    `  ${drawn(sparkline(intervals.objects, width))}`,
  );
  printSites(screen, part, mostOf(intervals.bytes));
  printPhases(screen, objectPhases(part));
}

function mostOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function printSites(screen: Screen, part: ModuleObjects, largest: number): void {
  const sites = objectSitesOverTime(part).filter(({ most }) => most >= LEAST_PART * largest);
  if (sites.length < 2) return;
  screen.print(screen.paint.faint("  bytes in an interval by site, each to its own scale"));
  for (const { site, bytes, most } of sites.slice(0, SITES_SHOWN)) {
    const line = sparkline(bytes, SITE_COLUMNS);
    const gap = " ".repeat(SITE_COLUMNS - displayWidth(line));
    const room = screen.width - SITE_COLUMNS - AMOUNT_COLUMNS - 6;
    screen.print(
      `  ${screen.paint.bar(line)}${gap}  ${screen.paint.amount(padLeft(formatBytes(most), AMOUNT_COLUMNS))}  ${siteInWords(screen, part.sites[site]!, room)}`,
    );
  }
  if (sites.length > SITES_SHOWN)
    screen.print(screen.paint.faint(`  … and ${plural(sites.length - SITES_SHOWN, "more site")}`));
}

function printPhases(screen: Screen, phases: readonly ObjectPhase[]): void {
  if (phases.length < 2) return;
  const largest = mostOf(phases.map(({ objects }) => objects));
  screen.print(screen.paint.faint("  phases, by bytes allocated, and the objects made in them"));
  for (const phase of phases)
    screen.print(
      `  ${padLeft(formatBytes(phase.start), AMOUNT_COLUMNS)} – ${padRight(formatBytes(phase.end), AMOUNT_COLUMNS)} ${padLeft(formatCount(phase.objects), 11)} ${screen.paint.bar(padRight(bar(phase.objects, largest, 8), 8))}  ${nameOf(screen, phase)}`,
    );
}

function nameOf(screen: Screen, { name, agreement }: ObjectPhase): string {
  if (name === undefined) return "";
  const part = agreement < 1 ? ` (${formatPercent(agreement, 1)})` : "";
  const room = screen.width - 2 * AMOUNT_COLUMNS - 11 - 8 - 12 - displayWidth(part);
  return `in ${screen.fit(bareName(name), Math.max(8, room))}${part}`;
}
