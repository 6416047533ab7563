import { areAccessesCut } from "../../../../explain/analyses/granule-accesses.ts";
import { heapTotals } from "../../../../explain/analyses/totals.ts";
import { gapsOf } from "../../../../explain/measures/gaps.ts";
import {
  formatBlocks,
  formatBytes,
  formatCount,
  formatLifetime,
  plural,
} from "../../../../profile/model/format.ts";
import type { HeapProfile, ModuleKnowledge } from "../../../../profile/model/heap-profile.ts";
import { knowsField } from "../../../../profile/model/known-fields.ts";
import type {
  Clock,
  Presence,
  ProcessCost,
  ProcessMemory,
  RunAllocator,
  RunChild,
  RunEnd,
  RunThreads,
} from "../../../../profile/model/run.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import type { Screen } from "./screen.ts";
import { cutMiddle, printable, wrapWords } from "./text.ts";

const SAID = "what the profiler took";

/**
 * Prints the cost of profiling at the end of a report, unless an earlier part of the same report printed it.
 */
export function printCost(screen: Screen, presence: Presence | undefined, profilerBytes?: number): void {
  const facts: HeadFact[] = presenceInWords(screen, presence);
  if (facts.length === 0 && presence === undefined && profilerBytes !== undefined)
    facts.push(["Profiler", `used ${formatBytes(profilerBytes)} of memory for itself`]);
  if (facts.length === 0) return;
  screen.print("", screen.paint.heading("Cost of profiling"));
  printFacts(screen, facts, 12);
}

/**
 * Returns the memory that profiler and process used, as labels with predicates. Empty if unknown or printed
 * before.
 */
export function presenceInWords(
  screen: Screen,
  presence: Presence | undefined,
): [who: "Profiler" | "Process", took: string][] {
  if (presence === undefined || screen.printedSentences.has(SAID)) return [];
  screen.printedSentences.add(SAID);
  const { modules, shadow, recorded, process } = presence;
  const rewrote =
    `used ${formatBytes(shadow)} for shadow memory and tables, ${formatBytes(modules)} for rewritten modules and ` +
    `${formatBytes(recorded)} for recorded data, without its own code and the engine's code of the modules`;
  // Native programs have no rewritten modules.
  const profiler =
    modules === 0
      ? `used ${formatBytes(shadow)} for tables and ${formatBytes(recorded)} for recorded data`
      : rewrote;
  return [["Profiler", profiler], ...(process === undefined ? [] : [processInWords(process)])];
}

function processInWords({
  peakBytes,
  processorMs,
  rewritingMs,
  profileMs,
  profilerAlone,
}: ProcessCost): ["Process", string] {
  const time = (ms: number): string => formatLifetime(ms, { kind: "wall", unit: "ms" });
  return [
    "Process",
    `used ${formatBytes(peakBytes)} at its peak and ${time(processorMs)} of processor time, ${profilerAlone === true ? "the profiler's alone, without the browser" : "program and profiler together"}; ` +
      `${time(rewritingMs)} of that rewrote modules and ${time(profileMs)} made the profile`,
  ];
}

const GAPS_SHOWN = 12;
const ALLOCATORS_SHOWN = 3;

/** Prints the program, how it ended, and what the profile does not cover. */
export function printTitle(screen: Screen, profile: HeapProfile): void {
  const { program, command, end } = profile.description;
  const title = `Heap profile${program === undefined ? "" : ` of ${screen.isWhole ? printable(program) : cutMiddle(printable(program), screen.width / 2)}`}`;
  screen.printEnds(title, end === undefined ? "" : endInWords(end), screen.paint.strong);
  if (command !== undefined && command.length > 0) {
    const line = printable(commandLine(command));
    screen.print(
      screen.paint.faint(screen.shorten(line, (columns) => cutMiddle(line, columns), screen.width)),
    );
  }
  if (end?.message !== undefined)
    printWrapped(screen, printable(end.message), "  ", "  ", screen.paint.warning);
  printGaps(screen, gapsOf(profile));
}

