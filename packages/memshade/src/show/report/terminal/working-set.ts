import { fromOwn } from "../../../explain/analyses/frames/own-place.ts";
import { bareName } from "../../../explain/analyses/frames/place-names.ts";
import { binned, binStart, COMMON_CACHES, ValueHistogram } from "../../../explain/analyses/locality.ts";
import { attributedPlaces, findPhases, functionsOfInterval } from "../../../explain/analyses/working-set.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import { sum } from "../../../ground/bytes/numbers.ts";
import { LINE_BYTES } from "../../../ground/bytes/sizes.ts";
import { agreeing, counted, groupDigits } from "../../../profile/model/counted.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../profile/model/format.ts";
import type { Presence } from "../../../profile/model/run.ts";
import { commandLine } from "../../../profile/model/shell-words.ts";
import type {
  Attribution,
  AttributionKind,
  InstanceWorkingSet,
  LocalityRecord,
  StackFrame,
  TimeUnit,
  WorkingSetProfile,
} from "../../../profile/model/working-set/working-set.ts";
import { printFindings } from "../findings.ts";
import { curveSizes, footprintOf, linesOf, missRatioCurve } from "../json/locality.ts";
import { type PathFrame, printCallers, printChain } from "./common/call-path.ts";
import { isOfNativeRun, printCost, printGaps, printWrapped } from "./common/header.ts";
import { printModules } from "./common/modules.ts";
import { Screen, type ScreenOptions } from "./common/screen.ts";
import { sparkline } from "./common/sparkline.ts";
import { bar, cutMiddle, displayWidth, padLeft, padRight, printable } from "./common/text.ts";

/** Formats `func[79]` for a function without a name. */
function functionName({ name, function: index }: StackFrame): string {
  return name ?? `func[${index}]`;
}

/** Describes a frame for chains of calls: the name has no arguments, templates or result. */
export function pathFrame(frame: StackFrame): PathFrame {
  const { file, line, library } = frame;
  const name = frame.name === undefined ? functionName(frame) : bareName(frame.name);
  return { name, file, line, library };
}

const KIND_NAMES: Readonly<Record<AttributionKind, string>> = {
  code: "code",
  host: "(the host)",
  stack: "(stack)",
  static: "(static data)",
  heap: "(heap, no block)",
  mapping: "(mapped file)",
  unknown: "(not known)",
};

/** Names an owner of lines that is not code. */
function kindName({ kind, of }: { kind: AttributionKind; of?: string | undefined }): string {
  const name = KIND_NAMES[kind];
  return of === undefined ? name : `${name.slice(0, -1)}: ${printable(of)})`;
}

/**
 * Formats `sweep(char*) sweep.c:7 via memset`, `sweep(char*) +0x1f3`; code without debug information is named
 * by its offset.
 */
function nameOf(
  screen: Screen,
  {
    frame,
    via,
    kind,
    of,
    file,
    line,
  }: {
    readonly frame?: StackFrame | undefined;
    readonly via?: StackFrame | undefined;
    readonly kind?: AttributionKind | undefined;
    readonly of?: string | undefined;
    readonly file?: string | undefined;
    readonly line?: number | undefined;
  },
  width: number,
): string {
  if (frame === undefined)
    return screen.paint.faint(kind === undefined ? "(bulk memory instructions)" : kindName({ kind, of }));
  const path = file === undefined ? undefined : printable(file);
  const name = functionName(frame);
  const source = screen.isWide ? path : path?.split(/[/\\]/).at(-1);
  const called = via === undefined ? "" : ` via ${printable(pathFrame(via).name)}`;
  const place =
    source !== undefined
      ? `${source}:${line}`
      : frame.offset === undefined
        ? ""
        : `+0x${frame.offset.toString(16)}`;
  const room = Math.max(12, width - place.length - 1);
  const whole = screen.isWhole || displayWidth(name + called) <= room ? called : "";
  if (whole !== called) screen.isShortened = true;
  return `${screen.fit(name, room - displayWidth(whole))} ${screen.paint.faint(place + whole)}`;
}

