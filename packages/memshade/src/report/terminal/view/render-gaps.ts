import type { Paint } from "../common/paint.ts";
import { printable, wrapWords } from "../common/text.ts";
import type { Size } from "./view-state.ts";

/** What the figures do not cover, below rows that leave so much room; where there is too little, in which report that stands. */
export function gapLines(gaps: readonly string[], room: number, { columns }: Size, paint: Paint): string[] {
  const sentences = [...new Set(gaps)];
  if (sentences.length === 0 || room < 2) return [];
  const lines = sentences.flatMap((gap) =>
    wrapWords(printable(gap), columns - 4).map((line, row) => (row === 0 ? "  · " : "    ") + line),
  );
  const all = ["", "! Read this first", ...lines];
  const shown = all.length <= room ? all : ["", "! Not all was tracked: memshade report"];
  return shown.map((line) => paint.warning(line));
}
