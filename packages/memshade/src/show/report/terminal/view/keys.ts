import { padRight, wrapWords } from "../common/text.ts";
import { MARK_COLUMNS } from "./layout.ts";
import type { Size } from "./view-state.ts";

/** A key as it is named here: a character, or a word for the others. */
export type Key = string;

/** What keys do, for the help: some of them do something in one screen alone. */
export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["↑ ↓, k j", "one row up or down"],
  ["PgUp PgDn, b Space", "one page up or down"],
  ["Home End, g G", "to the first or last row"],
  ["Enter", "from a finding to its source line, then to its call tree"],
  ["f", "findings"],
  ["t", "the call tree; in it: that of the next tool"],
  ["/", "search; Enter begins, Esc gives it up"],
  ["n N", "the next or previous place that matches"],
  ["Esc, Backspace, ←", "back to where you came from"],
  ["?, h", "this help"],
  ["q", "quit; here: back"],
  ["", ""],
  ["In a call tree", ""],
  ["Enter", "open or close what is below the row"],
  ["→ ←", "open, or close and go to the row above"],
  ["e", "open everything below the row"],
  ["s", "weigh by the next figure: bytes, peak, left, …"],
  ["i", "turn it around: from places to their callers"],
  ["a", "the source line of the row, as annotate in perf"],
];

const KEYS_WIDTH = 21;
/** Words beside the keys need so much room; with less they stand below them. */
const LEAST_WIDTH = 30;
const INDENT = 2;

/** The keys as lines of the help. */
export function keyLines(size: Size): string[] {
  const columns = size.columns - MARK_COLUMNS;
  const isBeside = columns >= KEYS_WIDTH + LEAST_WIDTH;
  const indent = isBeside ? KEYS_WIDTH : INDENT;
  return KEYS.flatMap(([keys, does]) => {
    const words = wrapWords(does, columns - indent).map((line) => " ".repeat(indent) + line);
    if (!isBeside || words.length === 0) return [keys, ...words];
    return [padRight(keys, indent) + words[0]!.slice(indent), ...words.slice(1)];
  });
}
