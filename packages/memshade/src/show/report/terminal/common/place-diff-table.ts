import { bareName, functionInWords, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { Change } from "../../../../explain/diff/changes.ts";
import type { PlaceChange, PlaceDiff } from "../../../../explain/diff/place-diff.ts";
import { measure } from "../../../../explain/measures/index.ts";
import type { Measure } from "../../../../explain/measures/measure.ts";
import type { StackFrame } from "../../../../explain/measures/measured-stacks.ts";
import { amountFormat } from "../../measure-format.ts";
import { type DiffTableOptions, diffTableText } from "./diff-table.ts";
import { type Screen, shortenName } from "./screen.ts";
import { displayWidth, firstWords, printable } from "./text.ts";

const NOUNS = { path: "call path", site: "site", function: "function" } as const;

/**
 * Formats totals of two runs, then the code locations that changed most, and the findings that came or went.
 */
export function placeDiffTable(
  diff: PlaceDiff,
  change: PlaceChange,
  options: DiffTableOptions & { readonly whole: string },
): string {
  return diffTableText(
    {
      whole: options.whole,
      pairs: diff.pairs,
      changes: diff.changes.map(ofMeasure),
      by: ofMeasure(change),
      noun: NOUNS[diff.group],
      formatOf: ({ unit }) => amountFormat(unit),
      headOf: ({ head }) => head,
      nameOf: (screen, pair, width) => {
        const { old, new: now } = diff.pairs[pair]!;
        const { path } = now === undefined ? diff.old[old!]! : diff.new[now]!;
        return nameOf(screen, diff.group, path, width);
      },
    },
    options,
  );
}

function ofMeasure(change: PlaceChange): Change<Measure> {
  return { ...change, measure: measure(change.measure.id) };
}

/** Formats `parse (parse.c:88)`; a call path is followed by its callers. */
function nameOf(
  screen: Screen,
  group: PlaceDiff["group"],
  path: readonly StackFrame[],
  room: number,
): string {
  const [own, ...callers] = path;
  if (own === undefined) return "no code";
  if (own.isWord === true) return `[${own.function}]`;
  const line = group === "function" ? undefined : shortPlace(own);
  const place = line === undefined ? "" : ` (${printable(line)})`;
  const callerWords = callers.map(({ function: name = "?" }) => ` ← ${printable(bareName(name))}`);
  const callersText = callerWords.join("");
  const name = functionInWords({ function: own.function });
  if (screen.isWhole) return `${name}${place}${callersText}`;
  const short = screen.shorten(
    name,
    (columns) => shortenName(name, columns),
    Math.max(1, room - displayWidth(place)),
  );
  const rest = room - displayWidth(short) - displayWidth(place);
  return `${short}${place}${screen.shorten(callersText, (columns) => firstWords(callerWords, " ← …", columns), Math.max(0, rest))}`;
}
