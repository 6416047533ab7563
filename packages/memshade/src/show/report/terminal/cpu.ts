import { type HotPlace, hotPlaces, threadShares } from "../../../explain/analyses/cpu.ts";
import { bareName, shortPlace } from "../../../explain/analyses/frames/place-names.ts";
import { sampledFunctions } from "../../../explain/analyses/sampled-functions.ts";
import { CPU_VALUES, type CpuProfile } from "../../../profile/model/cpu.ts";
import { formatCount, formatPercent, plural } from "../../../profile/model/format.ts";
import { NONE } from "../../../profile/model/indices.ts";
import type { SampleFrame } from "../../../profile/model/sample-profile.ts";
import { commandLine } from "../../../profile/model/shell-words.ts";
import { printChain } from "./common/call-path.ts";
import { type HeadFact, printFacts, printGaps } from "./common/header.ts";
import { Screen, type ScreenOptions } from "./common/screen.ts";
import { cutMiddle, displayWidth, padLeft, printable } from "./common/text.ts";

interface CpuReportOptions extends ScreenOptions {
  /** Locations and functions listed; undefined for as many as fit a screen. */
  readonly rows?: number | undefined;
  readonly input: string;
}

const PLACES = 8;
const FUNCTIONS = 10;
const THREADS = 6;
const LABEL_COLUMNS = 12;
const SHARE_COLUMNS = 8;
/** Least columns of a function name. */
const LEAST_NAME = 20;
const NS_PER_SECOND = 1e9;

/** Reports the CPU time of a native program: lines of its own code with their callers, then functions. */
export function cpuReport(profile: CpuProfile, options: CpuReportOptions): string {
  const screen = new Screen(options);
  const { samples, program, command, notTracked } = profile;
  screen.print(
    screen.paint.strong(
      `CPU time of ${screen.isWhole ? printable(program) : cutMiddle(printable(program), 60)}`,
    ),
  );
  if (command.length > 0) {
    const line = printable(commandLine(command));
    screen.print(
      screen.paint.faint(screen.shorten(line, (columns) => cutMiddle(line, columns), screen.width)),
    );
  }
  printGaps(screen, notTracked);
  screen.print("");
  printFacts(screen, cpuFacts(profile), LABEL_COLUMNS);
  if (samples.samples.length === 0) return screen.text();
  const places = hotPlaces(samples, CPU_VALUES.samples);
  printHeading(
    screen,
    "Where the CPU time goes",
    `${plural(places.length, "place")} of the program's own code`,
  );
  printRows(screen, places, options.rows ?? PLACES, (place) => printPlace(screen, profile, place));
  printFunctions(screen, profile, options.rows ?? FUNCTIONS);
  screen.printShortened();
  return screen.text();
}

/** Converts samples to seconds of CPU time. */
function seconds({ hz }: CpuProfile, samples: number): string {
  return `${(samples / hz).toFixed(2)} s`;
}

/** Counts samples, lost ones included. */
function totalOf({ samples }: CpuProfile): number {
  return samples.samples.values[CPU_VALUES.samples]!.reduce((sum, value) => sum + value, 0);
}

export function cpuFacts(profile: CpuProfile): HeadFact[] {
  const { samples, hz, endedEarly } = profile;
  const total = totalOf(profile);
  const { length, timeMs = [] } = samples.samples;
  const last = timeMs.at(-1);
  const during = last === undefined ? "" : ` in ${((last * 1e6) / NS_PER_SECOND).toFixed(2)} s`;
  const facts: HeadFact[] = [
    ["Samples", `${formatCount(length)}${during}, ${hz} per second of CPU time: ${seconds(profile, total)}`],
  ];
  if (length === 0) return facts;
  const shares = threadShares(samples, CPU_VALUES.samples);
  const named = shares.slice(0, THREADS).map(({ name, threads, value }) => {
    const times = threads === 1 ? "" : ` ×${threads}`;
    return `${printable(name) || "(no name)"}${times} ${formatPercent(value, total)}`;
  });
  const more = shares.length > THREADS ? `, … ${shares.length - THREADS} more names` : "";
  facts.push(["Threads", named.join(", ") + more]);
  if (endedEarly > 0)
    facts.push(["Stacks", `${formatPercent(endedEarly, length)} of the samples have no whole call path`]);
  return facts;
}

function printHeading(screen: Screen, title: string, size: string): void {
  screen.print("");
  screen.printEnds(title, size, screen.paint.heading);
}

function printRows<Row>(screen: Screen, rows: readonly Row[], most: number, print: (row: Row) => void): void {
  for (const row of rows.slice(0, most)) print(row);
  if (rows.length > most)
    screen.print(screen.paint.faint(`  … and ${rows.length - most} more: -n N shows them`));
}

function printPlace(screen: Screen, profile: CpuProfile, { frame, value, via, path, paths }: HotPlace): void {
  const { samples } = profile;
  const share = padLeft(formatPercent(value, totalOf(profile)), SHARE_COLUMNS);
  const time = padLeft(seconds(profile, value), SHARE_COLUMNS);
  const lead = `${share} ${time}  `;
  if (frame === NONE) {
    screen.print(`${lead}[no stack]`);
    return;
  }
  const called = via === NONE ? "" : `, in ${bareName(samples.frames[via]!.function)}`;
  const place = shortPlace(samples.frames[frame]!);
  const at = place === undefined ? "" : `  ${printable(place)}`;
  const most = screen.width - lead.length - displayWidth(at);
  const library = screen.shorten(
    called,
    (columns) => (displayWidth(printable(called)) <= columns ? printable(called) : ""),
    Math.max(0, most - LEAST_NAME),
  );
  const room = Math.min(screen.width - 40, most - displayWidth(library));
  const text = screen.fit(samples.frames[frame]!.function, Math.max(LEAST_NAME, room));
  screen.print(`${screen.paint.amount(lead)}${text}${at}${library}`);
  const indent = " ".repeat(lead.length);
  const callers = path.slice(1).map((frame) => pathFrame(samples.frames[frame]!));
  printChain(screen, callers, `${indent}${paths === 1 ? "" : `of ${paths} paths `}← `);
}

function pathFrame({ function: name, file, line, library }: SampleFrame) {
  return { name: bareName(name), file, line, library };
}

function printFunctions(screen: Screen, profile: CpuProfile, most: number): void {
  const { samples } = profile;
  const all = totalOf(profile);
  const functions = sampledFunctions(samples, CPU_VALUES.samples);
  printHeading(screen, "Functions", "themselves, and with what they called");
  screen.print(screen.paint.faint(`${padLeft("self", SHARE_COLUMNS)}${padLeft("total", SHARE_COLUMNS + 1)}`));
  printRows(screen, functions, most, ({ name, module, self, total }) => {
    const moduleText = module === undefined || name.includes(module) ? "" : ` [${module}]`;
    const numbers = [self, total].map((value, i) => padLeft(formatPercent(value, all), SHARE_COLUMNS + i));
    screen.print(
      `${screen.paint.amount(numbers.join(""))}  ${screen.fit(name, screen.width - 19 - moduleText.length)}${printable(moduleText)}`,
    );
  });
}
