import type { WasteIp } from "../../model/waste.ts";
import { bareName } from "../waste-sentences.ts";
import type { Screen } from "./screen.ts";
import { displayWidth, printable } from "./text.ts";

const LONGEST_NAME = 32;
/** What toolchains put between the host and `main`. */
const STARTS: ReadonlySet<string> = new Set(["_start", "__main_void", "__original_main"]);

/**
 * Prints the calling context of a place, innermost caller first: on one line, with the callers in the middle left out
 * where they do not fit, or in full on a wide screen. Nothing where places are not told apart by their contexts.
 *
 *     ← readPage ← moveToRoot ← … 4 more ← main
 */
export function printPath(screen: Screen, [place, ...callers]: readonly WasteIp[], indent: string): void {
  if (place === undefined || callers.length === 0) return;
  const all = [place, ...callers].flatMap((ip) => [ip, ...(ip.inlined ?? [])]).slice(1);
  // How a program's main function came to be called tells nobody anything.
  const last = all.findLastIndex(({ function: name }) => !STARTS.has(name ?? ""));
  const frames = screen.isWide ? all : all.slice(0, last + 1);
  if (frames.length === 0) return;
  const names = frames.map(({ function: name }) => {
    const short = name === undefined ? "a function without a name" : printable(bareName(name));
    return screen.isWide || displayWidth(short) <= LONGEST_NAME
      ? short
      : `${short.slice(0, LONGEST_NAME - 1)}…`;
  });
  const line = (shown: number): string => {
    const left = names.length - shown;
    const path =
      left === 0 ? names : [...names.slice(0, shown - 1), `… ${left} more`, names[names.length - 1]];
    return `${indent}${path.map((name) => `← ${name}`).join(" ")}`;
  };
  let shown = names.length;
  while (!screen.isWide && shown > 1 && displayWidth(line(shown)) > screen.width) shown--;
  if (shown < names.length) screen.isShortened = true;
  screen.print(screen.paint.faint(line(shown)));
}
