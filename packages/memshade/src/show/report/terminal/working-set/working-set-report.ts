import { fromOwn } from "../../../../explain/analyses/frames/own-place.ts";
import { bareName } from "../../../../explain/analyses/frames/place-names.ts";
import { findPhases } from "../../../../explain/analyses/working-set/phases.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import { agreeing, counted, groupDigits } from "../../../../profile/model/counted.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { Presence } from "../../../../profile/model/run.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import type {
  InstanceWorkingSet,
  TimeUnit,
  WorkingSetProfile,
} from "../../../../profile/model/working-set/working-set.ts";
import { printFindings } from "../../findings/finding-lines.ts";
import { printChain } from "../common/call-path.ts";
import { printGaps, printWrapped } from "../common/header.ts";
import { printModules } from "../common/modules.ts";
import { presenceInWords } from "../common/presence.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { sparkline } from "../common/sparkline.ts";
import { bar, cutMiddle, padLeft, padRight, printable } from "../common/text.ts";
import { printAttributions, printInterval } from "./attribution-report.ts";
import { printLocality } from "./locality-report.ts";
import { pathFrame } from "./working-set-names.ts";

export interface WorkingSetReportOptions extends ScreenOptions {
  /** Intervals listed at each scale; undefined: those that fit a screen. */
  readonly rows: number | undefined;
  readonly input: string;
  /** About how much memory the profiler took. */
  readonly presence?: Presence | undefined;
  /** Of all tools of the run, to be shown below the head; undefined: elsewhere, or not at all. */
  readonly findings?: readonly Finding[] | undefined;
}

const DEFAULT_ROWS = 16;
const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  accesses: "accesses",
  wall: "real time",
  cpu: "processor time",
};

/** How much memory a program works on, over time. docs/tools/working-set.md says what the numbers mean. */
export function workingSetReport(profile: WorkingSetProfile, options: WorkingSetReportOptions): string {
  const screen = new Screen(options);
  const { paint } = screen;
  const command = printable(commandLine(profile.command));
  const heading = `Working set of ${command === "" ? printable(profile.program) : command}`;
  screen.print(paint.heading(screen.isWide ? heading : cutMiddle(heading, screen.width)));
  printGaps(screen, profile.notTracked);
  printModules(screen, profile.modules);
  for (const [who, took] of presenceInWords(screen, options.presence))
    printWrapped(screen, `The ${who.toLowerCase()} ${took}.`, "", "  ", paint.faint);
  if (profile.options.assumeAligned)
    screen.print(paint.faint("Accesses were taken to be aligned as their hints say."));
  if (profile.instances.length === 0) screen.print("", "No module with a memory was run.");
  if (options.findings !== undefined) printFindings(screen, options.findings);
  for (const instance of profile.instances) printInstance(screen, profile, instance, options);
  return screen.text();
}

function printInstance(
  screen: Screen,
  profile: WorkingSetProfile,
  instance: InstanceWorkingSet,
  options: WorkingSetReportOptions,
): void {
  const { paint } = screen;
  const { total, levels } = instance;
  const time = (units: number) => formatTime(units, profile.unit);
  const bytes = (lines: number) => formatBytes(lines * profile.lineBytes);
  screen.print("");
  if (profile.instances.length > 1)
    screen.print(
      paint.strong(
        `${printable(profile.modules[instance.module]?.name ?? "module")}, instance ${instance.instance}`,
      ),
    );
  const lines = levels[0].counts.lines ?? [];
  screen.print(lengthInWords(profile, instance), "");
  const row = (label: string, amount: string, text: string): void =>
    printWrapped(screen, text, `${label.padEnd(11)}${amount}  `, " ".repeat(22));
  const amount = (lines = 0): string => padLeft(bytes(lines), 9);
  const { lines: touched = 0, pages4K = 0, pages64K = 0 } = total;
  row(
    "touched",
    paint.amount(amount(touched)),
    `${counted(touched, "line")} of ${profile.lineBytes} bytes, ${formatPercent(touched * profile.lineBytes, instance.memoryBytes)} of the memory of ${formatBytes(instance.memoryBytes)}`,
  );
  screen.print(
    `  read     ${amount(total.read)}`,
    `  written  ${amount(total.written)}`,
    `  both     ${amount(total.both)}`,
  );
  row(
    "pages",
    padLeft(groupDigits(pages4K), 9),
    `of 4 KiB, ${groupDigits(pages64K)} of 64 KiB; ${formatPercent(touched, pages4K * 64)} of their lines are touched`,
  );
  row(
    "where",
    padLeft("", 9),
    `heap ${bytes(total.heap ?? 0)}, static data ${bytes(total.static ?? 0)}, stack ${bytes(total.stack ?? 0)}`,
  );
  if (instance.fill !== undefined)
    row(
      "fill",
      padLeft(formatPercent(instance.fill.total, touched * profile.lineBytes), 9),
      `${groupDigits(instance.fill.total)} of the bytes of these lines are touched`,
    );
  const peak = lines.reduce((most, count) => Math.max(most, count), 0);
  const width = (screen.isWide ? 160 : screen.width) - 2;
  screen.print("", paint.strong("Timeline") + paint.faint(`, up to ${bytes(peak)} per interval`));
  screen.print(`  ${paint.bar(sparkline(lines, width))}`);
  screen.print(paint.faint(`  new: ${bytes(sum(levels[0].fresh.slice(0, 1)))} in the first interval`));
  screen.print(`  ${paint.bar(sparkline(levels[0].fresh, width))}`);

  printPhases(screen, instance, time, bytes);
  screen.print("", paint.strong("Scales") + paint.faint("  (mean and largest working set of an interval)"));
  for (const level of levels) {
    const counts = level.counts.lines ?? [];
    screen.print(
      `  ${padLeft(time(instance.period * level.factor), 10)}  ${padLeft(plural(counts.length, "interval"), 14)}  mean ${padLeft(bytes(sum(counts) / Math.max(1, counts.length)), 9)}  largest ${padLeft(bytes(counts.reduce((most, count) => Math.max(most, count), 0)), 9)}`,
    );
  }
  printIntervals(screen, instance, options.rows ?? DEFAULT_ROWS, time, bytes);
  printAttributions(screen, instance, options.rows, bytes);
  if (instance.locality !== undefined) printLocality(screen, instance.locality, options.rows);
}

