import { ownPlace } from "../../../explain/analyses/frames/own-place.ts";
import { functionInWords, placeOf, siteName } from "../../../explain/analyses/frames/place-names.ts";
import { fieldOrder, objectsByPlace, TYPICAL_SHARES } from "../../../explain/analyses/waste.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import { fieldNames } from "../../../explain/findings/waste/members.ts";
import type { WasteFinding } from "../../../explain/findings/waste/waste-finding.ts";
import { sentencesOf, wasteFindings } from "../../../explain/findings/waste/waste-findings.ts";
import { blocksOf } from "../../../explain/findings/waste/waste-words.ts";
import { firstRowOf } from "../../../explain/measures/waste.ts";
import type {
  DeadstoresFile,
  DeadstoresIp,
  LoadRecord,
  StoreRecord,
} from "../../../profile/formats/deadstores.ts";
import {
  formatBytes,
  formatCount,
  formatLeastPercent,
  formatMean,
  formatPercent,
  plural,
} from "../../../profile/model/format.ts";
import type { Presence, RunEnd } from "../../../profile/model/run.ts";
import type {
  WasteField,
  WasteFile,
  WasteFrame,
  WasteIp,
  WasteObjects,
  WasteValue,
} from "../../../profile/model/waste.ts";
import { printFindings as printSummary } from "../findings.ts";
import { printCallers } from "./common/call-path.ts";
import {
  endInWords,
  type HeadFact,
  isOfNativeRun,
  printCost,
  printFacts,
  printGaps,
  printWrapped,
} from "./common/header.ts";
import { printModules } from "./common/modules.ts";
import { printRankings } from "./common/rankings.ts";
import { Screen, type ScreenOptions } from "./common/screen.ts";
import { cutMiddle, padLeft, printable } from "./common/text.ts";

const USUAL_FINDINGS = 10;
const USUAL_OBJECTS = 5;
const INDENT = "     ";

interface WasteReportOptions extends ScreenOptions {
  readonly rows?: number | undefined;
  readonly input: string;
  /** Approximate memory of the profiler. */
  readonly presence?: Presence | undefined;
  /** End of the run; undefined if unknown. */
  readonly end?: RunEnd | undefined;
  /**
   * Findings of all tools of the run, shown below the head; undefined if they are printed elsewhere or not at
   * all.
   */
  readonly findings?: readonly Finding[] | undefined;
}

/** Reports the wasted memory operations of a run as text for a terminal. */
export function wasteReport(file: WasteFile, options: WasteReportOptions): string {
  const screen = new Screen(options);
  const { end } = options;
  screen.printEnds("Wasted memory operations", end === undefined ? "" : endInWords(end), screen.paint.strong);
  const line = printable(file.command);
  screen.print(screen.paint.faint(screen.shorten(line, (columns) => cutMiddle(line, columns), screen.width)));
  printGaps(screen, file.notTracked);
  printModules(screen, file.modules ?? []);
  if (file.modules?.length === 0) {
    screen.print("", "Nothing was recorded: there was no module that this tool could follow.");
    return screen.text();
  }
  screen.print("");
  printFacts(screen, wasteFacts(file), 14);
  // Findings too small for the summary are still listed below.
  if (options.findings !== undefined && options.findings.length > 0) printSummary(screen, options.findings);
  printFindings(screen, file, options.rows ?? USUAL_FINDINGS);
  if (file.objects !== undefined) printObjects(screen, file, options.rows ?? USUAL_OBJECTS);
  screen.print("");
  printRankings(screen, options.input, ["dead", "silent", "redundant"]);
  if (isOfNativeRun(options.presence)) printNativeLimits(screen, file.options.contexts);
  else if (file.options.engine === "brief")
    screen.print(
      screen.paint.faint("  --pairs records which instruction overwrote, repeated or re-read which"),
    );
  printCost(screen, options.presence);
  return screen.text();
}

/** Prints what every recording of a native program leaves out. */
function printNativeLimits(screen: Screen, hasContexts: boolean): void {
  const { faint } = screen.paint;
  screen.print(
    faint(
      `  Callers${hasContexts ? "" : " of memcpy, memset and the like"} are estimated from samples. Thread-local data, gather and`,
    ),
    faint("  scatter instructions are not counted, nor is the stack without --include-stack."),
    faint("  See docs/tools/waste.md"),
  );
}

