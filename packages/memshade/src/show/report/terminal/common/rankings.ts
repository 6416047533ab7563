import type { Screen } from "./screen.ts";
import { displayWidth, printable } from "./text.ts";

/**
 * Prints further rankings as commands to type. A command is never cut: if all keys do not fit on the line,
 * `KEY` stands for them.
 */
export function printRankings(screen: Screen, input: string, keys: readonly string[]): void {
  if (keys.length === 0) return;
  const { faint } = screen.paint;
  const run = /^[\w./%+-]+$/.test(input) ? input : `'${printable(input)}'`;
  const fullCommand = `  memshade top ${run} --by ${keys.join("|")}`;
  const shortCommand = `  memshade top ${run} --by KEY`;
  const fits = (line: string): boolean => screen.isWide || displayWidth(line) <= screen.width;
  screen.print(faint("Other rankings:"));
  if (fits(fullCommand)) screen.print(faint(fullCommand));
  else
    screen.print(
      faint(fits(shortCommand) ? shortCommand : "  memshade top DIR --by KEY"),
      faint(`  KEY: ${keys.join(", ")}`),
    );
}