const SERIES = 8;
const FACTOR = 4;
const LINES_PER_KB = 16;
const LINES_PER_MB = 16_384;

/**
 * Formats the first instance like EfficiencySanitizer's working-set tool, whose lines begin with a process
 * id.
 */
export function esanReport(profile: WorkingSetProfile, pid: number): string {
  const prefix = `==${pid}==`;
  const lines: string[] = [];
  const [instance] = profile.instances;
  const levels = instance?.levels ?? [];
  const whole = (level: (typeof levels)[number] | undefined) => {
    const counts = level?.counts.lines ?? [];
    // An incomplete period yields no sample.
    return level?.lastIsPartial ? counts.slice(0, -1) : counts;
  };
  lines.push(`${prefix} Total number of samples: ${whole(levels[0]).length}`);
  for (let series = 0; series < SERIES; series++) {
    const period = (instance?.period ?? profile.options.interval) * FACTOR ** series;
    lines.push(`${prefix} Samples array #${series} at period ${esanPeriod(period, profile.unit)}`);
    whole(levels[series]).forEach((count, sample) => {
      const size = esanSize(count);
      lines.push(
        `${prefix}#${String(sample).padStart(4)}: ${String(size.amount).padStart(8)} ${size.unit} (${String(count).padStart(9)} cache lines)`,
      );
    });
  }
  const total = instance?.total.lines ?? 0;
  const { amount, unit } = esanSize(total);
  lines.push(
    `${prefix} EfficiencySanitizer: the total working set size: ${amount} ${unit} (${total} cache lines)`,
  );
  return `${lines.join("\n")}\n`;
}

/** Converts lines to bytes up to 160 lines, to whole KB up to 163,840 lines, then to whole MB. */
export function esanSize(lines: number): { amount: number; unit: string } {
  if (lines > 10 * LINES_PER_MB) return { amount: Math.floor(lines / LINES_PER_MB), unit: "MB" };
  if (lines > 10 * LINES_PER_KB) return { amount: Math.floor(lines / LINES_PER_KB), unit: "KB" };
  return { amount: lines * 64, unit: "Bytes" };
}

/**
 * Formats milliseconds up to 10,000, whole seconds up to 600,000 ms, then whole minutes; virtual time in
 * accesses.
 */
function esanPeriod(units: number, unit: TimeUnit): string {
  if (unit === "accesses") return `${units} accesses`;
  const ms = Math.round(units / 1e6);
  if (ms > 600_000) return `${Math.floor(ms / 60_000)} min`;
  return ms > 10_000 ? `${Math.floor(ms / 1000)} sec` : `${ms} ms`;
}

interface WorkingSetReportOptions extends ScreenOptions {
  /** Intervals listed at each scale; undefined for as many as fit a screen. */
  readonly rows: number | undefined;
  readonly input: string;
  /** Approximate memory of the profiler. */
  readonly presence?: Presence | undefined;
  /**
   * Findings of all tools of the run, shown below the head; undefined if they are printed elsewhere or not at
   * all.
   */
  readonly findings?: readonly Finding[] | undefined;
  /** Line printed if there are no findings. */
  readonly noFindings?: string | undefined;
}

const DEFAULT_ROWS = 16;
const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  accesses: "accesses",
  wall: "real time",
  cpu: "processor time",
};

