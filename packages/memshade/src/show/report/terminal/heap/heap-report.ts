import type { BlockMeasure } from "../../../../explain/analyses/block-measure.ts";
import { draggedBlocks, dragOfContexts, lastUse } from "../../../../explain/analyses/dragged-blocks.ts";
import { shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import {
  type GranuleAccesses,
  granuleAccesses,
  placedAccesses,
} from "../../../../explain/analyses/granule-accesses.ts";
import { type ContextGroups, groupContexts, sumOf } from "../../../../explain/analyses/groups.ts";
import { capacityOf, copiedBytes, growthOf, spareBytes } from "../../../../explain/analyses/growth.ts";
import { leaks, liveAtPeak } from "../../../../explain/analyses/heap.ts";
import { marginOf } from "../../../../explain/analyses/host-stacks.ts";
import { classifySites } from "../../../../explain/analyses/hot-cold.ts";
import {
  type LiveAmount,
  type LiveKind,
  liveBlocksOf,
  liveByKind,
  reachOf,
} from "../../../../explain/analyses/live-blocks.ts";
import type { StaticObject, StaticsReport } from "../../../../explain/analyses/statics.ts";
import { temporaryBlocks } from "../../../../explain/analyses/temporary.ts";
import { heapTotals } from "../../../../explain/analyses/totals.ts";
import { neverAccessed, writtenNeverRead } from "../../../../explain/analyses/unused-blocks.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import { measure } from "../../../../explain/measures/index.ts";
import { rank } from "../../../../explain/measures/ranking.ts";
import { agreeing, counted } from "../../../../profile/model/counted.ts";
import {
  formatBlocks,
  formatBytes,
  formatCount,
  formatPercent,
  plural,
} from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../../profile/model/indices.ts";
import { isOfNativeProgram, knowsField } from "../../../../profile/model/known-fields.ts";
import { type HotColdThresholds, LLVM_THRESHOLDS } from "../../../../profile/model/memprof/hot-cold.ts";
import { NO_DRAG } from "../../../../profile/model/over-time/drag.ts";
import { LEAK_KINDS, type LeakKind } from "../../../../profile/model/suppression.ts";
import { printFindings } from "../../findings.ts";
import { amountFormat } from "../../measure-format.ts";
import {
  pathsAndSites,
  printCost,
  printNothingAllocated,
  printSummary,
  printTitle,
  printWrapped,
} from "../common/header.ts";
import { printModules } from "../common/modules.ts";
import { printRankings } from "../common/rankings.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { sparkline } from "../common/sparkline.ts";
import { displayWidth, padLeft, padRight, printable } from "../common/text.ts";
import { printBlockHistograms } from "./block-histograms.ts";
import { callerLines, DETAIL_INDENT, heaviestPathLine } from "./callers.ts";
import { printHotCold } from "./hot-cold.ts";
import { printOverTime } from "./over-time.ts";
import { SiteFacts } from "./site-facts.ts";
import { marginText, printOmitted, printSiteRows, type SiteRows } from "./site-rows.ts";

const COLUMN = 10;
const PERCENT = 8;
const USE = 11;
const USUAL_ROWS = 5;

export function printStaticData(screen: Screen, statics: StaticsReport, rows = USUAL_ROWS): void {
  const { bytes, untouchedBytes, unreadBytes, accesses, elsewhere } = statics;
  if (bytes === 0) return;
  const { heading, faint } = screen.paint;
  const least = statics.atLeast ? "at least " : "";
  const size = `${least}${formatCount(accesses)} accesses to ${formatBytes(bytes)}`;
  screen.print("");
  screen.printEnds("Static data", size, heading);
  screen.print(faint("─".repeat(screen.width)));
  printRows(screen, statics, "static-accesses", rows);
  if (elsewhere > 0)
    screen.print(
      faint(`  and ${formatCount(elsewhere)} behind it, to zeroed data without a name or the stack`),
    );
  const notRead = untouchedBytes + unreadBytes;
  if (notRead === 0) return;
  const parts = [
    ...(untouchedBytes > 0 ? [`${formatBytes(untouchedBytes)} never touched`] : []),
    ...(unreadBytes > 0 ? [`${formatBytes(unreadBytes)} written, never read`] : []),
  ];
  screen.print("", `  Not read: ${parts.join(", ")} (${formatPercent(notRead, bytes)})`);
  printRows(screen, statics, "static-unread", rows);
}

function printRows(screen: Screen, statics: StaticsReport, id: string, rows: number): void {
  const { head, unit, column } = measure(id);
  const format = amountFormat(unit);
  const values = Float64Array.from(column({ statics })!.amounts as ArrayLike<number>);
  const ranked = rank(values);
  if (ranked.length === 0) return;
  const total = values.reduce((sum, value) => sum + value, 0);
  const heads = [padLeft(head, COLUMN), padLeft("%", PERCENT), padLeft("BYTES", COLUMN)];
  screen.print(screen.paint.faint(`${heads.join("")}  ${padRight("USE", USE)}VARIABLE`));
  const width = screen.width - 2 * COLUMN - PERCENT - 2 - USE;
  for (const row of ranked.slice(0, rows)) {
    const [object, value] = [statics.objects[row]!, values[row]!];
    const cells = [padLeft(formatPercent(value, total), PERCENT), padLeft(formatBytes(object.bytes), COLUMN)];
    screen.print(
      `${screen.paint.amount(padLeft(format(value), COLUMN))}${cells.join("")}  ${padRight(object.use, USE)}${nameOf(screen, object, width)}`,
    );
  }
  printOmitted(screen, ranked.slice(rows), values, format, "variable");
}

/** Formats `crc_table (crc.c:12)`, `hits, misses share 8 B (main.c:3)`. */
function nameOf(screen: Screen, { name, kind, file, line, bytes }: StaticObject, width: number): string {
  const place = shortPlace({ file, line: line === 0 ? undefined : line });
  const sharedText = kind === "shared" ? ` share ${formatBytes(bytes)}` : "";
  const suffix = `${sharedText}${place === undefined ? "" : ` (${printable(place)})`}`;
  return `${screen.paint.strong(screen.fit(name, Math.max(1, width - displayWidth(suffix))))}${screen.paint.faint(suffix)}`;
}

/**
 * Caller lines of a site that makes up the whole table. Other sites get their share of them, but at least
 * `LEAST_CALLER_LINES`.
 */
const MOST_CALLER_LINES = 16;
const LEAST_CALLER_LINES = 4;
/** Rows that make up this part of a table's total suffice, unless the user chose a number of rows. */
const ENOUGH = 0.99;

export interface HeapReportOptions extends ScreenOptions {
  /** Sites per table; undefined for the default length of each table. */
  readonly rows?: number | undefined;
  /** Name of the profile as the user typed it, for hints. */
  readonly input: string;
  /** Limits of the hot/cold classification; undefined for LLVM's. */
  readonly thresholds?: HotColdThresholds | undefined;
  /**
   * Findings of all tools of the run, shown below the head; undefined if they are printed elsewhere or not at
   * all.
   */
  readonly findings?: readonly Finding[] | undefined;
  /** Line printed if there are no findings. */
  readonly noFindings?: string | undefined;
  readonly statics?: StaticsReport | undefined;
}

export function heapReport(profile: HeapProfile, options: HeapReportOptions): string {
  const screen = new Screen(options);
  printTitle(screen, profile);
  printModules(screen, profile.modules);
  if (profile.contexts.length === 0 && heapTotals(profile).allocations === 0) {
    printNothingAllocated(screen, profile);
    if (options.findings !== undefined && options.findings.length > 0)
      printFindings(screen, options.findings);
    if (options.statics !== undefined) printStaticData(screen, options.statics, options.rows);
    return screen.text();
  }
  printSummary(screen, profile);
  if (options.findings !== undefined) printFindings(screen, options.findings, options.noFindings);
  if (profile.contexts.length > 0) {
    new HeapSections(screen, profile, options.rows).print();
    if (options.statics !== undefined) printStaticData(screen, options.statics, options.rows);
    printBlockHistograms(screen, profile);
    // The compiler expects lifetimes in milliseconds.
    if (profile.description.clock.unit === "ms" && knowsField(profile, "totalLifetime")) {
      const thresholds = options.thresholds ?? LLVM_THRESHOLDS;
      printHotCold(screen, profile, classifySites(profile, thresholds), thresholds, options.rows ?? 8);
    }
  }
  printHints(screen, profile, options.input, options.statics !== undefined);
  printCost(screen, profile.description.presence, profile.description.totals?.profilerBytes);
  return screen.text();
}

class HeapSections {
  readonly #screen: Screen;
  readonly #profile: HeapProfile;
  readonly #rows: number | undefined;
  readonly #sites: ContextGroups;
  readonly #facts: SiteFacts;
  readonly #quiet: string[] = [];

  constructor(screen: Screen, profile: HeapProfile, rows: number | undefined) {
    this.#screen = screen;
    this.#profile = profile;
    this.#rows = rows;
    this.#sites = groupContexts(profile, "site");
    this.#facts = new SiteFacts(screen, profile);
  }

  print(): void {
    const profile = this.#profile;
    this.#printOwners(liveAtPeak(profile));
    printOverTime(this.#screen, profile, this.#rows);
    this.#printLive(leaks(profile));
    if (profile.description.counters !== "none") this.#printUnused();
    this.#printDragged(draggedBlocks(profile));
    this.#printTemporary(temporaryBlocks(profile));
    this.#printGrowth(copiedBytes(profile));
    this.#printCapacity(spareBytes(profile));
    this.#printPlaces(placedAccesses(profile));
    this.#printQuiet();
  }

  #printUnused(): void {
    this.#printFinding("Never accessed", neverAccessed(this.#profile), "every block was accessed");
    this.#printFinding(
      "Written but never read",
      writtenNeverRead(this.#profile),
      "every block that was written was also read",
    );
  }

  /** Prints the sites that make up the peak with their callers, then the sites that allocate most. */
  #printOwners(peak: BlockMeasure | undefined): void {
    const { contexts } = this.#profile;
    const bytes = contexts.mibs.totalSize;
    const totals = heapTotals(this.#profile);
    const paths = pathsAndSites(groupContexts(this.#profile, "path").length, this.#sites.length);
    if (peak !== undefined && peak.totalBytes > 0) {
      const size = sizeOf(peak);
      this.#printSection(
        "Who owns the heap at its peak",
        size,
        peak.bytes,
        formatBytes,
        8,
        this.#fullDetails,
      );
    }
    if (peak !== undefined && peak.totalBytes > 0 && this.#sites.length === 1) return;
    if (!knowsField(this.#profile, "totalSize")) return;
    const title = peak === undefined ? "Who allocates" : "Who allocates most";
    const size = `${formatBytes(totals.inContexts.bytes)} in ${paths}`;
    const details = peak === undefined ? this.#fullDetails : this.#pathDetails;
    this.#printSection(title, size, bytes, formatBytes, peak === undefined ? 8 : 5, details);
  }

  #printLive(live: BlockMeasure | undefined): void {
    const screen = this.#screen;
    const profile = this.#profile;
    if (live === undefined) return;
    if (live.totalBlocks === 0 && live.totalBytes === 0) {
      this.#quiet.push("nothing was live at the end");
      return;
    }
    this.#printHeading("Still live at the end", sizeOf(live));
    printLiveKinds(screen, profile);
    this.#printRows(live.bytes, formatBytes, 5, (contexts, values) => {
      const counted = knowsField(profile, "allocCount")
        ? this.#foundOf(live, contexts)
        : formatBlocks(sumOf(live.blocks, contexts));
      const facts = live.lacksBlocks ? undefined : counted;
      const reach = reachFacts(profile, contexts);
      return [
        ...(reach === "" ? [] : [`${" ".repeat(DETAIL_INDENT)}${reach}`]),
        ...heaviestPathLine(screen, profile, contexts, values, facts),
      ];
    });
  }

  #printFinding(title: string, finding: BlockMeasure | undefined, ifNone: string): void {
    if (finding === undefined) return;
    if (finding.totalBlocks === 0) {
      if (!finding.isLowerBound) this.#quiet.push(ifNone);
      return;
    }
    const least = finding.isLowerBound ? "at least " : "";
    const size = `${least}${formatBytes(finding.totalBytes)} in ${formatBlocks(finding.totalBlocks)}`;
    this.#printSection(title, size, finding.bytes, formatBytes, 5, (contexts, values) => {
      const facts = this.#foundOf(finding, contexts);
      return heaviestPathLine(this.#screen, this.#profile, contexts, values, facts);
    });
  }

  /** Formats `27 of 120 blocks`, or `27 ±2 of 120 ±5 blocks` if callers were sampled. */
  #foundOf({ blocks }: BlockMeasure, contexts: readonly IndexIntoContextTable[]): string {
    const { allocCount } = this.#profile.contexts.mibs;
    const margin = (column: ArrayLike<number>): string =>
      marginText(marginOf(this.#profile, column, contexts, "allocCount"), formatCount);
    const blockCount = sumOf(allocCount, contexts);
    const found = `${formatCount(sumOf(blocks, contexts))}${margin(blocks)}`;
    const ofAll = margin(allocCount);
    return `${found} of ${ofAll === "" ? formatBlocks(blockCount) : `${formatCount(blockCount)}${ofAll} blocks`}`;
  }

  /** Prints blocks that are kept after their last use, and the time of that use. */
  #printDragged(finding: BlockMeasure | undefined): void {
    if (finding === undefined) return;
    if (finding.totalBlocks === 0) {
      this.#quiet.push("no block was kept long after its last use");
      return;
    }
    const kept = this.#profile.description.totals?.keptAfterUse ?? NO_DRAG;
    const about = kept.lateFollowed < kept.lateBlocks ? "about " : "";
    const size = `${about}${formatBytes(finding.totalBytes)} in ${formatBlocks(finding.totalBlocks)}`;
    this.#printSection("Kept after the last use", size, finding.bytes, formatBytes, 5, (contexts, values) => {
      const drag = dragOfContexts(this.#profile, contexts);
      const facts = `${this.#foundOf(finding, contexts)}, last used ${formatPercent(lastUse(drag), 1)} into their life`;
      return heaviestPathLine(this.#screen, this.#profile, contexts, values, facts);
    });
  }

  #printTemporary(finding: BlockMeasure | undefined): void {
    if (finding === undefined || finding.totalBlocks === 0) return;
    const { clock } = this.#profile.description;
    const { allocations } = heapTotals(this.#profile).inContexts;
    const within =
      clock.unit === "allocations"
        ? "within one allocation"
        : finding.isLowerBound
          ? `within 1 ${printable(clock.unit)}`
          : "at once";
    const least = finding.isLowerBound ? "at least " : "";
    const share = formatPercent(finding.totalBlocks, allocations);
    const size = `${least}${formatBlocks(finding.totalBlocks)} (${share}) freed ${within}`;
    this.#printSection("Short-lived", size, finding.blocks, formatCount, 5, (contexts, values) => {
      const facts = this.#facts.life(contexts).join(" · ");
      return heaviestPathLine(this.#screen, this.#profile, contexts, values, facts);
    });
  }

  /** Prints blocks that grew by copying, with the size that would have sufficed from the start. */
  #printGrowth(copied: Float64Array | undefined): void {
    const growth = this.#profile.description.totals?.growth;
    if (copied === undefined || growth === undefined) return;
    if (growth.copiedBytes === 0) {
      this.#quiet.push("no block was copied as it grew");
      return;
    }
    const size = `${formatBytes(growth.copiedBytes)} in ${counted(growth.copies, "copy", "copies")}`;
    this.#printSection("Copied as blocks grew", size, copied, formatBytes, 5, (contexts, values) => {
      const { chains, copies, mostCopies, usedBytes, finalBytes } = growthOf(this.#profile, contexts)!;
      const isOne = chains === 1;
      const mean = (bytes: number) => `${isOne ? "" : "≈"}${formatBytes(bytes / chains)}`;
      const often = isOne
        ? counted(copies, "copy", "copies")
        : `${counted(copies, "copy", "copies")} for ${plural(chains, "block")}, at most ${mostCopies} for one`;
      const facts = `${often} · ${mean(usedBytes)} of ${mean(finalBytes)} used at the end`;
      return heaviestPathLine(this.#screen, this.#profile, contexts, values, facts);
    });
  }

  /** Prints large blocks of which less than half was used. */
  #printCapacity(spare: Float64Array | undefined): void {
    const profile = this.#profile;
    if (spare === undefined) return;
    const wide = spare.map((bytes, context) => {
      const capacity = capacityOf(profile, [context as IndexIntoContextTable])!;
      return bytes * 2 >= capacity.bytes ? bytes : 0;
    });
    const total = wide.reduce((sum, bytes) => sum + bytes, 0);
    if (total === 0) return;
    const title = "Used up to less than half";
    this.#printSection(title, `${formatBytes(total)} unused`, wide, formatBytes, 5, (contexts, values) => {
      const { blocks, bytes, unusedBytes } = capacityOf(profile, contexts)!;
      const mean = (sum: number) => `${blocks === 1 ? "" : "≈"}${formatBytes(sum / blocks)}`;
      const facts = `${mean(bytes - unusedBytes)} of ${mean(bytes)} used in ${plural(blocks, "large block")}`;
      return heaviestPathLine(this.#screen, profile, contexts, values, facts);
    });
  }

  /** Prints which parts of their blocks accesses hit, for profiles with access histograms. */
  #printPlaces(accesses: Float64Array | undefined): void {
    if (accesses === undefined) return;
    const sum = accesses.reduce((total, count) => total + count, 0);
    this.#printSection(
      "Where in their blocks accesses go",
      `${formatCount(sum)} ${agreeing(sum, "access", "accesses")}`,
      accesses,
      formatCount,
      5,
      (contexts) => accessedPlaces(this.#profile, contexts, DETAIL_INDENT),
    );
  }

  #printQuiet(): void {
    if (this.#quiet.length > 0) {
      const { heading, faint } = this.#screen.paint;
      this.#screen.print("", heading("Nothing found"));
      this.#screen.print(...this.#quiet.map((sentence) => faint(`  · ${sentence}`)));
    }
  }

  #printSection(
    title: string,
    size: string,
    values: SiteRows["values"],
    format: SiteRows["format"],
    usualRows: number,
    details: SiteRows["details"],
  ): void {
    this.#printHeading(title, size);
    this.#printRows(values, format, usualRows, details);
  }

  #printHeading(title: string, size: string): void {
    this.#screen.print("");
    this.#screen.printEnds(title, size, this.#screen.paint.heading);
    this.#screen.print(this.#screen.paint.faint("─".repeat(this.#screen.width)));
  }

  #printRows(
    values: SiteRows["values"],
    format: SiteRows["format"],
    usualRows: number,
    details: SiteRows["details"],
  ): void {
    const limit = this.#rows ?? usualRows;
    const enough = this.#rows === undefined ? ENOUGH : Number.POSITIVE_INFINITY;
    printSiteRows(this.#screen, this.#profile, {
      groups: this.#sites,
      values,
      format,
      limit,
      enough,
      details,
    });
  }

  readonly #fullDetails: SiteRows["details"] = (contexts, values, part) => {
    const lineLimit = Math.max(LEAST_CALLER_LINES, Math.round(MOST_CALLER_LINES * part));
    return [
      ...this.#facts.lines(contexts, DETAIL_INDENT),
      ...callerLines(this.#screen, this.#profile, contexts, values, DETAIL_INDENT, lineLimit),
    ];
  };

  readonly #pathDetails: SiteRows["details"] = (contexts, values) =>
    heaviestPathLine(this.#screen, this.#profile, contexts, values);
}