/** Prints the gaps of a profile that this report has not printed yet. */
export function printGaps(screen: Screen, sentences: readonly string[]): void {
  const gaps = sentences.filter((gap) => !screen.printedSentences.has(gap));
  for (const gap of gaps) screen.printedSentences.add(gap);
  if (gaps.length === 0) return;
  screen.print("", screen.paint.warning("! Read this first"));
  const limit = screen.isWide ? gaps.length : GAPS_SHOWN;
  for (const gap of gaps.slice(0, limit))
    printWrapped(screen, printable(gap), "  · ", "    ", screen.paint.warning);
  if (gaps.length > limit)
    screen.print(screen.paint.warning(`  · … and ${gaps.length - limit} more: --wide shows them`));
}

/** Returns how to have accesses counted, unless a gap has the reason why they cannot be. */
function uncountedInWords({ description }: HeapProfile): string {
  if (description.counters !== "none") return "not known";
  const hasReason = description.notTracked.some((gap) => gap.startsWith("Accesses were not counted"));
  return hasReason ? "not counted" : "not counted: --tool heap counts them";
}

/** Returns true if a run with this cost is of a native program, none of whose modules is rewritten in memory. */
export function isOfNativeRun(presence: Presence | undefined): boolean {
  return presence?.modules === 0;
}

/** Line of a report's head: a label, empty if it is that of the line above, and a text. */
export type HeadFact = readonly [label: string, value: string];

export function printSummary(screen: Screen, profile: HeapProfile): void {
  screen.print("");
  printFacts(screen, heapFacts(screen, profile), 12);
}

/** Prints head lines whose labels take `columns` columns. */
export function printFacts(screen: Screen, facts: readonly HeadFact[], columns: number): void {
  for (const [label, value] of facts)
    printWrapped(screen, value, `  ${screen.paint.faint(label.padEnd(columns))}`, " ".repeat(columns + 2));
}

export function heapFacts(screen: Screen, profile: HeapProfile): HeadFact[] {
  const { clock, counters, host, importedFrom, totals } = profile.description;
  const { allocations, allocatedBytes, heapAccesses } = heapTotals(profile);
  const facts: HeadFact[] = [];
  const line = (label: string, value: string) => void facts.push([label, value]);
  const { frees, peakBytes, peakBlocks, liveBytes, liveBlocks, otherAccesses } = totals ?? {};
  const blocks = (bytes: number | undefined, count: number | undefined) =>
    bytes === undefined
      ? undefined
      : `${formatBytes(bytes)}${count === undefined ? ` (blocks ${NOT_RECORDED})` : ` in ${formatBlocks(count)}`}`;
  const freed = frees === undefined ? "" : `, ${formatCount(frees)} of them freed`;
  const allocated = blocks(allocatedBytes, knowsField(profile, "allocCount") ? allocations : undefined);
  line("Allocated", knowsField(profile, "totalSize") ? `${allocated}${freed}` : NOT_RECORDED);
  const peak = blocks(peakBytes, peakBlocks);
  line("Peak", peak ?? (totals === undefined ? "not known" : NOT_RECORDED));
  if (totals !== undefined) {
    const live = blocks(liveBytes, liveBlocks);
    line("At the end", live === undefined ? NOT_RECORDED : `${live} still live`);
    const resident = memoryInWords(profile.description.presence?.memory, liveBytes);
    if (resident !== undefined) line("Resident", resident);
  }
  const elsewhere = otherAccesses === undefined ? "" : `, ${formatCount(otherAccesses)} elsewhere in memory`;
  line(
    "Accesses",
    knowsField(profile, "totalAccessCount")
      ? `${formatCount(heapAccesses)}${areAccessesCut(profile) ? " or more" : ""} to heap blocks${elsewhere}`
      : (readAndWritten(profile) ?? (importedFrom === undefined ? uncountedInWords(profile) : NOT_RECORDED)),
  );
  line("Lifetimes", knowsField(profile, "totalLifetime") ? lifetimesInWords(clock) : NOT_RECORDED);
  if (importedFrom !== undefined) line("Recorded by", importedFrom);
  if (counters !== undefined && counters !== "none")
    line(
      "Counters",
      counters === "merged"
        ? "exact for every block (merged inside basic blocks)"
        : "exact for every granule",
    );
  if (host !== undefined && host.leftOut > 0) {
    const all = formatCount(host.asked + host.leftOut);
    line(
      "Callers",
      `in JavaScript: sampled at ${formatCount(host.asked)} of ${all} calls; figures with ≈ are estimates`,
    );
  }
  const threads = threadsInWords(totals?.threads ?? []);
  if (threads !== undefined) line("Threads", threads);
  allocatorsInWords(profile).forEach((words, index) => {
    line(index === 0 ? "Allocator" : "", words);
  });
  const { children } = profile.description;
  if (children !== undefined) line("Children", childrenInWords(children));
  facts.push(...binaryFacts(screen, profile, "Binaries"));
  return facts;
}

