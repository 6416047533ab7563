import {
  bareName,
  codeOffset,
  functionInWords,
  shortPlace,
} from "../../explain/analyses/frames/place-names.ts";
import type { FindingDiff } from "../../explain/diff/finding-diff.ts";
import { displayedNames, type RenamedFunctions } from "../../explain/diff/renamed-functions.ts";
import type { FindingPlace, PlaceFrame } from "../../explain/findings/finding-kind.ts";
import { adviceOf, type Finding, sentenceOf } from "../../explain/findings/index.ts";
import type { FurtherRun } from "../../explain/findings/run-findings.ts";
import { formatBytes, formatCount, plural } from "../../profile/model/format.ts";
import { type Screen, shortenName } from "./terminal/common/screen.ts";
import {
  cutMiddle,
  cutStart,
  displayWidth,
  padLeft,
  padRight,
  printable,
  wrapWords,
} from "./terminal/common/text.ts";
import { ESTIMATED, marginText } from "./terminal/heap/site-rows.ts";

const MARGIN_TEXT = "  ";
const MARGIN = MARGIN_TEXT.length;
/** Least columns of a function name; with fewer, the name is left out if a line is known. */
const LEAST_NAME = 8;

/** Margin of advice below the line of its finding. */
const ADVICE_MARGIN = "  ";

/** Prints the findings of a run below the head of its report: each with its advice. */
export function printFindings(screen: Screen, findings: readonly Finding[], none = "No findings"): void {
  screen.print("");
  if (findings.length === 0) {
    screen.print(...wrapWords(none, screen.width).map(screen.paint.faint));
    return;
  }
  screen.print(screen.paint.heading("Summary"));
  const lines = findingLines(screen, findings, screen.width - MARGIN);
  for (const [index, finding] of findings.entries())
    screen.print(
      MARGIN_TEXT + lines[index]!,
      ...adviceLines(finding, screen.width - MARGIN).map((line) => MARGIN_TEXT + screen.paint.faint(line)),
    );
}

/** Returns the lines of a finding's advice: `→ Remove the store, …`. */
export function adviceLines(finding: Finding, width: number): string[] {
  const lines = wrapWords(printable(adviceOf(finding)), width - ADVICE_MARGIN.length - 2);
  return lines.map((line, index) => `${ADVICE_MARGIN}${index === 0 ? "→ " : "  "}${line}`);
}

/** Prints the findings that came or went from one run to another. */
export function printFindingDiff(screen: Screen, { new: fresh, gone, renamed }: FindingDiff): void {
  const { heading, faint } = screen.paint;
  printRenamed(screen, renamed);
  if (fresh.length + gone.length === 0) screen.print("", faint("No findings came or went"));
  for (const [title, findings] of [
    ["New findings", fresh],
    ["Findings that are gone", gone],
  ] as const) {
    if (findings.length === 0) continue;
    screen.print("", heading(title));
    screen.print(...findingLines(screen, findings, screen.width - MARGIN).map((line) => MARGIN_TEXT + line));
  }
}

/** Most renamed functions on a screen. */
const MOST_RENAMED = 10;

/** Prints functions that have another name in the newer run. */
export function printRenamed(screen: Screen, functions: RenamedFunctions): void {
  const renamed = displayedNames(functions);
  if (renamed.size === 0) return;
  const { heading, faint } = screen.paint;
  screen.print("", heading(`Renamed: ${plural(renamed.size, "function")}`));
  const shown = [...renamed].slice(0, screen.isWide ? undefined : MOST_RENAMED);
  for (const [old, now] of shown) {
    // Parameters are shown if only they changed.
    const names = bareName(old) === bareName(now) ? [old, now] : [bareName(old), bareName(now)];
    const text = names.map(printable).join(" is ").concat(" now");
    screen.print(
      MARGIN_TEXT + screen.shorten(text, (columns) => cutMiddle(text, columns), screen.width - MARGIN),
    );
  }
  const hiddenCount = renamed.size - shown.length;
  if (hiddenCount > 0) screen.print(faint(`${MARGIN_TEXT}… and ${hiddenCount} more: --wide shows them`));
}

/**
 * Returns a line of at most `width` columns for each finding: kind, amount, and the sentence with its
 * location.
 */
export function findingLines(screen: Screen, findings: readonly Finding[], width: number): string[] {
  const rows = findings.map((finding) => ({ finding, amount: amountOf(finding) }));
  const kindWidth = Math.max(...rows.map(({ finding }) => finding.kind.length));
  const amountWidth = Math.max(...rows.map(({ amount }) => displayWidth(amount)));
  const { strong, amount: number, faint } = screen.paint;
  const room = width - kindWidth - 2 - amountWidth - 2;
  return rows.map(({ finding, amount }) => {
    const lead = `${padRight(finding.kind, kindWidth)}  ${number(padLeft(amount, amountWidth))}`;
    const { start, end } = aroundPlace(screen, finding, room);
    const { name, place } = placeInWords(screen, finding.place, room - widthOf(start, end));
    return `${lead}  ${start} ${strong(name)}${faint(place)} ${end}`.trimEnd();
  });
}

/**
 * Returns the words around a location, as long as the space allows. The location's file and line have
 * priority, then its function.
 */
