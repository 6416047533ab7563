import { plural } from "../../../../profile/model/format.ts";
import { shortenName, shortenPlace } from "./names.ts";
import type { Paint } from "./paint.ts";
import { displayWidth, printable } from "./text.ts";

export interface ScreenOptions {
  readonly paint: Paint;
  /** Columns that no line exceeds, unless `isWide`. */
  readonly width: number;
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
  readonly callerLines: number;
  readonly allFrames: boolean;
  readonly said: Set<string>;
  isShortened = false;
  readonly #lines: string[] = [];

  constructor({
    paint,
    width,
    isWide,
    allFrames = false,
    callerLines = USUAL_CALLER_LINES,
    said = new Set(),
  }: ScreenOptions) {
    this.paint = paint;
    this.width = width;
    this.isWide = isWide;
    this.allFrames = allFrames;
    this.callerLines = callerLines;
    this.said = said;
  }

  print(...lines: string[]): void {
    this.#lines.push(...lines.map((line) => line.trimEnd()));
  }

  /** A function name in at most `width` columns. */
  fit(name: string, width: number): string {
    return this.shorten(name, shortenName(name, this.isWide ? Number.POSITIVE_INFINITY : width));
  }

  /** The same of a function with its place, as `placeOf` has it. */
  fitPlace(place: string, width: number): string {
    return this.shorten(place, shortenPlace(place, this.isWide ? Number.POSITIVE_INFINITY : width));
  }

  /** The same with another way to shorten. */
  shorten(name: string, shortened: string): string {
    if (this.isWide) return printable(name);
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
