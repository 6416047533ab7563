import { type PairTable, rankPairs } from "../../../analyses/waste/pairs.ts";
import type { PairKind, WasteFile } from "../../../model/waste/waste.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../format.ts";
import { placeOf } from "../../place-names.ts";
import { printGaps } from "../common/header.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { padLeft } from "../common/text.ts";

const TITLES: Readonly<Record<PairTable, string>> = {
  dead: "Dead stores and what ended them",
  silent: "Silent stores and who stored before",
  redundant: "Redundant loads and who loaded before",
};
/** What the second place did to the bytes of the first. */
const LINKS: Readonly<Record<PairKind, string>> = {
  overwritten: "overwritten by",
  deallocated: "freed by",
  returned: "frame ended by",
  exit: "unread at the end",
  silent: "stored again by",
  redundant: "loaded again by",
};
const ORIGINS = { init: "a data segment", zero: "memory as the system gave it" } as const;
const COLUMNS = ["BYTES", "% OF ALL", "% SO FAR", "OPERATIONS"];
const COLUMN_WIDTH = 12;
const LABEL_WIDTH = 18;

export interface WastePairsOptions extends ScreenOptions {
  readonly table: PairTable;
  readonly rows: number;
}

/** Pairs of places, most bytes first: the one, what the other did to it, and the callers that both have. */
export function wastePairs(file: WasteFile, options: WastePairsOptions): string {
  const screen = new Screen(options);
  const pairs = rankPairs(file, options.table);
  const total = pairs.reduce((sum, { bytes }) => sum + bytes, 0);
  screen.printEnds(
    TITLES[options.table],
    `${formatBytes(total)} in ${plural(pairs.length, "pair")}`,
    screen.paint.strong,
  );
  printGaps(screen, file.notTracked);
  screen.print("");
  if (pairs.length === 0) {
    screen.print("Nothing to rank: there are no such pairs.");
    return screen.text();
  }
  screen.print(screen.paint.faint(`${COLUMNS.map((head) => padLeft(head, COLUMN_WIDTH)).join("")}`));
  for (const { kind, first, origin, second, common, ...row } of pairs.slice(0, options.rows)) {
    const cells = [
      screen.paint.amount(padLeft(formatBytes(row.bytes), COLUMN_WIDTH)),
      padLeft(formatPercent(row.bytes, total), COLUMN_WIDTH),
      padLeft(formatPercent(Math.round(row.cumulativeShare * total), total), COLUMN_WIDTH),
      padLeft(formatCount(row.operations), COLUMN_WIDTH),
    ];
    screen.print(cells.join(""));
    const line = (label: string, text: string): void =>
      screen.print(
        `    ${screen.paint.faint(label.padEnd(LABEL_WIDTH))}${screen.fitPlace(text, screen.width - LABEL_WIDTH - 4)}`,
      );
    const path = (ips: typeof first, label: string): void =>
      ips.forEach((ip, depth) => {
        line(depth === 0 ? label : "  called from", placeOf([ip]));
      });
    if (first.length > 0) path(first, "");
    else line("", ORIGINS[origin ?? "zero"]);
    if (second.length > 0) path(second, LINKS[kind]);
    else screen.print(`    ${screen.paint.faint(LINKS[kind])}`);
    path(common, "both called from");
  }
  const omitted = pairs.length - options.rows;
  if (omitted > 0) screen.print(screen.paint.faint(`  … and ${plural(omitted, "more pair")}: -n shows them`));
  screen.printShortened();
  return screen.text();
}