/** Returns the facts in the head of a report on waste. */
export function wasteFacts({ totals, stores }: WasteFile): HeadFact[] {
  const facts: HeadFact[] = [];
  const row = (label: string, value: string) => void facts.push([label, value]);
  const { bytesWritten } = totals;
  row("Written", `${formatBytes(bytesWritten)} in ${plural(totals.stores, "store")}`);
  row(
    "Dead",
    `${formatBytes(totals.deadOverwritten)} overwritten before they were read ` +
      `(${formatPercent(totals.deadOverwritten, bytesWritten)}, ${typical("dead")}), ${formatBytes(totals.deadDeallocated)} ` +
      `unread when their block or frame ended, ${formatBytes(totals.deadExit)} at the end`,
  );
  const { hostAssumedRead, visibleAtExit = 0 } = totals;
  if (hostAssumedRead > visibleAtExit)
    row(
      "Left to host",
      `${formatBytes(hostAssumedRead - visibleAtExit)} unread when the host was in control ` +
        `(${formatPercent(hostAssumedRead - visibleAtExit, bytesWritten)}): taken as read`,
    );
  if (visibleAtExit > 0)
    row(
      "Never read",
      `${formatBytes(visibleAtExit)} by the program or at a call (${formatPercent(visibleAtExit, bytesWritten)}), and still ` +
        "there at the end, where the host can look: taken as read too",
    );
  row(
    "Silent",
    `${plural(totals.silentStores, "store")} of what was there already (${formatPercent(totals.silentStores, totals.stores)}, ${typical("silent")})`,
  );
  row(
    "Loads",
    `${formatCount(totals.loads)}, of which ${formatPercent(totals.silentLoads, totals.loads)} (${typical("redundant")}) load what ` +
      "was loaded before and has not been stored since",
  );
  const segmentBytes = stores.reduce((sum, store) => sum + (store.bytes_over_segments ?? 0), 0);
  if (segmentBytes > 0)
    row("Segments", `${formatBytes(segmentBytes)} of the module's initial data are overwritten unread`);
  return facts;
}

/** Formats `typical 7–26 %`. */
function typical(share: keyof typeof TYPICAL_SHARES): string {
  const [from, to] = TYPICAL_SHARES[share].map((part) => Math.round(100 * part));
  return `typical ${from}–${to} %`;
}

function printFindings(screen: Screen, file: WasteFile, rows: number): void {
  const { findings, folded } = wasteFindings(file);
  const namedFindings = screen.allFrames ? findings : findings.filter(({ isUnnamed }) => !isUnnamed);
  const own = namedFindings.filter(({ library }) => library === undefined);
  screen.print("", screen.paint.heading("Findings"));
  if (own.length === 0) screen.print("  No findings in the program's own code.");
  own.slice(0, rows).forEach((finding, index) => {
    const { says, advice } = sentencesOf(finding);
    printWrapped(screen, printable(says), `${padLeft(String(index + 1), 3)}. `, INDENT);
    printCallersOf(screen, finding);
    printWrapped(screen, advice, `${INDENT}→ `, `${INDENT}  `);
  });
  if (own.length > rows)
    screen.print(screen.paint.faint(`     … and ${own.length - rows} more: -n shows them`));
  const unnamed = findings.length - namedFindings.length;
  if (unnamed > 0)
    printWrapped(
      screen,
      `${plural(unnamed, "finding")} in code without names and lines: --all-frames shows ${unnamed === 1 ? "it" : "them"}`,
      "  ",
      "  ",
      screen.paint.faint,
    );

  const libraries = new Map<string, { bytes: number; sites: number; first: string }>();
  for (const { library, ips, bytes, places } of namedFindings) {
    if (library === undefined) continue;
    const sums = libraries.get(library) ?? { bytes: 0, sites: 0, first: placeOf(ips) };
    libraries.set(library, { ...sums, bytes: sums.bytes + bytes, sites: sums.sites + places });
  }
  if (libraries.size > 0) {
    screen.print("", screen.paint.heading("In libraries"));
    for (const [library, { bytes, sites, first }] of libraries)
      printWrapped(
        screen,
        printable(`${library}: ${formatBytes(bytes)} at ${plural(sites, "place")}, most at ${first}`),
        "  ",
        "    ",
      );
    if (!file.options.contexts)
      screen.print(screen.paint.faint("  Record with --contexts to see what calls them"));
  }
  if (folded.length > 0) {
    screen.print("", screen.paint.heading("Usually harmless"));
    for (const { what, bytes, sites } of folded)
      printWrapped(
        screen,
        `${what}, ${plural(sites, "place")}`,
        `  ${padLeft(formatBytes(bytes), 9)}  `,
        " ".repeat(13),
      );
  }
}