function aroundPlace(screen: Screen, finding: Finding, room: number): { start: string; end: string } {
  const { before, after: whole, short = before, shortAfter = whole } = sentenceOf(finding);
  if (screen.isWhole) return { start: before, end: whole };
  // Shortest form, such as `of` from `300 blocks of`: the amount in front has the number.
  const shortest = short.slice(short.lastIndexOf(" ") + 1);
  const own = finding.place.path[0]!;
  const name = displayWidth(functionInWords(own));
  const line = displayWidth(lineOf(own) + furtherInWords(finding.place));
  const after = name + line <= room - widthOf(short, whole) ? whole : shortAfter;
  const startFor = (width: number, starts = [before, short, shortest]): string | undefined =>
    starts.find((text) => width <= room - widthOf(text, after));
  const bare = displayWidth(printable(shortPlace(own) ?? ""));
  const start =
    startFor(name + line) ?? startFor(Math.min(LEAST_NAME, name) + line, [shortest]) ?? startFor(bare);
  if (start !== undefined) return { start, end: after };
  screen.isShortened = true;
  return { start: shortest, end: bare <= room - widthOf(shortest, shortAfter) ? shortAfter : "" };
}

/** Returns the columns of the words around a location, spaces included. */
function widthOf(before: string, after: string): number {
  return displayWidth(before) + displayWidth(after) + 2;
}

/** Forms a finding's sentence with its full location; `isShort`: the file without its folders. */
export function findingInWords(
  finding: Finding,
  {
    isShort = false,
    locate = (file) => file,
  }: { readonly isShort?: boolean; readonly locate?: (file: string) => string } = {},
): string {
  const { before, after } = sentenceOf(finding);
  const { path, via } = finding.place;
  const { file: recorded, line } = path[0]!;
  const file = recorded === undefined ? undefined : locate(recorded);
  const full = file === undefined || line === undefined ? file : `${file}:${line}`;
  const at = isShort ? shortPlace(path[0]!) : full;
  const position = at === undefined ? offsetOf(path[0]!) : ` (${at})`;
  const called = via === undefined ? "" : ` via ${functionInWords(via)}`;
  return `${before} ${functionInWords(path[0]!)}${position}${called}${furtherInWords(finding.place)} ${after}`;
}

/** Forms `60.0 % of the peak (5.73 MiB) is of main (mesh.c:10): --tool heap tells …`. */
export function furtherRunInWords({ before, place: { path }, after }: FurtherRun): string {
  const text = `${functionInWords(path[0]!)}${lineOf(path[0]!)}`;
  return `${before} ${text}${after.startsWith(":") ? "" : " "}${after}`;
}

/** Formats ` and 2 more places`; empty for a finding of one line. */
function furtherInWords({ furtherLines = [] }: FindingPlace): string {
  return furtherLines.length === 0 ? "" : ` and ${plural(furtherLines.length, "more place")}`;
}

/** Formats a finding's amount: `1.2 MiB`, `300` blocks or accesses, `≈1.2 MiB ±80 KiB` for an estimate. */
export function amountOf({ amount, unit, place }: Finding): string {
  const estimated = place.isSampled === true ? ESTIMATED : "";
  const { margins } = place;
  switch (unit) {
    case "bytes":
      return estimated + formatBytes(amount) + marginText(margins?.bytes, formatBytes);
    case "blocks":
      return estimated + formatCount(amount) + marginText(margins?.blocks, formatCount);
    case "accesses":
    case "calls":
      return estimated + formatCount(amount);
  }
}

/**
 * Formats `parse (parse.c:88) via std::string` in at most `width` columns; the line is kept as long as it
 * fits.
 */
function placeInWords(
  screen: Screen,
  findingPlace: FindingPlace,
  width: number,
): { name: string; place: string } {
  const { path, via } = findingPlace;
  const own = path[0]!;
  const full = functionInWords(own);
  const place = lineOf(own) + furtherInWords(findingPlace);
  const called = via === undefined ? "" : functionInWords(via);
  if (screen.isWhole) return { name: full, place: place + (called === "" ? "" : ` via ${called}`) };
  const room = width - displayWidth(place);
  const forVia = room - displayWidth(full) - " via ".length;
  const isViaShown = called !== "" && displayWidth(shortenName(called, forVia)) <= forVia;
  if (called !== "" && !isViaShown) screen.isShortened = true;
  const viaText = isViaShown
    ? ` via ${screen.shorten(called, (columns) => shortenName(called, columns), forVia)}`
    : "";
  const forName = room - displayWidth(viaText);
  const line = shortPlace(own);
  if (line !== undefined && forName < Math.min(LEAST_NAME, displayWidth(full))) {
    screen.isShortened = true;
    return { name: cutStart(printable(line), Math.max(1, width)), place: "" };
  }
  return {
    name: screen.shorten(full, (columns) => shortenName(full, columns), Math.max(1, forName)),
    place: place + viaText,
  };
}

function lineOf(frame: PlaceFrame): string {
  const line = shortPlace(frame);
  return line === undefined ? offsetOf(frame) : ` (${printable(line)})`;
}

function offsetOf({ address }: PlaceFrame): string {
  return address === undefined ? "" : ` (${codeOffset(address)})`;
}
