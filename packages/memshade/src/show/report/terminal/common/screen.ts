import { replaceBrackets, withoutEllipses } from "../../../../explain/analyses/frames/function-names.ts";
import { compactName } from "../../../../explain/analyses/frames/place-names.ts";
import { plural } from "../../../../profile/model/format.ts";
import type { Paint } from "./paint.ts";
import { cutMangled, displayWidth, printable, takeEnd } from "./text.ts";

/**
 * Shortens function names of C++ and Rust to `width` columns. Parameters go first, then template arguments, then outer namespaces.
 * The function's own name is never cut: a line may become longer than the terminal is wide. A mangled name, which nobody can read, is.
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

/** In fewer columns, a name alone is shown. */
const LEAST_PLACED = 12;
/** A place behind a function, and the part of a library that it goes through: `load (load.cc:7) via std::vector::push_back`. */
const PLACED = /^(.*) (\([^()]*\))(?: via .*)?$/;

/**
 * A function with its place, made to fit. The place tells rows of one function apart, so it is kept, and the name is shortened; of a long
 * place, the end is kept, which has the line. What it goes through is left out first.
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

/** A name of Kotlin or Java: `kotlin.collections.ArrayList.<init>`. */
const PACKAGED = /^[\w$]+(\.([\w$]+|<[\w-]+>))+$/;

/** A method of a Rust trait: `<alloc::vec::Vec as core::ops::drop::Drop>::drop`. */
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

export interface ScreenOptions {
  readonly paint: Paint;
  /** Columns that lines are made for. Longer lines have a name that is longer still, or are of a screen that is wide or uncut. */
  readonly width: number;
  /** False for pipes and files: names, places and command lines stand in full. True by default. */
  readonly isCut?: boolean | undefined;
  /** Nothing is shortened: full names, complete call paths, lines as long as they get. */
  readonly isWide: boolean;
  /** Call paths are shown with all their frames, in as many lines as they need. */
  readonly allFrames?: boolean | undefined;
  /** Lines of callers below a row of a wide screen, at most. */
  readonly callerLines?: number | undefined;
  /** Sentences that an earlier part of the same report has said; what is said is added. */
  readonly said?: Set<string> | undefined;
}

/** Lines of callers below a row: more than a screen has. */
export const USUAL_CALLER_LINES = 50;

/** Lines of a report, and whether something had to be shortened to fit. */
export class Screen {
  readonly paint: Paint;
  readonly width: number;
  readonly isWide: boolean;
  /** Names, places and command lines stand in full. */
  readonly isWhole: boolean;
  readonly callerLines: number;
  readonly allFrames: boolean;
  readonly said: Set<string>;
  isShortened = false;
  readonly #lines: string[] = [];

  constructor({
    paint,
    width,
    isWide,
    isCut = true,
    allFrames = false,
    callerLines = USUAL_CALLER_LINES,
    said = new Set(),
  }: ScreenOptions) {
    this.paint = paint;
    this.width = width;
    this.isWide = isWide;
    this.isWhole = isWide || !isCut;
    this.allFrames = allFrames;
    this.callerLines = callerLines;
    this.said = said;
  }

  print(...lines: string[]): void {
    this.#lines.push(...lines.map((line) => line.trimEnd()));
  }

  /** A function name in at most `width` columns. */
  fit(name: string, width: number): string {
    return this.shorten(name, shortenName(name, this.isWhole ? Number.POSITIVE_INFINITY : width));
  }

  /** The same of a function with its place, as `placeOf` has it. */
  fitPlace(place: string, width: number): string {
    return this.shorten(place, shortenPlace(place, this.isWhole ? Number.POSITIVE_INFINITY : width));
  }

  /** The same with another way to shorten. */
  shorten(name: string, shortened: string): string {
    if (this.isWhole) return printable(name);
    if (shortened !== printable(name)) this.isShortened = true;
    return shortened;
  }

  /** The lines of callers below a row of a wide screen: as many as are wanted, and how many more there are. */
  bounded(lines: readonly string[], margin: string, all = lines.length): string[] {
    const shown = lines.slice(0, this.callerLines);
    const left = all - shown.length;
    return left === 0
      ? shown
      : [...shown, `${margin}… and ${plural(left, "more line")}: --lines N shows them`];
  }

  /** Left and right text on one line; the right one wraps to the next line where both do not fit. */
  printEnds(left: string, right: string, paintLeft: (text: string) => string): void {
    const gap = this.width - displayWidth(left) - displayWidth(right);
    if (gap < 2) this.print(paintLeft(left), `  ${right}`);
    else this.print(paintLeft(left) + " ".repeat(gap) + right);
  }

  /** Says, where it is so, that names were shortened. */
  printShortened(): void {
    if (this.isShortened) this.print(this.paint.faint("  Names are shortened: --wide shows them in full"));
  }

  text(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}