/** Formats a native program's memory beside its live blocks; undefined if it was not recorded. */
function memoryInWords(memory: ProcessMemory | undefined, liveBytes: number | undefined): string | undefined {
  if (memory === undefined) return undefined;
  const { residentBytes, peakBytes, allocator } = memory;
  const parts = [
    ...(liveBytes === undefined ? [] : [`${formatBytes(liveBytes)} live`]),
    ...(allocator === undefined ? [] : [`${formatBytes(allocator.freeBytes)} kept free by the allocator`]),
  ];
  const detail = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  return `${formatBytes(residentBytes)} at the end (peak ${formatBytes(peakBytes)})${detail}`;
}

/** Names of child programs shown; those that allocated most come first. */
const CHILDREN_SHOWN = 5;

function childrenInWords(children: readonly RunChild[]): string {
  const largest = children.toSorted((a, b) => (b.allocatedBytes ?? 0) - (a.allocatedBytes ?? 0));
  const names = [...new Set(largest.map(({ program }) => printable(program)))];
  const more = names.length > CHILDREN_SHOWN ? ", …" : "";
  const shown = names.length === 0 ? "" : ` (${names.slice(0, CHILDREN_SHOWN).join(", ")}${more})`;
  return `${formatCount(children.length)} with runs of their own${shown}`;
}

const THREADS_SHOWN = 6;

/** Lists the threads that allocate, largest first; undefined for a single thread. */
function threadsInWords(threadGroups: readonly RunThreads[]): string | undefined {
  if (threadGroups.reduce((sum, { threads }) => sum + threads, 0) < 2) return undefined;
  const named = threadGroups
    .toSorted((a, b) => b.allocatedBytes - a.allocatedBytes)
    .map(({ name, threads, allocations, allocatedBytes }) => {
      const times = threads === 1 ? "" : ` ×${threads}`;
      return `${printable(name) || "(no name)"}${times} ${formatBytes(allocatedBytes)} in ${formatBlocks(allocations)}`;
    });
  const more = named.length > THREADS_SHOWN ? [`… ${named.length - THREADS_SHOWN} more names`] : [];
  return [...named.slice(0, THREADS_SHOWN), ...more].join(", ");
}

/** Value shown for figures that another tool's file lacks. */
const NOT_RECORDED = "not recorded";

/** Formats bytes read and written, for profiles that count them in place of accesses. */
function readAndWritten({ contexts: { site } }: HeapProfile): string | undefined {
  if (site?.readBytes === undefined || site.writtenBytes === undefined) return undefined;
  const sum = (column: Float64Array) => column.reduce((total, bytes) => total + bytes, 0);
  return `${formatBytes(sum(site.readBytes))} read from heap blocks, ${formatBytes(sum(site.writtenBytes))} written`;
}

function lifetimesInWords({ kind, unit }: Clock): string {
  if (kind === "wall") return `in ${printable(unit)} (wall clock)`;
  const done = unit === "allocations" ? "made" : "executed";
  return `in ${printable(unit)} ${done} meanwhile (virtual clock)`;
}

/** Prints possible reasons why no allocation was recorded. */
export function printNothingAllocated(screen: Screen, profile: HeapProfile): void {
  screen.print("", screen.paint.strong("No allocations were recorded."));
  const advice: string[] = [];
  for (const { name, allocator } of profile.modules) {
    // The head of the report explains a module without an allocator.
    if (allocator === undefined || allocator.functions.length === 0) continue;
    const functions = allocator.functions.map((hooked) => hooked.name ?? `func[${hooked.index}]`);
    advice.push(`${name}: the program never called its allocator (${functions.join(", ")}).`);
  }
  if (advice.length === 0 && profile.modules.every(({ allocator }) => allocator === undefined))
    advice.push("No WebAssembly module with an allocator was run, or the program ended before it allocated.");
  if (advice.length > 0) screen.print("");
  for (const sentence of advice) printWrapped(screen, printable(sentence), "  · ", "    ");
}