function sizeOf({ totalBytes, totalBlocks, lacksBlocks }: BlockMeasure): string {
  return `${formatBytes(totalBytes)}${lacksBlocks ? "" : ` in ${formatBlocks(totalBlocks)}`}`;
}

function printHints(screen: Screen, profile: HeapProfile, input: string, knowsStatics: boolean): void {
  const { faint } = screen.paint;
  screen.print("");
  if (screen.isShortened)
    screen.print(faint("Names and call paths are shortened: --wide shows them in full."));
  if (isOfNativeProgram(profile) && knowsField(profile, "totalAccessCount"))
    screen.print(faint("Not counted: accesses by the kernel or to static data (docs/native-programs.md)"));
  const keys = [
    ...(leaks(profile) === undefined ? [] : ["left"]),
    ...(reachOf(profile) === undefined ? [] : ["lost"]),
    ...(knowsField(profile, "allocCount") ? ["blocks"] : []),
    ...(knowsField(profile, "totalAccessCount") ? ["accesses", "density"] : []),
    ...(knowsField(profile, "totalLifetime") ? ["lifetime"] : []),
    ...(knowsStatics ? ["static-accesses", "static-unread"] : []),
  ];
  printRankings(screen, input, keys);
}

const HANGING = "      ";

const WORDS: { readonly [Kind in LiveKind]: string } = {
  definite: "lost",
  indirect: "indirectly lost",
  possible: "possibly lost",
  reachable: "still reachable",
  suppressed: "suppressed",
  unknown: "not known",
};