/** Callers shown per location. */
const USUAL_CALLERS = 3;

/** Prints the callers of a location: its path, or, if there are several callers, each with its part. */
function printCallersOf(screen: Screen, { ips, callers, bytes }: WasteFinding): void {
  if (callers.length < 2) {
    printPath(screen, ips, INDENT);
    return;
  }
  for (const caller of callers.slice(0, USUAL_CALLERS)) {
    const part = formatPercent(caller.bytes, bytes);
    printWrapped(
      screen,
      printable(`${part} from ${placeOf(caller.ips)}`),
      `${INDENT}← `,
      `${INDENT}  `,
      screen.paint.faint,
    );
  }
  const more = callers.length - USUAL_CALLERS;
  if (more > 0) screen.print(screen.paint.faint(`${INDENT}  … and ${plural(more, "more caller")}`));
}

/**
 * Prints the calling context of a location: its callers, from the program's own code outwards. If the
 * program's own code called a library there, its frame comes first. Prints nothing if contexts were not
 * recorded.
 */
function printPath(screen: Screen, [place, ...callers]: readonly WasteIp[], indent: string): void {
  if (place === undefined || callers.length === 0) return;
  const own = ownPlace<WasteFrame>([place, ...callers]);
  const frames = [place, ...callers].flatMap((ip) => [ip, ...(ip.inlined ?? [])]);
  const isCalled = (own?.depth ?? 0) > 0;
  const shown = frames
    .slice(isCalled || own === undefined ? 1 : frames.indexOf(own.frame as WasteIp) + 1)
    .map((frame) => ({ ...frame, name: functionInWords(frame) }));
  const { file, line } = place;
  printCallers(screen, isCalled ? [{ name: siteName(place), file, line }, ...shown] : shown, indent);
}

const LABEL_WIDTH = 15;
/** Most locations listed per kind of access to a site's blocks. */
const ACCESSING_PLACES = 3;
/** EfficiencySanitizer reports structs from this ratio on. */
const NOTABLE_DISPARITY = 1024;

/** Prints the dead bytes of blocks by allocation site, and the members of their types. */
function printObjects(screen: Screen, file: WasteFile, rows: number): void {
  const sites = objectsByPlace(file.objects ?? []);
  screen.print("", screen.paint.heading("Blocks by allocation site"));
  if (sites.length === 0) screen.print("  No blocks were allocated.");
  const shown = sites.slice(0, rows);
  const names = siteNames(shown);
  shown.forEach((site, i) => {
    printSite(screen, names[i], site, file);
  });
  if (sites.length > rows)
    screen.print(screen.paint.faint(`  … and ${plural(sites.length - rows, "more site")}: -n shows them`));
}

/** Lists the locations with the most bytes; instructions of one location are added up. */
function places(accesses: readonly { readonly ips: readonly WasteIp[]; readonly bytes: number }[]): string {
  const bytesOf = new Map<string, number>();
  for (const { ips, bytes } of accesses) bytesOf.set(placeOf(ips), (bytesOf.get(placeOf(ips)) ?? 0) + bytes);
  return [...bytesOf]
    .sort(([, a], [, b]) => b - a)
    .slice(0, ACCESSING_PLACES)
    .map(([place, bytes]) => `${place} ${formatBytes(bytes)}`)
    .join(", ");
}

/**
 * Names sites. Sites of one name (copies of an inlined function) get the frames they are inlined into, as far
 * as these differ.
 */
function siteNames(sites: readonly WasteObjects[]): string[] {
  const named = sites.map(({ ips }) => ({ name: placeOf(ips), around: framesAround(ips) }));
  return named.map(({ name, around }) => {
    const twins = named.filter((candidate) => candidate.name === name);
    const alike = (depth: number) =>
      twins.filter((twin) => twin.around.slice(0, depth).join() === around.slice(0, depth).join()).length;
    let depth = 0;
    while (depth < around.length && alike(depth) > 1) depth++;
    return [name, ...around.slice(0, depth)].join(" in ");
  });
}

