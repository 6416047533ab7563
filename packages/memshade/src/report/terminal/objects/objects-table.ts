import type { GroupBy } from "../../../analyses/groups.ts";
import {
  OBJECT_KEYS,
  type ObjectKey,
  type RankedObjects,
  rankObjects,
} from "../../../analyses/objects/rank.ts";
import { wholeSurvival } from "../../../analyses/objects/survival.ts";
import { objectTotals } from "../../../analyses/objects/totals.ts";
import type { ObjectsProfile } from "../../../model/objects/objects.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../format.ts";
import { codeOffset, shortPlace } from "../../frames.ts";
import { functionInWords } from "../../place-names.ts";
import { printChain } from "../common/call-path.ts";
import { printGaps } from "../common/header.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { displayWidth, padLeft, printable } from "../common/text.ts";

export interface ObjectsTableOptions extends ScreenOptions {
  readonly by: ObjectKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
  readonly group: GroupBy;
}

const HEADS: Readonly<Record<ObjectKey, string>> = {
  "object-bytes": "BYTES",
  objects: "OBJECTS",
  "in-use": "IN USE",
};
const TITLES: Readonly<Record<ObjectKey, string>> = {
  "object-bytes": "bytes of objects made (a model of sizes)",
  objects: "objects made",
  "in-use": "bytes of objects in use at the end (an estimate)",
};
const NOUNS: Readonly<Record<GroupBy, string>> = { site: "place", path: "call path", function: "function" };
const COLUMN_WIDTH = 10;
const LONGEST_TYPE = 24;

/** The places that make garbage-collected objects, one line each. What is in use is known of runs that have followed objects. */
export function objectsTable(profile: ObjectsProfile, options: ObjectsTableOptions): string {
  const { by, order, rows, group } = options;
  const screen = new Screen(options);
  const { paint } = screen;
  const places = rankObjects(profile, by, order, group);
  const all = totalOf(profile, by);
  const total =
    by === "in-use" ? `≈${formatBytes(all)}` : by === "objects" ? formatCount(all) : formatBytes(all);
  screen.printEnds(
    `${order === "largest" ? "Most" : "Fewest"} ${TITLES[by]}`,
    `${total} at ${plural(places.length, NOUNS[group])}`,
    paint.strong,
  );
  printGaps(screen, profile.notTracked);
  screen.print("");
  if (places.length === 0) {
    screen.print("Nothing to rank.");
    return screen.text();
  }
  const columns = [
    by,
    ...OBJECT_KEYS.filter((key) => key !== by && (key !== "in-use" || profile.sampleBytes > 0)),
  ];
  const heads = [HEADS[by], "% OF ALL", ...columns.slice(1).map((key) => HEADS[key])];
  const margin = heads.length * COLUMN_WIDTH + 2;
  screen.print(
    paint.faint(
      `${heads.map((head) => padLeft(head, COLUMN_WIDTH)).join("")}  ${NOUNS[group].toUpperCase()}`,
    ),
  );
  for (const place of places.slice(0, rows)) {
    const [first, ...others] = columns.map((key) => padLeft(cellOf(key, place), COLUMN_WIDTH));
    const part = padLeft(formatPercent(place.values[by], all), COLUMN_WIDTH);
    screen.print(
      `${paint.amount(first)}${part}${others.join("")}  ${placeOf(screen, place, screen.width - margin)}`,
    );
    const callers = place.callers.map(({ function: name, file, line, library }) => ({
      ...{ name: functionInWords({ function: name }), file, line, library },
    }));
    printChain(screen, callers, `${" ".repeat(margin)}← `);
  }
  const omitted = places.length - rows;
  if (omitted > 0)
    screen.print(paint.faint(`  … and ${plural(omitted, `more ${NOUNS[group]}`)}: -n shows them`));
  screen.printShortened();
  return screen.text();
}

/** What all places have together. */
function totalOf(profile: ObjectsProfile, by: ObjectKey): number {
  const { objects, bytes } = objectTotals(profile);
  if (by === "in-use") return profile.parts.reduce((sum, part) => sum + (wholeSurvival(part)?.bytes ?? 0), 0);
  return by === "objects" ? objects : bytes;
}

function cellOf(key: ObjectKey, { values }: RankedObjects): string {
  const value = Math.round(values[key]);
  if (key === "objects") return formatCount(value);
  return key === "in-use" ? `≈${formatBytes(value)}` : formatBytes(value);
}

/** `add (library.kt:17) ArrayList`; what has no line is named by its offset. */
function placeOf(screen: Screen, { frame, type }: RankedObjects, width: number): string {
  const name = functionInWords(frame ?? {});
  const line = frame && shortPlace(frame);
  const place =
    line !== undefined
      ? ` (${printable(line)})`
      : frame?.address === undefined
        ? ""
        : ` (${codeOffset(frame.address)})`;
  const made = type === undefined ? "" : ` ${screen.fit(type, LONGEST_TYPE)}`;
  const room = Math.max(12, width - displayWidth(place) - displayWidth(made));
  return `${screen.paint.strong(screen.fit(name, room))}${screen.paint.faint(place + made)}`;
}
