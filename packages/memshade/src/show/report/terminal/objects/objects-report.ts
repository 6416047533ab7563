import { fromOwn } from "../../../../explain/analyses/frames/own-place.ts";
import {
  AGE_BOUNDS,
  busiestPaths,
  equalStretches,
  liveAt,
  objectTotals,
  type Survival,
  survivalBy,
  typeName,
  typesByIndex,
  unreadFields,
  unreadTypes,
  wholeSurvival,
} from "../../../../explain/analyses/objects.ts";
import { LEAST_BYTES } from "../../../../explain/findings/heap-blocks.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import { agreeing } from "../../../../profile/model/counted.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { ModuleObjects, ObjectsProfile, ObjectType } from "../../../../profile/model/objects.ts";
import type { Presence } from "../../../../profile/model/run.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import type { StackFrame } from "../../../../profile/model/working-set/working-set.ts";
import { printFindings } from "../../findings.ts";
import { printChain } from "../common/call-path.ts";
import { printCost, printGaps, printWrapped } from "../common/header.ts";
import { printModules } from "../common/modules.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { sparkline } from "../common/sparkline.ts";
import { cutMiddle, displayWidth, padLeft, padRight, printable } from "../common/text.ts";
import { pathFrame } from "../working-set.ts";
import { printAllocated, siteInWords } from "./allocated-over-time.ts";

export const DEFAULT_ROWS = 15;

/**
 * Prints fields that are never read, `Node.debugName: 4 B in 1.2 M objects, never read`, and types of which
 * nothing is read.
 */
export function printUnread(screen: Screen, profile: ObjectsProfile, rows: number | undefined): void {
  const { strong, faint, amount } = screen.paint;
  if (!profile.fields) {
    screen.print("", faint("Reads and writes of fields were not counted (--no-fields)."));
    return;
  }
  const fields = unreadFields(profile);
  if (fields.length > 0)
    screen.print("", strong("Fields that are never read") + faint("  (bytes of all objects that were made)"));
  const shownFields = shown(fields, ({ bytes }) => bytes, rows);
  for (const { name, each, bytes, objects, written, isOfLanguage } of shownFields) {
    const languageMark = isOfLanguage ? " (the language's)" : "";
    const facts = `${formatBytes(each)} in ${plural(objects, "object")}, ${written ? "only written" : "never read"}${languageMark}`;
    const fitting = screen.fit(name, screen.width - 15 - displayWidth(facts));
    screen.print(`  ${amount(padLeft(formatBytes(bytes), 9))}  ${strong(fitting)}: ${facts}`);
  }
  printMore(screen, fields.length - shownFields.length, "field");
  const types = unreadTypes(profile);
  if (types.length > 0)
    screen.print("", strong("Types that are never read") + faint("  (no field or element of any object)"));
  const shownTypes = shown(types, ({ type }) => type.bytes, rows);
  for (const { type } of shownTypes) {
    const isWritten = type.fields.some(({ unwritten }) => !unwritten);
    const says = `${plural(type.objects, "object")}, ${isWritten ? "only written" : "never read"}`;
    const fitting = screen.fit(typeName(type), screen.width - 15 - displayWidth(says));
    screen.print(`  ${amount(padLeft(formatBytes(type.bytes), 9))}  ${strong(fitting)}: ${says}`);
  }
  printMore(screen, types.length - shownTypes.length, "type");
}

/** Returns as many rows as the user chose, else those large enough for a finding. */
function shown<Row>(
  candidates: readonly Row[],
  bytesOf: (row: Row) => number,
  rows: number | undefined,
): readonly Row[] {
  return rows === undefined
    ? candidates.filter((row) => bytesOf(row) >= LEAST_BYTES).slice(0, DEFAULT_ROWS)
    : candidates.slice(0, rows);
}

const WIDTH = 11;

