import { replaceBrackets, withoutEllipses } from "../../../../explain/analyses/frames/function-names.ts";
import { compactName } from "../../../../explain/analyses/frames/place-names.ts";
import { plural } from "../../../../profile/model/format.ts";
import type { Paint } from "./paint.ts";
import { cutMangled, displayWidth, printable, takeEnd } from "./text.ts";

/**
 * Shortens function names of C++ and Rust to `width` columns. Parameters go first, then template arguments,
 * then outer namespaces. The function's own name is never cut, so a line may exceed the terminal's width.
 * Only mangled names are cut.
 *
 *     std::vector<int, std::allocator<int> >::push_back(int const&)
 *     std::vector<int, std::allocator<int> >::push_back(…)
 *     std::vector<…>::push_back(…)
 *     std::vector<…>::push_back
 *     std::vector::push_back
 *     …vector::push_back
 */
export function shortenName(name: string, width: number): string {
  const safe = printable(name);
  const withoutParameters = replaceBrackets(safe, "(", ")");
  const withoutArguments = replaceBrackets(withoutParameters, "<", ">");
  const compact = compactName(name);
  const bare = withoutEllipses(compact);
  const candidates = [
    safe,
    withoutParameters,
    withoutArguments,
    compact,
    ...(bare === "" ? [] : [bare, ...withoutNamespaces(bare)]),
  ];
  return (
    candidates.find((candidate) => displayWidth(candidate) <= width) ?? cutMangled(candidates.at(-1)!, width)
  );
}

/** Least columns for a name with its location; with fewer, the name stands alone. */
const LEAST_PLACED = 12;
/**
 * Matches a function with its location and the library function it calls: `load (load.cc:7) via
 * std::vector::push_back`.
 */
const PLACED = /^(.*) (\([^()]*\))(?: via .*)?$/;

/**
 * Shortens a function with its location. The location distinguishes rows of one function, so the name is
 * shortened first. A long location keeps its end, which has the line. The library function is left out first
 * of all.
 *
 *     load (load.cc:7) via std::vector::push_back
 *     load (load.cc:7)
 */
export function shortenPlace(text: string, width: number): string {
  const safe = printable(text);
  const [, name, place] = PLACED.exec(safe) ?? [];
  const isShort = displayWidth(safe) <= width || width < LEAST_PLACED;
  if (isShort || name === undefined || place === undefined) return shortenName(text, width);
  const room = width - displayWidth(place) - 1;
  if (room > 0) return `${shortenName(name, room)} ${place}`;
  return `${shortenName(name, Math.ceil(width / 2))} (…${takeEnd(place, Math.floor(width / 2) - 3)}`;
}

/** Matches a name of Kotlin or Java: `kotlin.collections.ArrayList.<init>`. */
const PACKAGED = /^[\w$]+(\.([\w$]+|<[\w-]+>))+$/;

/** Matches a method of a Rust trait: `<alloc::vec::Vec as core::ops::drop::Drop>::drop`. */
const TRAIT_METHOD = /^<([^<>]+) as ([^<>]+)>::([^<>:]+)$/;

const lastPart = (path: string): string => path.slice(path.lastIndexOf("::") + 1).replace(/^:/, "");

/** Returns the name without its first, first two, … outer namespaces. */
function withoutNamespaces(name: string): string[] {
  const [, type, trait, method] = TRAIT_METHOD.exec(name) ?? [];
  if (method !== undefined)
    return [`<${lastPart(type!)} as ${lastPart(trait!)}>::${method}`, `${lastPart(type!)}::${method}`];
  if (name.startsWith("<")) return [];
  const separator = PACKAGED.test(name) ? "." : "::";
  const parts = name.split(separator);
  return parts.slice(1).map((_, dropped) => `…${parts.slice(dropped + 1).join(separator)}`);
}

/** Columns of text written to a pipe or file, or to a terminal of unknown width. */
export const REPORT_COLUMNS = 80;

/**
 * Narrower terminals wrap lines. On wider ones the two ends of a line are too far apart to be read together.
 */
const LEAST_COLUMNS = 60;
const MOST_COLUMNS = 200;

