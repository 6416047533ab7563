import { isLibraryCaller, LAYER, START_UP } from "../../../../explain/analyses/frames/libraries.ts";
import { shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { Screen } from "./screen.ts";
import { displayWidth, printable } from "./text.ts";

/** Columns of a function name: both ends of a path and the count between them fit on a line. */
const LONGEST_NAME = 28;

/** A printed frame of a call path. */
export interface PathFrame {
  readonly name: string;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  /** Library of the frame; undefined for the program's own code. */
  readonly library?: string | undefined;
}

/**
 * Prints callers, innermost first. A wide screen shows all of them; a narrow one leaves out the middle if the
 * line is too long. The outermost frame shown belongs to the program's own code. Prints nothing if there are
 * no callers.
 *
 *     ← readPage (pager.c:88) ← … 4 more ← main (shell.c:9)
 */
export function printCallers(screen: Screen, frames: readonly PathFrame[], indent: string): void {
  printChain(screen, frames, `${indent}← `);
}

/** Prints a chain of frames like `printCallers`, with `lead` in place of the arrow. */
export function printChain(screen: Screen, frames: readonly PathFrame[], lead: string): void {
  if (screen.isWide) {
    if (frames.length > 0)
      screen.print(screen.paint.faint(lead + frames.map((frame) => printable(wholeText(frame))).join(" ← ")));
    return;
  }
  const own = frames.findLastIndex(({ library }) => !isLibraryCaller(library));
  // Callers of the program's main function carry no information, unless the path has no other frames.
  const shownFrames = frames.slice(0, own + 1);
  if (shownFrames.length === 0) return;
  const names = foldLibraries(shownFrames).map((frame) =>
    typeof frame === "string" ? `[${frame}]` : shortText(screen, frame),
  );
  const line = (shown: number): string => {
    const hiddenCount = names.length - shown;
    const path =
      hiddenCount === 0
        ? names
        : [...names.slice(0, shown - 1), `… ${hiddenCount} more`, names[names.length - 1]];
    return `${lead}${path.join(" ← ")}`;
  };
  if (screen.allFrames) {
    const words = names.map((name, index) => (index < names.length - 1 ? `${name} ←` : name));
    const rest = " ".repeat(displayWidth(lead));
    fillLines(words, screen.width - displayWidth(lead)).forEach((text, index) => {
      screen.print(screen.paint.faint((index === 0 ? lead : rest) + text));
    });
    return;
  }
  let shown = names.length;
  while (shown > 1 && displayWidth(line(shown)) > screen.width) shown--;
  if (shown < names.length) screen.isShortened = true;
  screen.print(screen.paint.faint(line(shown)));
}

/** Replaces each run of frames of one library by the library's name. */
export function foldLibraries<Frame extends { readonly library?: string | undefined }>(
  frames: readonly Frame[],
): (Frame | string)[] {
  const folded: (Frame | string)[] = [];
  for (const frame of frames) {
    const { library } = frame;
    const word = library === undefined || library === START_UP || library === LAYER ? frame : library;
    if (typeof word !== "string" || folded.at(-1) !== word) folded.push(word);
  }
  return folded;
}

function wholeText({ name, file, line }: PathFrame): string {
  return file === undefined ? name : `${name} (${file}:${line ?? 0})`;
}

function shortText(screen: Screen, frame: PathFrame): string {
  const place = shortPlace(frame);
  const short = screen.fit(frame.name, LONGEST_NAME);
  return place === undefined ? short : `${short} (${printable(place)})`;
}

/** Fills lines of at most `width` columns with words. A wider word gets a line of its own. */
export function fillLines(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(last) + 1 + displayWidth(word) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