/** Prints the age of objects in use by type: the bytes allocated since the object was made. */
export function printAges(screen: Screen, part: ModuleObjects, rows: number): void {
  const { sites, samples } = part;
  const live = [...survivalBy(part, (sample) => sites[samples.site[sample]!]!.type)].sort(
    ([, a], [, b]) => b.bytes - a.bytes,
  );
  if (live.length === 0) return;
  const { strong, faint } = screen.paint;
  const last = AGE_BOUNDS.length - 1;
  const heads = [
    ...AGE_BOUNDS.map((bound) => `< ${formatBytes(bound)}`),
    `≥ ${formatBytes(AGE_BOUNDS[last]!)}`,
  ];
  screen.print("", strong("In use by age") + faint("  (estimated; age is in bytes allocated since)"));
  screen.print(faint(`  ${heads.map((head) => padLeft(head, WIDTH)).join(" ")}  ${padLeft("±", 9)}  TYPE`));
  const names = typesByIndex(part);
  for (const [type, { ages, error }] of live.slice(0, rows)) {
    const columns = ages.map((bytes) => padLeft(bytes === 0 ? "" : formatBytes(bytes), WIDTH)).join(" ");
    const name = screen.fit(typeName(names.get(type)!), screen.width - 2 - (WIDTH + 1) * ages.length - 13);
    screen.print(`  ${columns}  ${padLeft(formatBytes(error), 9)}  ${name}`);
  }
}