/**
 * Prints the lost part of the live blocks and the advice for it. Prints nothing if the run did not search for
 * lost blocks.
 */
function printLiveKinds(screen: Screen, profile: HeapProfile): void {
  for (const amount of liveByKind(profile) ?? []) {
    const { kind, bytes, blocks } = amount;
    const size = `${formatBytes(bytes)} in ${formatBlocks(blocks)}`;
    const word = `${WORDS[kind][0]!.toUpperCase()}${WORDS[kind].slice(1)}`;
    printWrapped(screen, `${word}: ${size}${meaningOf(amount, profile)}`, "  ", HANGING);
  }
}

function meaningOf({ kind }: LiveAmount, profile: HeapProfile): string {
  switch (kind) {
    case "definite":
      return reachOf(profile)?.hostMayHold === true
        ? ". No pointer to them is left in the module's memory; only the host may have one: " +
            "delete() or free() each as soon as it is done with."
        : ". No pointer to them is left: free each before the last pointer to it goes.";
    case "indirect":
      return ". Only lost blocks point to them: free them with those.";
    case "possible":
      return ". Only pointers into the blocks are left, or local variables may point to them.";
    case "reachable":
      return "";
    case "suppressed":
    case "unknown":
      return ", as said above.";
  }
}

/**
 * Formats `1 lost, 999 indirectly lost` for some contexts. Empty if every block is still reachable or
 * reachability is unknown.
 */
