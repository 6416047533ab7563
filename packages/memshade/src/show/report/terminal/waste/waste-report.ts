import { placeOf } from "../../../../explain/analyses/frames/place-names.ts";
import { TYPICAL_SHARES } from "../../../../explain/analyses/waste/typical.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import type { WasteFinding } from "../../../../explain/findings/waste/waste-finding.ts";
import { sentencesOf, wasteFindings } from "../../../../explain/findings/waste/waste-findings.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { Presence, RunEnd } from "../../../../profile/model/run.ts";
import type { WasteFile } from "../../../../profile/model/waste/waste.ts";
import { printFindings as printSummary } from "../../findings/finding-lines.ts";
import { endInWords, type HeadFact, printFacts, printGaps, printWrapped } from "../common/header.ts";
import { printModules } from "../common/modules.ts";
import { presenceInWords } from "../common/presence.ts";
import { printRankings } from "../common/rankings.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { cutMiddle, padLeft, printable } from "../common/text.ts";
import { printObjects } from "./waste-objects.ts";
import { printPath } from "./waste-path.ts";

const USUAL_FINDINGS = 10;
const USUAL_OBJECTS = 5;
const INDENT = "     ";

export interface WasteReportOptions extends ScreenOptions {
  /** Findings to show. */
  readonly rows?: number | undefined;
  readonly input: string;
  /** About how much memory the profiler took. */
  readonly presence?: Presence | undefined;
  /** How the run ended, where that is known. */
  readonly end?: RunEnd | undefined;
  /** Of all tools of the run, to be shown below the head; undefined: elsewhere, or not at all. */
  readonly findings?: readonly Finding[] | undefined;
}

/** What a run did to memory in vain, as text for a terminal. */
export function wasteReport(file: WasteFile, options: WasteReportOptions): string {
  const screen = new Screen(options);
  const { end } = options;
  screen.printEnds("Wasted memory operations", end === undefined ? "" : endInWords(end), screen.paint.strong);
  const line = printable(file.command);
  screen.print(screen.paint.faint(screen.shorten(line, cutMiddle(line, screen.width))));
  printGaps(screen, file.notTracked);
  printModules(screen, file.modules ?? []);
  if (file.modules?.length === 0) {
    screen.print("", "Nothing was recorded: there was no module that this tool could follow.");
    return screen.text();
  }
  screen.print("");
  printFacts(screen, [...wasteFacts(file), ...presenceInWords(screen, options.presence)], 14);
  // What is too small for a summary may stand below.
  if (options.findings !== undefined && options.findings.length > 0) printSummary(screen, options.findings);
  printFindings(screen, file, options.rows ?? USUAL_FINDINGS);
  if (file.objects !== undefined) printObjects(screen, file, options.rows ?? USUAL_OBJECTS);
  screen.print("");
  printRankings(screen, options.input, ["dead", "silent", "redundant"]);
  // Native programs, whose modules nobody rewrites in memory, have no more than this engine.
  if (file.options.engine === "brief" && options.presence?.modules !== 0)
    screen.print(
      screen.paint.faint("  Record with --pairs to see who overwrote, repeated and loaded before"),
    );
  return screen.text();
}

/** What the head of a report on waste says. */
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
    row(
      "Segments",
      `${formatBytes(segmentBytes)} of the data that the module brought along are overwritten: they are no constants`,
    );
  return facts;
}

/** `typical 7–26 %` */
function typical(share: keyof typeof TYPICAL_SHARES): string {
  const [from, to] = TYPICAL_SHARES[share].map((part) => Math.round(100 * part));
  return `typical ${from}–${to} %`;
}

function printFindings(screen: Screen, file: WasteFile, rows: number): void {
  const { findings, folded } = wasteFindings(file);
  const known = screen.allFrames ? findings : findings.filter(({ isUnnamed }) => !isUnnamed);
  const own = known.filter(({ library }) => library === undefined);
  screen.print("", screen.paint.heading("Findings"));
  if (own.length === 0) screen.print("  Nothing in the program's own code is worth a sentence.");
  own.slice(0, rows).forEach((finding, index) => {
    const { says, advice } = sentencesOf(finding);
    printWrapped(screen, printable(says), `${padLeft(String(index + 1), 3)}. `, INDENT);
    printCallersOf(screen, finding);
    printWrapped(screen, advice, `${INDENT}→ `, `${INDENT}  `);
  });
  if (own.length > rows)
    screen.print(screen.paint.faint(`     … and ${own.length - rows} more: -n shows them`));
  const unnamed = findings.length - known.length;
  if (unnamed > 0)
    printWrapped(
      screen,
      `${plural(unnamed, "finding")} in code that has neither names nor lines: --all-frames shows ${unnamed === 1 ? "it" : "them"}`,
      "  ",
      "  ",
      screen.paint.faint,
    );

  const libraries = new Map<string, { bytes: number; sites: number; first: string }>();
  for (const { library, ips, bytes, places } of known) {
    if (library === undefined) continue;
    const one = libraries.get(library) ?? { bytes: 0, sites: 0, first: placeOf(ips) };
    libraries.set(library, { ...one, bytes: one.bytes + bytes, sites: one.sites + places });
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
    screen.print("", screen.paint.heading("Harmless as a rule"));
    for (const { what, bytes, sites } of folded)
      printWrapped(
        screen,
        `${what}, ${plural(sites, "place")}`,
        `  ${padLeft(formatBytes(bytes), 9)}  `,
        " ".repeat(13),
      );
  }
}

/** Callers of one place that are named. */
const USUAL_CALLERS = 3;

/** Who called a place: its path, or, where it has several, each of them with its part. */
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
