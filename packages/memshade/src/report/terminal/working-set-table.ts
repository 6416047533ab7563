import { type RankedPlace, rankWorkingSet, type WorkingSetKey } from "../../analyses/working-set/rank.ts";
import type { WorkingSetProfile } from "../../model/working-set.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../format.ts";
import { printGaps } from "./header.ts";
import { Screen, type ScreenOptions } from "./screen.ts";
import { padLeft, printable } from "./text.ts";

export interface WorkingSetTableOptions extends ScreenOptions {
  readonly by: WorkingSetKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
}

const COLUMN_WIDTH = 12;
const HEADS: Readonly<Record<WorkingSetKey, readonly string[]>> = {
  lines: ["LARGEST", "MEAN", "INTERVALS"],
  misses: ["MISSES", "% OF ALL", "REFERENCES"],
  cold: ["COLD", "% OF ALL", "REFERENCES"],
};

/**
 * Functions by the working sets of their intervals, or instructions by misses, one line each.
 *
 * @returns undefined where the run has no locality and the key needs it
 */
export function workingSetTable(
  profile: WorkingSetProfile,
  options: WorkingSetTableOptions,
): string | undefined {
  const { by, order } = options;
  const ranking = rankWorkingSet(profile, by, order);
  if (ranking === undefined) return undefined;
  const screen = new Screen(options);
  const { places, total, cacheBytes } = ranking;
  const extreme = order === "largest" ? ["Largest", "Most"] : ["Smallest", "Fewest"];
  const title = {
    lines: `${extreme[0]} working sets of intervals, by the function they ended in`,
    misses: `${extreme[1]} misses of a cache of ${formatBytes(cacheBytes ?? 0)}`,
    cold: `${extreme[1]} first references to lines`,
  }[by];
  const noun = by === "lines" ? "function" : "instruction";
  const all = total === undefined ? "" : `${formatCount(total)} at `;
  screen.printEnds(title, `${all}${plural(places.length, noun)}`, screen.paint.strong);
  printGaps(screen, profile.notTracked);
  screen.print("");
  if (places.length === 0) {
    screen.print("Nothing to rank.");
    return screen.text();
  }
  screen.print(
    screen.paint.faint(
      `${HEADS[by].map((head) => padLeft(head, COLUMN_WIDTH)).join("")}  ${by === "lines" ? "FUNCTION" : "INSTRUCTION"}`,
    ),
  );
  const width = screen.width - HEADS[by].length * COLUMN_WIDTH - 2;
  for (const place of places.slice(0, options.rows)) {
    const { value, mean = 0, intervals = 0, references = 0 } = place;
    const cells =
      by === "lines"
        ? [
            formatBytes(value * profile.lineBytes),
            formatBytes(mean * profile.lineBytes),
            formatCount(intervals),
          ]
        : [formatCount(value), formatPercent(value, total ?? 0), formatCount(references)];
    const [first, ...others] = cells.map((cell) => padLeft(cell, COLUMN_WIDTH));
    const name = by === "lines" ? functionOf(screen, place, width) : nameOf(screen, place, width);
    screen.print(`${screen.paint.amount(first)}${others.join("")}  ${name}`);
  }
  const omitted = places.length - options.rows;
  if (omitted > 0)
    screen.print(screen.paint.faint(`  … and ${plural(omitted, `more ${noun}`)}: -n shows them`));
  if (screen.isShortened)
    screen.print(screen.paint.faint("  Names are shortened: --wide shows them in full"));
  return screen.text();
}

function functionOf(screen: Screen, { frame }: RankedPlace, width: number): string {
  if (frame === undefined) return screen.paint.faint("(not known)");
  return screen.fit(frame.name ?? `func[${frame.function}]`, width);
}

/** `sweep(char*) sweep.c:7`, `sweep(char*) +0x1f3`; what has no debug information is named by its offset. */
export function nameOf(
  screen: Screen,
  { frame, file, line }: Partial<Pick<RankedPlace, "frame" | "file" | "line">>,
  width: number,
): string {
  if (frame === undefined) return screen.paint.faint("(bulk memory instructions)");
  const path = file === undefined ? undefined : printable(file);
  const name = frame.name ?? `func[${frame.function}]`;
  const source = screen.isWide ? path : path?.split(/[/\\]/).at(-1);
  const place =
    source !== undefined
      ? `${source}:${line}`
      : frame.offset === undefined
        ? ""
        : `+0x${frame.offset.toString(16)}`;
  return `${screen.fit(name, Math.max(12, width - place.length - 1))} ${screen.paint.faint(place)}`;
}