function reachFacts(profile: HeapProfile, contexts: readonly IndexIntoContextTable[]): string {
  const counts = LEAK_KINDS.map((kind: LeakKind) => {
    const measure = liveBlocksOf(profile, kind);
    return { kind, blocks: measure === undefined ? 0 : sumOf(measure.blocks, contexts) };
  }).filter(({ blocks }) => blocks > 0);
  if (counts.every(({ kind }) => kind === "reachable")) return "";
  return counts.map(({ kind, blocks }) => `${formatCount(blocks)} ${WORDS[kind]}`).join(", ");
}

const MOST_COLUMNS = 64;
const MOST_RANGES = 3;

/** Returns lines that show which parts of the contexts' blocks are accessed and which are not. */
export function accessedPlaces(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  indent: number,
): string[] {
  const places = granuleAccesses(profile, contexts);
  const { counts, granuleBytes, isCut } = places;
  if (counts.length === 0) return [];
  const most = counts.reduce((largest, count) => Math.max(largest, count), 0);
  const busiest = counts.indexOf(most);
  const margin = " ".repeat(indent);
  const facts = [
    `${formatBytes(counts.length * granuleBytes)} long`,
    ...(most === 0
      ? []
      : [`most at byte ${busiest * granuleBytes}: ${formatCount(most)}${isCut[busiest] ? " or more" : ""}`]),
    untouchedText(places),
  ];
  return [`${margin}│${sparkline([...counts], MOST_COLUMNS)}│`, `${margin}${facts.join(" · ")}`];
}

function untouchedText({ untouched }: GranuleAccesses): string {
  if (untouched.length === 0) return "all of it accessed";
  const named = untouched.slice(0, MOST_RANGES).map(({ start, end }) => `${start}–${end - 1}`);
  const more = untouched.length > MOST_RANGES ? ` and ${untouched.length - MOST_RANGES} more ranges` : "";
  return `never bytes ${named.join(", ")}${more}`;
}