const HOW_FOUND: { readonly [How in Exclude<RunAllocator["how"], "none">]: string } = {
  names: "found by name",
  exports: "found by its exports",
  glue: "found through the JavaScript glue",
  wrapper: "found through its wrappers",
  structure: "recognized by its structure",
  option: "as --allocator says",
};

/** Lists the allocation functions of each module, and how certain they are. */
function allocatorsInWords({ modules }: HeapProfile): string[] {
  const withAllocator = modules.filter(
    ({ allocator }) => allocator?.refused === undefined && (allocator?.functions.length ?? 0) > 0,
  );
  const lines = withAllocator.slice(0, ALLOCATORS_SHOWN).map(({ name, allocator }) => {
    const { how, confirmed, functions } = allocator!;
    const names = functions
      .slice(0, 3)
      .map(({ role, index, name = `func[${index}]` }) => (name.includes(role) ? name : `${name} (${role})`));
    const more = functions.length > 3 ? ` and ${functions.length - 3} more` : "";
    const found = how === "none" ? "" : `, ${HOW_FOUND[how]}`;
    const sure = confirmed === true ? ", confirmed by the run" : "";
    return printable(
      `${names.join(", ")}${more}${withAllocator.length > 1 ? ` of ${name}` : ""}${found}${sure}`,
    );
  });
  return withAllocator.length > ALLOCATORS_SHOWN
    ? [...lines, `and those of ${plural(withAllocator.length - ALLOCATORS_SHOWN, "more module")}`]
    : lines;
}

const BINARIES_SHOWN = 6;

export function printBinaries(screen: Screen, profile: HeapProfile, label = "Binaries"): void {
  printFacts(screen, binaryFacts(screen, profile, label), 12);
}

function binaryFacts(screen: Screen, profile: HeapProfile, label: string): HeadFact[] {
  return binariesInWords(screen, profile).map((words, index) => [index === 0 ? label : "", words]);
}

/**
 * Lists the files of a native program's modules, the debug data each contains, and the files that were not
 * found.
 */
function binariesInWords({ isWide }: Screen, { modules }: HeapProfile): string[] {
  const native = modules.filter(({ knows }) => knows !== undefined);
  const shown = isWide ? native : native.slice(0, BINARIES_SHOWN);
  const lines = shown.map(({ path, buildId, knows }) => {
    if (path === undefined) return `not found: ${buildId === "" ? "a module without a build id" : buildId}`;
    return printable(path) + KNOWLEDGE[knows!];
  });
  const more = native.length - shown.length;
  return more === 0 ? lines : [...lines, `and ${plural(more, "more module")}: --wide shows them`];
}

const KNOWLEDGE: { readonly [Knows in ModuleKnowledge]: string } = {
  lines: "",
  functions: " (functions without lines)",
  nothing: " (no names of functions)",
};

export function endInWords({ kind, exitCode, signal }: RunEnd): string {
  switch (kind) {
    case "exit":
      return exitCode === undefined ? "returned" : `exit code ${exitCode}`;
    case "trap":
      return "ended by a trap";
    case "exception":
      return "ended by an uncaught exception";
    case "signal":
      return `ended by ${printable(signal ?? "a signal")}`;
    case "dump":
      return "dumped while it ran";
    case "ended":
      return "ended";
  }
}

/** `1,234 call paths at 56 sites`. */
export function pathsAndSites(paths: number, sites: number): string {
  return `${plural(paths, "call path")} at ${plural(sites, "site")}`;
}

export function printWrapped(
  screen: Screen,
  text: string,
  first: string,
  hanging: string,
  paint: (line: string) => string = (line) => line,
): void {
  const width = screen.isWide ? Number.POSITIVE_INFINITY : screen.width - hanging.length;
  wrapWords(text, width).forEach((line, index) => {
    screen.print((index === 0 ? first : hanging) + paint(line));
  });
}