/** A file descriptor that text is written to. */
export interface TextTarget {
  readonly isTerminal: boolean;
  /** Undefined if the terminal does not report its width. */
  readonly columns?: number | undefined;
}

/** Returns the number of columns that report lines are laid out for. */
export function columnsOf({ isTerminal, columns = REPORT_COLUMNS }: TextTarget): number {
  return isTerminal ? Math.min(Math.max(columns, LEAST_COLUMNS), MOST_COLUMNS) : REPORT_COLUMNS;
}

export interface ScreenOptions {
  readonly paint: Paint;
  /**
   * Columns that lines are laid out for. Longer lines occur with longer names, and on screens that are wide
   * or uncut.
   */
  readonly width: number;
  /** False for pipes and files: names, locations and command lines are printed in full. True by default. */
  readonly isCut?: boolean | undefined;
  /** True to shorten nothing: full names, complete call paths, lines of any length. */
  readonly isWide: boolean;
  /** True to show call paths with all their frames, in as many lines as they need. */
  readonly allFrames?: boolean | undefined;
  /** Most lines of callers below a row of a wide screen. */
  readonly callerLines?: number | undefined;
  /** Sentences that an earlier part of the same report printed. The screen adds its own. */
  readonly printedSentences?: Set<string> | undefined;
}

/** Default number of caller lines below a row: more than a screen has. */
export const USUAL_CALLER_LINES = 50;

/** Collects the lines of a report, and records whether a name was shortened. */
export class Screen {
  readonly paint: Paint;
  readonly width: number;
  readonly isWide: boolean;
  /** True to print names, locations and command lines in full. */
  readonly isWhole: boolean;
  readonly callerLines: number;
  readonly allFrames: boolean;
  readonly printedSentences: Set<string>;
  isShortened = false;
  readonly #lines: string[] = [];

  constructor({
    paint,
    width,
    isWide,
    isCut = true,
    allFrames = false,
    callerLines = USUAL_CALLER_LINES,
    printedSentences: said = new Set(),
  }: ScreenOptions) {
    this.paint = paint;
    this.width = width;
    this.isWide = isWide;
    this.isWhole = isWide || !isCut;
    this.allFrames = allFrames;
    this.callerLines = callerLines;
    this.printedSentences = said;
  }

  print(...lines: string[]): void {
    this.#lines.push(...lines.map((line) => line.trimEnd()));
  }

  /** Shortens a function name to at most `width` columns. */
  fit(name: string, width: number): string {
    return this.shorten(name, (columns) => shortenName(name, columns), width);
  }

  /** Shortens a function with its location, in the form that `placeOf` returns. */
  fitPlace(place: string, width: number): string {
    return this.shorten(place, (columns) => shortenPlace(place, columns), width);
  }

  /** Shortens a name by a function of the columns that it may take. With `isWide` the name stands as recorded. */
  shorten(name: string, shortened: (columns: number) => string, columns: number): string {
    if (this.isWide) return printable(name);
    const text = shortened(this.isWhole ? Number.POSITIVE_INFINITY : columns);
    if (!this.isWhole && text !== printable(name)) this.isShortened = true;
    return text;
  }

  /** Limits the caller lines below a row of a wide screen; a last line counts the rest. */
  bounded(lines: readonly string[], margin: string, count = lines.length): string[] {
    const shown = lines.slice(0, this.callerLines);
    const hiddenCount = count - shown.length;
    return hiddenCount === 0
      ? shown
      : [...shown, `${margin}… and ${plural(hiddenCount, "more line")}: --lines N shows them`];
  }

  /** Prints left and right text on one line. The right text moves to the next line if both do not fit. */
  printEnds(left: string, right: string, paintLeft: (text: string) => string): void {
    const gap = this.width - displayWidth(left) - displayWidth(right);
    if (gap < 2) this.print(paintLeft(left), `  ${right}`);
    else this.print(paintLeft(left) + " ".repeat(gap) + right);
  }

  /** Prints a note if names were shortened. */
  printShortened(): void {
    if (this.isShortened) this.print(this.paint.faint("  Names are shortened: --wide shows them in full"));
  }

  text(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}