/** Returns the frames that the program's own frame is inlined into, innermost first. */
function framesAround(ips: readonly WasteIp[]): string[] {
  const own = ownPlace(ips);
  const frames = [ips[0], ...(ips[0]?.inlined ?? [])];
  const at = own === undefined ? -1 : frames.indexOf(own.frame as WasteIp);
  return at < 0 ? [] : frames.slice(at + 1).map((frame) => placeOf([{ ...frame, address: 0 }]));
}

function printSite(screen: Screen, name: string, site: WasteObjects, file: WasteFile): void {
  const row = (label: string, value: string): void =>
    printWrapped(
      screen,
      printable(value),
      `    ${screen.paint.faint(label.padEnd(LABEL_WIDTH))}`,
      " ".repeat(LABEL_WIDTH + 4),
    );
  const dead = site.bytesDead === 0 ? "nothing dead" : `${formatBytes(site.bytesDead)} dead`;
  printWrapped(screen, printable(`${name}: ${blocksOf(site)}, ${dead}`), "  ", "    ");
  const part = (value: number) => formatPercent(Math.round(value * 1000), 1000);
  if (site.usage !== undefined && site.usefulLifetime !== undefined)
    row(
      "used",
      `${part(site.usage)} of their bytes, and from the first access to the last ${part(site.usefulLifetime)} of their time`,
    );
  if (site.ratioRead !== undefined && site.ratioWritten !== undefined)
    row(
      "accessed",
      `${formatMean(site.ratioRead)} ${formatMean(site.ratioRead) === "1" ? "byte" : "bytes"} read and ${formatMean(site.ratioWritten)} written per byte allocated`,
    );
  const { deadBy = [], writtenBy = [], readBy = [] } = site;
  const storesOf = (by: typeof deadBy) =>
    by.map(({ store, bytes }) => ({ ips: file.stores[store]?.ips ?? [], bytes }));
  const byAccess = [
    ["dead from", storesOf(deadBy)],
    ["written by", storesOf(writtenBy)],
    ["read by", readBy.map(({ load, bytes }) => ({ ips: file.loads[load]?.ips ?? [], bytes }))],
  ] as const;
  for (const [label, by] of byAccess) if (by.length > 0) row(label, places(by));
  // If blocks differ in size and the type is unknown, offsets have no meaning.
  if (site.varies && site.type === undefined) return;
  const named = site.type === undefined ? site.fields : site.fields.filter(({ name }) => name !== undefined);
  const sizeOf = (fields: readonly WasteField[]) => fields.reduce((sum, { size }) => sum + size, 0);
  const list = (label: string, fields: readonly WasteField[]): void => {
    if (fields.length === 0) return;
    const [names, sum] = [fieldNames(fields, site.type), `(${plural(sizeOf(fields), "byte")})`];
    row(label, names.endsWith(sum) ? names : `${names} ${sum}`);
  };
  if (!site.tail)
    list(
      "never read",
      named.filter(({ reads, writes }) => reads === 0 && writes > 0),
    );
  list(
    "never touched",
    named.filter(({ reads, writes }) => reads === 0 && writes === 0),
  );
  const padding = site.type === undefined ? 0 : sizeOf(site.fields.filter(({ name }) => name === undefined));
  if (padding > 0) row("padding", `${padding} of ${site.type?.size} bytes`);
  const order = fieldOrder(site);
  if (order === undefined) return;
  const { lines, hot, hotBytes, disparity, accesses } = order;
  if (lines.after < lines.before)
    row(
      "order",
      `${fieldNames(hot, site.type)} have ${formatPercent(
        hot.reduce((sum, field) => sum + (field.accesses ?? 0), 0),
        accesses,
      )} of the accesses: side by side their ${hotBytes} bytes need ${plural(lines.after, "line")} instead of ${lines.before}`,
    );
  if (disparity >= NOTABLE_DISPARITY)
    row("disparity", `${formatCount(disparity)}: hot members stand beside cold ones`);
}

/** Values with a smaller part of a site's redundant loads are left out. */
const LEAST_VALUE = 0.01;

