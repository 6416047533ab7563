import { rankWaste, type WasteKey } from "../../../analyses/waste/rank-sites.ts";
import type { WasteFile } from "../../../model/waste/waste.ts";
import { formatBytes, formatCount, formatLeastPercent, formatPercent, plural } from "../../format.ts";
import { placeOf } from "../../place-names.ts";
import { printGaps, printWrapped } from "../common/header.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { padLeft, printable } from "../common/text.ts";
import { printPath } from "./waste-path.ts";

export interface WasteTableOptions extends ScreenOptions {
  readonly by: WasteKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
}

const TITLES: Readonly<Record<WasteKey, string>> = {
  dead: "dead bytes",
  silent: "silent stores",
  redundant: "redundant loads",
};
const HEADS: Readonly<Record<WasteKey, readonly string[]>> = {
  dead: ["DEAD", "% OF ALL", "% OF ITS", "STORES"],
  silent: ["SILENT", "% OF ALL", "% OF ITS", "STORES"],
  redundant: ["REDUNDANT", "% OF ALL", "% OF ITS", "LOADS"],
};
const COLUMN_WIDTH = 10;
const PATH_INDENT = " ".repeat(12);
/** Part of a site's redundant loads below which a value is not worth telling. */
const LEAST_VALUE = 0.01;

/** Access sites ranked by one kind of waste, one line each. */
export function wasteTable(file: WasteFile, options: WasteTableOptions): string {
  const screen = new Screen(options);
  const { by, order } = options;
  const ranking = rankWaste(file, by, order);
  const total = ranking.reduce((sum, { value }) => sum + value, 0);
  const format = by === "dead" ? formatBytes : formatCount;
  const title = `${order === "largest" ? "Most" : "Least"} ${TITLES[by]}`;
  const all =
    file.modules?.length === 0 ? "not recorded" : `${format(total)} at ${plural(ranking.length, "site")}`;
  screen.printEnds(title, all, screen.paint.strong);
  printGaps(screen, file.notTracked);
  screen.print("");
  if (ranking.length === 0) {
    screen.print(
      file.modules?.length === 0
        ? "Nothing was recorded: there was no module that this tool could follow."
        : `Nothing to rank: there are no ${TITLES[by]}.`,
    );
    return screen.text();
  }
  screen.print(screen.paint.faint(`${HEADS[by].map((head) => padLeft(head, COLUMN_WIDTH)).join("")}  SITE`));
  const nameWidth = screen.width - HEADS[by].length * COLUMN_WIDTH - 2;
  for (const { ips, value, whole, operations, values = [], zeroPart } of ranking.slice(0, options.rows)) {
    const cells = [
      screen.paint.amount(padLeft(format(value), COLUMN_WIDTH)),
      padLeft(formatPercent(value, total), COLUMN_WIDTH),
      padLeft(formatPercent(value, whole), COLUMN_WIDTH),
      padLeft(formatCount(operations), COLUMN_WIDTH),
    ];
    screen.print(`${cells.join("")}  ${screen.fitPlace(placeOf(ips), nameWidth)}`);
    printPath(screen, ips, PATH_INDENT);
    const found = values
      .filter(({ loads }) => loads >= LEAST_VALUE * value)
      .flatMap((one) => {
        const part = (one.exact ? formatPercent : formatLeastPercent)(one.loads, value);
        return part === undefined ? [] : `${part} find ${one.value}`;
      });
    if (zeroPart !== undefined && zeroPart > 0)
      found.push(`${formatPercent(Math.round(zeroPart * 1000), 1000)} of the bytes are 0`);
    if (found.length > 0)
      printWrapped(screen, printable(found.join(", ")), PATH_INDENT, PATH_INDENT, screen.paint.faint);
  }
  const omitted = ranking.length - options.rows;
  if (omitted > 0) screen.print(screen.paint.faint(`  … and ${plural(omitted, "more site")}: -n shows them`));
  screen.printShortened();
  return screen.text();
}
