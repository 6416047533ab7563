import { fromOwn } from "../../../../explain/analyses/frames/own-place.ts";
import {
  attributedPlaces,
  functionsOfInterval,
} from "../../../../explain/analyses/working-set/attributed-places.ts";
import { formatPercent, plural } from "../../../../profile/model/format.ts";
import type { Attribution, InstanceWorkingSet } from "../../../../profile/model/working-set/working-set.ts";
import { printCallers } from "../common/call-path.ts";
import type { Screen } from "../common/screen.ts";
import { displayWidth, padLeft, printable } from "../common/text.ts";
import { functionName, kindName, nameOf, pathFrame } from "./working-set-names.ts";

const DEFAULT_PLACES = 8;
const CALLERS_INDENT = " ".repeat(33);
/** Functions named per interval at most. */
const MOST_PER_INTERVAL = 4;
/** Parts of an interval smaller than this are not named. */
const LEAST_PART = 0.01;

/** Who touched the lines first, and whose they are: what `--who` recorded. */
export function printAttributions(
  screen: Screen,
  { firstTouch, owners }: InstanceWorkingSet,
  rows: number | undefined,
  bytes: (lines: number) => string,
): void {
  const most = rows ?? DEFAULT_PLACES;
  if (owners !== undefined) {
    const title = "Owners  (whose blocks the lines of an interval hold, on average)";
    printPlaces(screen, title, owners, "mean", most, bytes);
  }
  if (firstTouch !== undefined) {
    const title = "First touches  (lines that a place was the first to touch in the run)";
    printPlaces(screen, title, firstTouch, "total", most, bytes);
  }
}

function printPlaces(
  screen: Screen,
  title: string,
  attribution: Attribution,
  by: "mean" | "total",
  rows: number,
  bytes: (lines: number) => string,
): void {
  const { paint } = screen;
  const [head, ...more] = title.split("  ");
  const places = attributedPlaces(attribution, by === "mean" ? "owners" : "firstTouch").filter(
    (place) => place[by] > 0,
  );
  const sum = places.reduce((all, place) => all + place[by], 0);
  screen.print("", paint.strong(head) + paint.faint(`  ${more.join("  ")}`));
  screen.print(
    paint.faint(
      `  ${padLeft(by === "mean" ? "interval" : "run", 9)} ${padLeft("part", 7)} ${padLeft(by === "mean" ? "run" : "interval", 10)}  ${by === "mean" ? "allocated in" : "touched in"}`,
    ),
  );
  for (const { kind, of, stack, total, mean } of places.slice(0, rows)) {
    const [value, other] = by === "mean" ? [mean, total] : [total, mean];
    const own = fromOwn(stack);
    const [frame, ...callers] = own.stack;
    const name =
      frame === undefined
        ? paint.faint(kindName({ kind, of }))
        : nameOf(
            screen,
            { frame, via: own.via, file: frame.file, line: frame.line },
            screen.width - CALLERS_INDENT.length,
          );
    screen.print(
      `  ${paint.amount(padLeft(bytes(value), 9))} ${padLeft(formatPercent(value, sum), 7)} ${padLeft(bytes(other), 10)}  ${name}`,
    );
    printCallers(screen, callers.map(pathFrame), CALLERS_INDENT);
  }
  const omitted = Math.max(0, places.length - rows) + attribution.otherContexts.contexts;
  if (omitted > 0) screen.print(paint.faint(`  … and ${plural(omitted, "more place")}: -n shows more`));
}

/** One line per attribution of an interval: `first touched by parse 45 %, grow 30 %`. */
export function printInterval(
  screen: Screen,
  { firstTouch, owners, fill, levels }: InstanceWorkingSet,
  level: number,
  interval: number,
): void {
  const lines = levels[level].counts.lines?.[interval] ?? 0;
  if (lines === 0) return;
  const indent = " ".repeat(12);
  const bytes = fill?.levels[level]?.bytes[interval];
  if (bytes !== undefined)
    screen.print(screen.paint.faint(`${indent}${formatPercent(bytes, lines * 64)} of their bytes touched`));
  for (const [words, attribution] of [
    ["owners", owners],
    ["first touched by", firstTouch],
  ] as const) {
    if (attribution === undefined) continue;
    let line = `${indent}${words}`;
    let count = 0;
    for (const { kind, of, frame, lines: own } of functionsOfInterval(attribution, level, interval)) {
      if (own < LEAST_PART * lines || count === MOST_PER_INTERVAL) break;
      const name = frame === undefined ? kindName({ kind, of }) : screen.fit(functionName(frame), 24);
      const next = `${line}${count === 0 ? " " : ", "}${printable(name)} ${formatPercent(own, lines)}`;
      if (!screen.isWide && displayWidth(next) > screen.width) break;
      line = next;
      count++;
    }
    if (count > 0) screen.print(screen.paint.faint(line));
  }
}
