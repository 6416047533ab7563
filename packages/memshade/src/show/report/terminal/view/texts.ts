import type { Finding } from "../../../../explain/findings/index.ts";
import type { StackFrame } from "../../../../explain/measures/measured-stacks.ts";
import { findingInWords } from "../../findings.ts";
import { cutEnd, displayWidth, padRight, wrapWords } from "../common/text.ts";
import { frameLabel } from "../tree.ts";
import { MARK_COLUMNS } from "./layout.ts";
import type { Size } from "./view-state.ts";

/** Name of a key: its character, or a word such as `escape`. */
export type Key = string;

/** Keys for the help. Some of them work on one screen only. */
export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["↑ ↓, k j", "one row up or down"],
  ["PgUp PgDn, b Space", "one page up or down"],
  ["Home End, g G", "to the first or last row"],
  ["Enter", "from a finding to its source line, then to its call tree"],
  ["f", "findings"],
  ["t", "open the call tree; in it: the tree of the next tool"],
  ["/", "search; Enter starts it, Esc cancels it"],
  ["n N", "the next or previous place that matches"],
  ["Esc, Backspace, ←", "back to where you came from"],
  ["?, h", "this help"],
  ["q", "quit; here: back"],
  ["", ""],
  ["In a call tree", ""],
  ["Enter", "open or close what is below the row"],
  ["→ ←", "open, or close and go to the row above"],
  ["e", "open everything below the row"],
  ["s", "next measure: bytes, peak, left, …"],
  ["i", "invert the tree: from sites to their callers"],
  ["a", "the source line of the row, as annotate in perf"],
];

const KEYS_WIDTH = 21;
/** Least columns for words beside the keys; with fewer, the words follow below. */
const LEAST_WIDTH = 30;
const INDENT = 2;

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

/** Returns the full text of a frame, for searching. */
export function frameText(frame: StackFrame): string {
  const { name, place } = frameLabel(frame, Number.POSITIVE_INFINITY);
  return name + place;
}

/** Returns the full text of a finding, for searching. */
export function findingText(finding: Finding): string {
  return `${finding.kind} ${findingInWords(finding)}`;
}

const ESCAPE = "\u001b";
/** Matches escape sequences of styles, which take no columns. */
const STYLE = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`);
const NO_STYLE = `${ESCAPE}[0m`;

/** Cuts the end off a styled line that takes more than `width` columns. */
export function fitLine(line: string, width: number): string {
  let used = 0;
  let fitted = "";
  for (const [index, part] of line.split(STYLE).entries()) {
    if (index % 2 === 1) {
      fitted += part;
      continue;
    }
    const wide = displayWidth(part);
    if (used + wide > width) {
      const isStyled = fitted.includes(ESCAPE);
      return `${fitted}${cutEnd(part, width - used)}${isStyled ? NO_STYLE : ""}`;
    }
    fitted += part;
    used += wide;
  }
  return fitted;
}

/** Returns the columns that a styled line takes. */
export function lineWidth(line: string): number {
  return line
    .split(STYLE)
    .reduce((sum, part, index) => (index % 2 === 1 ? sum : sum + displayWidth(part)), 0);
}