/** Reports the working set of a program over time. docs/tools/working-set.md explains the figures. */
export function workingSetReport(profile: WorkingSetProfile, options: WorkingSetReportOptions): string {
  const screen = new Screen(options);
  const { paint } = screen;
  const command = printable(commandLine(profile.command));
  const heading = `Working set of ${command === "" ? printable(profile.program) : command}`;
  screen.print(paint.heading(screen.isWhole ? heading : cutMiddle(heading, screen.width)));
  printGaps(screen, profile.notTracked);
  printModules(screen, profile.modules);
  if (profile.options.assumeAligned)
    screen.print(paint.faint("Accesses are assumed to be aligned as their hints say."));
  if (profile.instances.length === 0) screen.print("", "No module with a memory was run.");
  if (options.findings !== undefined) printFindings(screen, options.findings, options.noFindings);
  for (const instance of profile.instances) printInstance(screen, profile, instance, options);
  if (isOfNativeRun(options.presence))
    screen.print(
      "",
      paint.faint("Accesses to the stack and by the kernel are not counted: docs/tools/working-set.md"),
    );
  printCost(screen, options.presence);
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
    const place =
      name === undefined
        ? ""
        : `in ${screen.fit(bareName(name), agreement < 1 ? 13 : 21)}${agreement < 1 ? ` (${formatPercent(agreement, 1)})` : ""}`;
    screen.print(
      `  ${padLeft(time(start), 8)} – ${padRight(time(end), 8)} ${padLeft(bytes(meanLines), 9)} ${screen.paint.bar(padRight(bar(meanLines, largest, 8), 8))} ${screen.paint.faint(`peak ${bytes(peakLines)}`)}  ${place}`,
    );
    const frames = instance.stacks[stack] ?? [];
    const isCalledByScript = frames.some(({ host }) => host !== undefined);
    // Frames of a package are not the program's own and rarely have names.
    const shown = isCalledByScript ? fromOwn(frames).stack : frames;
    printChain(screen, shown.map(pathFrame), "      at ");
  }
}

/** Prints each interval at the finest scale that fits. */
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