/** Formats the values that redundant loads found: `98.3 % find 0`. Empty if the run did not record values. */
export function loadedValues(file: WasteFile, rows: readonly number[]): string[] {
  const first = firstRowOf(file, "loads");
  const loads = rows.flatMap((row) => file.loads[row - first] ?? []);
  const redundant = loads.reduce((sum, { nof_silent, nof_redundant = nof_silent }) => sum + nof_redundant, 0);
  const byValue = new Map<string, WasteValue>();
  for (const { values = [] } of loads)
    for (const { value, loads: count, exact } of values) {
      const existing = byValue.get(value);
      byValue.set(value, {
        value,
        loads: count + (existing?.loads ?? 0),
        exact: exact && existing?.exact !== false,
      });
    }
  const found = [...byValue.values()]
    .filter((entry) => entry.loads >= LEAST_VALUE * redundant)
    .sort((a, b) => b.loads - a.loads)
    .flatMap((entry) => {
      const part = (entry.exact ? formatPercent : formatLeastPercent)(entry.loads, redundant);
      return part === undefined ? [] : [`${part} find ${entry.value}`];
    });
  const withZeros = loads.filter(({ bytes_zero }) => bytes_zero !== undefined);
  const zero = withZeros.reduce((sum, { bytes_zero = 0 }) => sum + bytes_zero, 0);
  const loaded = withZeros.reduce((sum, { bytes_loaded }) => sum + bytes_loaded, 0);
  if (zero > 0) found.push(`${formatPercent(Math.round((1000 * zero) / loaded), 1000)} of the bytes are 0`);
  return found;
}

/**
 * Prints the same as the printer of Valgrind's deadstores tool: the largest dead stores, silent stores and
 * silent loads. Each list has at most `rows` records and none with a count of 0.
 */
export function printDeadstores({ command, stores, loads }: DeadstoresFile, rows: number): string {
  // Stable sorting keeps silent stores of equal number in the order of their dead bytes.
  const byDead = stores.toSorted((a, b) => deadBytes(b) - deadBytes(a));
  const bySilence = byDead.toSorted((a, b) => b.nof_silent - a.nof_silent);
  const silentLoads = loads.toSorted((a, b) => b.nof_silent - a.nof_silent);
  const sections = [
    section(
      "Dead stores",
      byDead.slice(0, rows).filter((store) => deadBytes(store) !== 0),
      storeLines,
    ),
    section(
      "Silent stores",
      bySilence.slice(0, rows).filter((store) => store.nof_silent !== 0),
      storeLines,
    ),
    section(
      "Silent loads",
      silentLoads.slice(0, rows).filter((load) => load.nof_silent !== 0),
      loadLines,
    ),
  ];
  return `Command: ${printable(command)}\n\n${sections.join("\n\n")}`;
}

function section<T>(title: string, records: readonly T[], linesOf: (record: T) => string[]): string {
  const entries = records.map((record) =>
    linesOf(record)
      .map((line) => `${line}\n`)
      .join(""),
  );
  return `${title}\n${"-".repeat(title.length)}\n${entries.join("\n")}`;
}

function deadBytes(store: StoreRecord): number {
  return store.bytes_written - store.bytes_read;
}

function storeLines(store: StoreRecord): string[] {
  return [
    `${address(store.ips[0]!)}:`,
    counter("bytes_written", store.bytes_written),
    counter("bytes_read", store.bytes_read),
    counter("bytes_dead", deadBytes(store)),
    counter("nof_stores", store.nof_stores),
    counter("nof_silent", store.nof_silent),
    ...stackLines(store.ips),
  ];
}

function loadLines(load: LoadRecord): string[] {
  return [
    `${address(load.ips[0]!)}:`,
    counter("nof_loads", load.nof_loads),
    counter("nof_silent", load.nof_silent),
    ...stackLines(load.ips),
  ];
}

function counter(name: string, value: number): string {
  return `  ${`${name}:`.padEnd(14)} ${String(value).padStart(8)}`;
}

function stackLines(ips: readonly DeadstoresIp[]): string[] {
  return ips.map((ip, depth) => {
    const { function: name = "???", file, line } = ip;
    const place = file === undefined ? "" : ` (in ${file}:${line ?? 0})`;
    return `    ${depth === 0 ? "at" : "by"} ${address(ip)}: ${printable(`${name}${place}`)}`;
  });
}

function address(ip: DeadstoresIp): string {
  return `0x${ip.address.toString(16).padStart(8, "0")}`;
}
