import type { StackFrame } from "../../../analyses/call-tree/weighted-stacks.ts";
import type { PlaceChange, PlaceDiff } from "../../../analyses/diff/place-diff.ts";
import { formatBytes, formatCount } from "../../format.ts";
import { shortPlace } from "../../frames.ts";
import { bareName, functionInWords } from "../../place-names.ts";
import { type DiffTableOptions, diffTableText } from "./diff-table.ts";
import { shortenName } from "./names.ts";
import type { Screen } from "./screen.ts";
import { cutMiddle, displayWidth, printable } from "./text.ts";

const NOUNS = { path: "call path", site: "site", function: "function" } as const;

/** Totals of two runs, then the places that changed most, and the findings that came or went. */
export function placeDiffTable(
  diff: PlaceDiff,
  change: PlaceChange,
  options: DiffTableOptions & { readonly whole: string },
): string {
  return diffTableText(
    {
      whole: options.whole,
      ...{ pairs: diff.pairs, changes: diff.changes, by: change, noun: NOUNS[diff.group] },
      formatOf: ({ unit }) => (unit === "bytes" ? formatBytes : formatCount),
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

/** `parse (parse.c:88)`; of a call path with the functions that led there. */
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
  const behind = callers.map(({ function: name = "?" }) => ` ← ${bareName(name)}`).join("");
  const name = functionInWords({ function: own.function });
  if (screen.isWide) return `${name}${place}${behind}`;
  const short = screen.shorten(name, shortenName(name, Math.max(1, room - displayWidth(place))));
  const rest = room - displayWidth(short) - displayWidth(place);
  return `${short}${place}${screen.shorten(behind, cutMiddle(behind, Math.max(0, rest)))}`;
}