/** `38,000 accesses in 19 intervals of 2,000`. */
export function lengthInWords({ unit }: WorkingSetProfile, instance: InstanceWorkingSet): string {
  const { duration, period, incomplete, levels } = instance;
  const intervals = `in ${plural(levels[0].counts.lines?.length ?? 0, "interval")} of ${formatTime(period, unit)}`;
  const least = incomplete === true ? "at least " : "";
  return unit === "accesses"
    ? `${least}${formatTime(duration, unit)} ${agreeing(duration, "access", "accesses")} ${intervals}`
    : `${formatTime(duration, unit)} ${intervals} (${UNIT_NAMES[unit]})`;
}

function printPhases(
  screen: Screen,
  instance: InstanceWorkingSet,
  time: (units: number) => string,
  bytes: (lines: number) => string,
): void {
  const phases = findPhases(instance);
  screen.print("", screen.paint.strong("Phases"));
  const largest = phases.reduce((most, { meanLines }) => Math.max(most, meanLines), 0);
  for (const { start, end, meanLines, peakLines, name, agreement, stack } of phases) {
    const where =
      name === undefined
        ? ""
        : `in ${screen.fit(bareName(name), agreement < 1 ? 13 : 21)}${agreement < 1 ? ` (${formatPercent(agreement, 1)})` : ""}`;
    screen.print(
      `  ${padLeft(time(start), 8)} – ${padRight(time(end), 8)} ${padLeft(bytes(meanLines), 9)} ${screen.paint.bar(padRight(bar(meanLines, largest, 8), 8))} ${screen.paint.faint(`peak ${bytes(peakLines)}`)}  ${where}`,
    );
    const frames = instance.stacks[stack] ?? [];
    const isCalledByScript = frames.some(({ host }) => host !== undefined);
    // What a package does is nobody's own, and mostly without names.
    const shown = isCalledByScript ? fromOwn(frames).stack : frames;
    printChain(screen, shown.map(pathFrame), "      at ");
  }
}

/** The scale that fits, interval by interval. */
function printIntervals(
  screen: Screen,
  instance: InstanceWorkingSet,
  rows: number,
  time: (units: number) => string,
  bytes: (lines: number) => string,
): void {
  const fitting = instance.levels.findIndex(({ start }) => start.length <= rows);
  const number = fitting < 0 ? instance.levels.length - 1 : fitting;
  const level = instance.levels[number];
  const { counts, start, end, fresh, lastIsPartial } = level;
  screen.print("", screen.paint.strong(`Intervals of ${time(instance.period * level.factor)}`));
  screen.print(
    screen.paint.faint(
      `  ${padLeft("until", 9)} ${padLeft("lines", 10)} ${padLeft("bytes", 8)} ${padLeft("read", 8)} ${padLeft("written", 8)} ${padLeft("both", 8)} ${padLeft("new", 8)}`,
    ),
  );
  start.forEach((_, i) => {
    const of = (measure: "read" | "written" | "both") => padLeft(bytes(counts[measure]?.[i] ?? 0), 8);
    const lines = counts.lines?.[i] ?? 0;
    const isLast = i === start.length - 1;
    const partial = !isLast ? "" : instance.incomplete ? " incomplete" : lastIsPartial ? " partial" : "";
    screen.print(
      `  ${padLeft(time(end[i]), 9)} ${padLeft(groupDigits(lines), 10)} ${padLeft(bytes(lines), 8)} ${of("read")} ${of("written")} ${of("both")} ${padLeft(bytes(fresh[i]), 8)}${partial}`,
    );
    printInterval(screen, instance, number, i);
  });
}

/** `1.2 M` accesses, `20 ms`, `3.4 s`. */
export function formatTime(units: number, unit: TimeUnit): string {
  if (unit === "accesses") return formatCount(units);
  const ms = units / 1e6;
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`;
  return ms < 120_000
    ? `${Number((ms / 1000).toPrecision(3))} s`
    : `${Number((ms / 60_000).toPrecision(3))} min`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
