import type { Screen } from "./screen.ts";
import { displayWidth, printable } from "./text.ts";

/** Both ends of a path and how many lie between them fit on a line. */
const LONGEST_NAME = 28;
/** What toolchains put between the host and `main`. */
const STARTS: ReadonlySet<string> = new Set([
  "_start",
  "__main_void",
  "__original_main",
  "_start.command_export",
]);

/**
 * Prints calls, innermost first: on one line, with those in the middle left out where they do not fit, or in full on a wide
 * screen. Nothing if there are none.
 *
 *     ← readPage ← moveToRoot ← … 4 more ← main
 */
export function printCallers(screen: Screen, all: readonly string[], indent: string): void {
  printChain(screen, all, `${indent}← `);
}

/** The same behind other words than an arrow. */
export function printChain(screen: Screen, all: readonly string[], lead: string): void {
  // How a program's main function came to be called tells nobody anything.
  const last = all.findLastIndex((name) => !STARTS.has(name));
  const shownFrames = screen.isWide ? all : all.slice(0, last + 1);
  if (shownFrames.length === 0) return;
  const names = shownFrames.map((name) => {
    const short = printable(name);
    return screen.isWide || displayWidth(short) <= LONGEST_NAME
      ? short
      : `${short.slice(0, LONGEST_NAME - 1)}…`;
  });
  const line = (shown: number): string => {
    const left = names.length - shown;
    const path =
      left === 0 ? names : [...names.slice(0, shown - 1), `… ${left} more`, names[names.length - 1]];
    return `${lead}${path.join(" ← ")}`;
  };
  let shown = names.length;
  while (!screen.isWide && shown > 1 && displayWidth(line(shown)) > screen.width) shown--;
  if (shown < names.length) screen.isShortened = true;
  screen.print(screen.paint.faint(line(shown)));
}