/** Formats `1.2 M` accesses, `20 ms`, `3.4 s`. */
function formatTime(units: number, unit: TimeUnit): string {
  if (unit === "accesses") return formatCount(units);
  const ms = units / 1e6;
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`;
  return ms < 120_000
    ? `${Number((ms / 1000).toPrecision(3))} s`
    : `${Number((ms / 60_000).toPrecision(3))} min`;
}

const DEFAULT_SITES = 10;
/** Fewer sampled lines are no reliable sample. */
const FEW_LINES = 20;
const NAME_WIDTH = 51;
const REUSE_WIDTH = 20;
/** Caches larger than the whole working set give no new figures; one is enough. */
const CACHES_BEYOND = 1;

/** Prints miss ratios of caches, footprints and the instructions that miss, recorded with `--locality`. */
function printLocality(screen: Screen, locality: LocalityRecord, rows: number | undefined): void {
  const { paint } = screen;
  const { references, rate } = locality;
  const lines = linesOf(locality);
  const methodText = `SHARDS, ${formatPercent(rate, 1)}: ${formatCount(locality.sampled)} references`;
  screen.print("", paint.strong("Locality"));
  screen.print(
    paint.faint(`${formatCount(references)} references to ${plural(lines, "line")}; ${methodText}`),
  );
  if (rate < 1 && locality.cold < FEW_LINES)
    screen.print(
      paint.warning(
        `The sample of ${plural(Math.round(locality.cold), "line")} is small: --locality-rate 1 records all lines.`,
      ),
    );
  printCurve(screen, locality);
  printFootprint(screen, locality);
  printReuse(screen, locality);
  printSites(screen, locality, rows ?? DEFAULT_SITES);
}

function printCurve(screen: Screen, locality: LocalityRecord): void {
  const { paint } = screen;
  const curve = missRatioCurve(locality);
  const sizes = curveSizes(locality);
  const ratios = sizes.map((size) => curve.at(size));
  const [first] = sizes;
  const last = sizes.at(-1) ?? first;
  screen.print(
    `misses of fully associative LRU caches, ${formatBytes(first * LINE_BYTES)} to ${formatBytes(last * LINE_BYTES)}: ${formatPercent(ratios[0], 1)} to ${formatPercent(ratios.at(-1) ?? 0, 1)}`,
    `  ${paint.bar(sparkline(ratios, screen.width - 2))}`,
  );
  let beyond = 0;
  for (const { name, bytes } of COMMON_CACHES) {
    const size = bytes / LINE_BYTES;
    if (size >= linesOf(locality) && beyond++ === CACHES_BEYOND) break;
    const ratio = curve.at(size);
    screen.print(
      `  ${padRight(name, 42)} ${padLeft(formatPercent(ratio, 1), 7)} ${paint.bar(bar(ratio, Math.max(ratios[0], ratio), 20))}`,
    );
  }
}

/** Prints the footprint of a few windows, longest last. */
function printFootprint(screen: Screen, locality: LocalityRecord): void {
  const points = footprintOf(locality);
  if (points.length === 0) return;
  screen.print(
    screen.paint.faint("footprint: lines in so many references, on average"),
    `  ${screen.paint.bar(
      sparkline(
        points.map(({ lines }) => lines),
        screen.width - 2,
      ),
    )}`,
  );
  const step = Math.max(1, Math.ceil(points.length / 4));
  const shown = points.filter((_, i) => (points.length - 1 - i) % step === 0);
  screen.print(
    `  ${shown.map(({ references, lines }) => `${formatCount(references)}: ${formatBytes(lines * LINE_BYTES)}`).join("   ")}`,
  );
}

/** Prints reuse distances and times by powers of two, as two lines of blocks. */
function printReuse(screen: Screen, locality: LocalityRecord): void {
  const total = locality.distances.reduce((sum, [, weight]) => sum + weight, 0);
  if (total <= 0) return;
  for (const [title, entries, unit] of [
    ["reuse distance", locality.distances, "lines"],
    ["reuse time", locality.times, "references"],
  ] as const) {
    const histogram = new ValueHistogram();
    for (const [value, weight] of entries) histogram.add(value, weight);
    const bins = binned(histogram);
    const most = bins.indexOf(Math.max(...bins));
    screen.print(
      `${padRight(title, 15)} ${screen.paint.bar(padRight(sparkline(bins, REUSE_WIDTH), Math.min(REUSE_WIDTH, bins.length)))}  ${screen.paint.faint(`0 to ${formatCount(binStart(bins.length))} ${unit}, mostly from ${formatCount(binStart(most))}`)}`,
    );
  }
}

function printSites(screen: Screen, locality: LocalityRecord, rows: number): void {
  const { sites, otherSites, sitesAtLines, rate } = locality;
  const missing = sites.filter(({ misses }) => misses > 0);
  if (missing.length === 0) return;
  const { paint } = screen;
  const total = sites.reduce((sum, { misses }) => sum + misses, otherSites.misses);
  screen.print("", paint.strong(`Most misses of a cache of ${formatBytes(sitesAtLines * LINE_BYTES)}`));
  screen.print(
    paint.faint(`  ${padLeft("misses", 8)} ${padLeft("part", 7)} ${padLeft("cold", 8)}  instruction`),
  );
  for (const site of missing.slice(0, rows)) {
    const { misses, cold } = site;
    screen.print(
      `  ${padLeft(formatCount(misses / rate), 8)} ${padLeft(formatPercent(misses, total), 7)} ${padLeft(formatCount(cold / rate), 8)}  ${nameOf(screen, site, NAME_WIDTH)}`,
    );
  }
  const omitted = Math.max(0, missing.length - rows) + (otherSites.misses > 0 ? otherSites.sites : 0);
  if (omitted > 0) screen.print(paint.faint(`  ${plural(omitted, "more instruction")}`));
}

const DEFAULT_PLACES = 8;
const CALLERS_INDENT = " ".repeat(33);
/** Most functions named per interval. */
const MOST_PER_INTERVAL = 4;
/** Smaller parts of an interval are not named. */
const LEAST_PART = 0.01;

/** Prints the code that touched the lines first and the owners of the lines, recorded with `--who`. */
function printAttributions(
  screen: Screen,
  { firstTouch, owners }: InstanceWorkingSet,
  rows: number | undefined,
  bytes: (lines: number) => string,
): void {
  const most = rows ?? DEFAULT_PLACES;
  if (owners !== undefined) {
    const title = "Owners  (whose blocks the lines of an interval hold, on average)";
    printPlaces(screen, title, owners, "mean", most, bytes);
  }
  if (firstTouch !== undefined) {
    const title = "First touches  (lines that a place was the first to touch in the run)";
    printPlaces(screen, title, firstTouch, "total", most, bytes);
  }
}

function printPlaces(
  screen: Screen,
  title: string,
  attribution: Attribution,
  by: "mean" | "total",
  rows: number,
  bytes: (lines: number) => string,
): void {
  const { paint } = screen;
  const [head, ...more] = title.split("  ");
  const places = attributedPlaces(attribution, by === "mean" ? "owners" : "firstTouch").filter(
    (place) => place[by] > 0,
  );
  const sum = places.reduce((total, place) => total + place[by], 0);
  screen.print("", paint.strong(head) + paint.faint(`  ${more.join("  ")}`));
  screen.print(
    paint.faint(
      `  ${padLeft(by === "mean" ? "interval" : "run", 9)} ${padLeft("part", 7)} ${padLeft(by === "mean" ? "run" : "interval", 10)}  ${by === "mean" ? "allocated in" : "touched in"}`,
    ),
  );
  for (const { kind, of, stack, total, mean } of places.slice(0, rows)) {
    const [value, other] = by === "mean" ? [mean, total] : [total, mean];
    const own = fromOwn(stack);
    const [frame, ...callers] = own.stack;
    const name =
      frame === undefined
        ? paint.faint(kindName({ kind, of }))
        : nameOf(
            screen,
            { frame, via: own.via, file: frame.file, line: frame.line },
            screen.width - CALLERS_INDENT.length,
          );
    screen.print(
      `  ${paint.amount(padLeft(bytes(value), 9))} ${padLeft(formatPercent(value, sum), 7)} ${padLeft(bytes(other), 10)}  ${name}`,
    );
    printCallers(screen, callers.map(pathFrame), CALLERS_INDENT);
  }
  const omitted = Math.max(0, places.length - rows) + attribution.otherContexts.contexts;
  if (omitted > 0) screen.print(paint.faint(`  … and ${plural(omitted, "more place")}: -n shows more`));
}

/** Prints a line per attribution of an interval: `first touched by parse 45 %, grow 30 %`. */
function printInterval(
  screen: Screen,
  { firstTouch, owners, fill, levels }: InstanceWorkingSet,
  level: number,
  interval: number,
): void {
  const lines = levels[level].counts.lines?.[interval] ?? 0;
  if (lines === 0) return;
  const indent = " ".repeat(12);
  const bytes = fill?.levels[level]?.bytes[interval];
  if (bytes !== undefined)
    screen.print(screen.paint.faint(`${indent}${formatPercent(bytes, lines * 64)} of their bytes touched`));
  for (const [words, attribution] of [
    ["owners", owners],
    ["first touched by", firstTouch],
  ] as const) {
    if (attribution === undefined) continue;
    let line = `${indent}${words}`;
    let count = 0;
    for (const { kind, of, frame, lines: own } of functionsOfInterval(attribution, level, interval)) {
      if (own < LEAST_PART * lines || count === MOST_PER_INTERVAL) break;
      const name = frame === undefined ? kindName({ kind, of }) : screen.fit(functionName(frame), 24);
      const next = `${line}${count === 0 ? " " : ", "}${printable(name)} ${formatPercent(own, lines)}`;
      if (!screen.isWide && displayWidth(next) > screen.width) break;
      line = next;
      count++;
    }
    if (count > 0) screen.print(screen.paint.faint(line));
  }
}