export interface ObjectsReportOptions extends ScreenOptions {
  /** Rows per table; undefined for the rows that are large enough. */
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

/** Columns before the names of types and sites. */
const COLUMNS_WIDTH = 46;

/** Margin of the lines below a site, and the most columns of a type's name in them. */
const DETAIL_MARGIN = " ".repeat(12);
const LONGEST_TYPE = 30;

/**
 * Reports the garbage-collected objects of a program: types, sites, and how many stay in use.
 * docs/tools/objects.md explains the figures.
 */
export function objectsReport(profile: ObjectsProfile, options: ObjectsReportOptions): string {
  const screen = new Screen(options);
  const { paint } = screen;
  const command = printable(commandLine(profile.command));
  const heading = `Objects of ${command === "" ? printable(profile.program) : command}`;
  screen.print(paint.heading(screen.isWhole ? heading : cutMiddle(heading, screen.width)));
  printGaps(screen, profile.notTracked);
  printModules(screen, profile.modules);
  printWrapped(screen, sizesInWords(profile), "", "  ", paint.faint);
  if (profile.parts.length === 0) screen.print("", "No module with garbage-collected objects was run.");
  if (options.findings !== undefined) printFindings(screen, options.findings, options.noFindings);
  const rows = options.rows ?? DEFAULT_ROWS;
  for (const part of profile.parts) printPart(screen, profile, part, rows);
  printUnread(screen, profile, options.rows);
  printCost(screen, options.presence);
  return screen.text();
}

/** Formats `Sizes are those of a model of V8 …`. */
export function sizesInWords({ sizes }: ObjectsProfile): string {
  const { engine, references, structHeader, arrayHeader } = sizes;
  return `Sizes are those of a model of ${engine}, not measured: ${structHeader} bytes before fields, ${arrayHeader} before elements, references of ${references}.`;
}

/**
 * Returns why the report has no figures of objects in use; with `--sample-bytes 0` it has none over time
 * either.
 */
export function notFollowedInWords({ sampleBytes }: ObjectsProfile): string {
  return sampleBytes === 0
    ? "No object was followed (--sample-bytes 0): what is in use, and what was made over time, are not known."
    : `No object was followed, as one in ${formatBytes(sampleBytes)} is (--sample-bytes): what is in use is not known.`;
}

function printPart(screen: Screen, profile: ObjectsProfile, part: ModuleObjects, rows: number): void {
  const { paint } = screen;
  const { objects, bytes, types, sites } = objectTotals({ ...profile, parts: [part] });
  screen.print("");
  if (profile.parts.length > 1)
    screen.print(paint.strong(printable(profile.modules[part.module]?.name ?? "module")));
  const made = `in ${plural(objects, "object")} of ${plural(types, "type")} at ${plural(sites, "site")}`;
  printWrapped(screen, made, `allocated  ${paint.amount(padLeft(formatBytes(bytes), 9))}  `, " ".repeat(22));
  const live = wholeSurvival(part);
  if (live !== undefined) {
    const followed = part.samples.site.length;
    const most = part.samples.settled ? "" : "at most, ";
    const estimate = `${most}± ${formatBytes(live.error)}: an estimate by ${plural(followed, "object")} that ${agreeing(followed, "was", "were")} followed`;
    printWrapped(
      screen,
      estimate,
      `in use     ${paint.amount(padLeft(`≈${formatBytes(live.bytes)}`, 9))}  `,
      " ".repeat(22),
    );
    printOverTime(screen, part);
  } else printWrapped(screen, notFollowedInWords(profile), "", "  ", paint.faint);
  printTypes(screen, part, bytes, rows);
  printSites(screen, part, bytes, rows);
  printAllocated(screen, part);
  printAges(screen, part, rows);
}

function printOverTime(screen: Screen, part: ModuleObjects): void {
  const width = (screen.isWide ? 160 : screen.width) - 2;
  const live = liveAt(part, equalStretches(part, width));
  if (live === undefined) return;
  const peak = live.reduce((most, bytes) => Math.max(most, bytes), 0);
  const { strong, faint, bar } = screen.paint;
  screen.print(
    "",
    strong("In use over time") + faint(`, up to ≈${formatBytes(peak)}; time is in bytes allocated`),
    `  ${bar(sparkline(live, width))}`,
  );
}

const HEAD = `  ${padLeft("BYTES", 9)} ${padLeft("PART", 7)} ${padLeft("OBJECTS", 11)} ${padLeft("IN USE", 11)}  `;

function printTypes(screen: Screen, part: ModuleObjects, total: number, rows: number): void {
  const { sites, samples } = part;
  const live = survivalBy(part, (sample) => sites[samples.site[sample]!]!.type);
  const types = part.types.filter(({ objects }) => objects > 0).sort((a, b) => b.bytes - a.bytes);
  screen.print("", screen.paint.strong("Types"), screen.paint.faint(`${HEAD}TYPE`));
  for (const type of types.slice(0, rows)) {
    const details = [
      ...(type.kind === "array" ? [`${formatCount(type.elements)} elements`] : []),
      ...(type.constant > 0 ? [`${formatCount(type.constant)} constant`] : []),
    ];
    const detail = details.join(", ");
    const width = room(screen) - (detail === "" ? 0 : displayWidth(detail) + 1);
    const name = screen.fit(typeName(type), width);
    screen.print(
      `${amounts(type, total, live.get(type.index), samples.site.length > 0)}${screen.paint.strong(name)} ${screen.paint.faint(detail)}`,
    );
  }
  printMore(screen, types.length - rows, "type");
}

function printSites(screen: Screen, part: ModuleObjects, total: number, rows: number): void {
  const { samples } = part;
  const live = survivalBy(part, (sample) => samples.site[sample]!);
  const paths = busiestPaths(part);
  const names = typesByIndex(part);
  const order = part.sites.map((_, site) => site).sort((a, b) => part.sites[b]!.bytes - part.sites[a]!.bytes);
  screen.print("", screen.paint.strong("Sites"), screen.paint.faint(`${HEAD}SITE`));
  for (const index of order.slice(0, rows)) {
    const site = part.sites[index]!;
    screen.print(
      `${amounts(site, total, live.get(index), samples.site.length > 0)}${siteInWords(screen, site, room(screen))}`,
    );
    printTypeAndCallers(screen, names.get(site.type), paths.get(index) ?? []);
  }
  printMore(screen, order.length - rows, "site");
}

/** Prints type and callers below a site. */
function printTypeAndCallers(
  screen: Screen,
  type: ObjectType | undefined,
  stack: readonly StackFrame[],
): void {
  const made = type === undefined ? "" : screen.fit(typeName(type), LONGEST_TYPE);
  const own = fromOwn(stack).stack;
  const callers = own.length < stack.length ? own : own.slice(1);
  if (callers.length === 0) screen.print(screen.paint.faint(`${DETAIL_MARGIN}${made}`));
  else printChain(screen, callers.map(pathFrame), `${DETAIL_MARGIN}${made} ← `);
}

/** Formats the columns before the name of a row. */
function amounts(
  { bytes, objects }: { readonly bytes: number; readonly objects: number },
  total: number,
  live: Survival | undefined,
  isFollowed: boolean,
): string {
  const inUse = !isFollowed ? "" : live === undefined ? "—" : `≈${formatBytes(live.bytes)}`;
  return `  ${padLeft(formatBytes(bytes), 9)} ${padLeft(formatPercent(bytes, total), 7)} ${padLeft(formatCount(objects), 11)} ${padRight("", 11 - displayWidth(inUse))}${inUse}  `;
}

function room(screen: Screen): number {
  return screen.width - COLUMNS_WIDTH;
}

function printMore(screen: Screen, hiddenCount: number, noun: string): void {
  if (hiddenCount > 0)
    screen.print(screen.paint.faint(`  … and ${plural(hiddenCount, `more ${noun}`)}: -n N shows them`));
}
