import { rankStatics, type StaticKey, type StaticRanking } from "../../../analyses/statics/rank-statics.ts";
import type { StaticObject, StaticsReport } from "../../../analyses/statics/static-objects.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../format.ts";
import { shortPlace } from "../../frames.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { displayWidth, padLeft, padRight, printable } from "../common/text.ts";

const COLUMN = 10;
const PERCENT = 8;
const USE = 11;
const USUAL_ROWS = 5;

/** Head of the first column, and how its numbers are written. */
const KINDS = {
  static: { head: "ACCESSES", format: formatCount, title: "accesses to static data" },
  "unread-data": { head: "NOT READ", format: formatBytes, title: "static data that nobody reads" },
} as const;

export interface StaticTableOptions extends ScreenOptions {
  readonly by: StaticKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
}

/** Static data ranked by one number, a line each. */
export function staticTable(
  statics: StaticsReport,
  { by, order, rows, ...options }: StaticTableOptions,
): string {
  const screen = new Screen(options);
  const ranking = rankStatics(statics, by, order);
  const { title, format } = KINDS[by];
  const size = `${format(ranking.total)} in ${plural(ranking.ranked.length, "variable")}`;
  screen.printEnds(`${order === "largest" ? "Most" : "Least"} ${title}`, size, screen.paint.strong);
  screen.print("");
  if (ranking.ranked.length === 0) screen.print("Nothing to rank.");
  else printRows(screen, ranking, by, rows);
  if (by === "static" && statics.atLeast) screen.print(screen.paint.faint(AT_LEAST));
  screen.printShortened();
  return screen.text();
}

const AT_LEAST =
  "  Counters of static data may have wrapped while nobody watched: accesses are at least as many.";

/** The part of the heap's report on static data. */
export function printStaticData(screen: Screen, statics: StaticsReport, rows = USUAL_ROWS): void {
  const { bytes, untouchedBytes, unreadBytes, accesses, elsewhere } = statics;
  if (bytes === 0) return;
  const { heading, faint } = screen.paint;
  const least = statics.atLeast ? "at least " : "";
  const size = `${least}${formatCount(accesses)} accesses to ${formatBytes(bytes)}`;
  screen.print("");
  screen.printEnds("Static data", size, heading);
  screen.print(faint("─".repeat(screen.width)));
  const used = rankStatics(statics, "static");
  if (used.ranked.length > 0) printRows(screen, used, "static", rows);
  if (elsewhere > 0)
    screen.print(
      faint(`  and ${formatCount(elsewhere)} behind it, to zeroed data without a name or the stack`),
    );
  const unread = rankStatics(statics, "unread-data");
  if (unread.ranked.length === 0) return;
  const parts = [
    ...(untouchedBytes > 0 ? [`${formatBytes(untouchedBytes)} never touched`] : []),
    ...(unreadBytes > 0 ? [`${formatBytes(unreadBytes)} written, never read`] : []),
  ];
  screen.print("", `  Not read: ${parts.join(", ")} (${formatPercent(unread.total, bytes)})`);
  printRows(screen, unread, "unread-data", rows);
}

function printRows(screen: Screen, { ranked, total }: StaticRanking, by: StaticKey, rows: number): void {
  const { head, format } = KINDS[by];
  const heads = [padLeft(head, COLUMN), padLeft("%", PERCENT), padLeft("BYTES", COLUMN)];
  screen.print(screen.paint.faint(`${heads.join("")}  ${padRight("USE", USE)}VARIABLE`));
  const width = screen.width - 2 * COLUMN - PERCENT - 2 - USE;
  for (const { object, value } of ranked.slice(0, rows)) {
    const cells = [padLeft(formatPercent(value, total), PERCENT), padLeft(formatBytes(object.bytes), COLUMN)];
    screen.print(
      `${screen.paint.amount(padLeft(format(value), COLUMN))}${cells.join("")}  ${padRight(object.use, USE)}${nameOf(screen, object, width)}`,
    );
  }
  const omitted = ranked.slice(rows);
  if (omitted.length === 0) return;
  const sum = omitted.reduce((left, row) => left + row.value, 0);
  const left = `${plural(omitted.length, "more variable")} with ${format(sum)}`;
  screen.print(screen.paint.faint(`  … and ${left}: -n N shows them`));
}

/** `crc_table (crc.c:12)`, `hits, misses share 8 B (main.c:3)` */
function nameOf(screen: Screen, { name, kind, file, line, bytes }: StaticObject, width: number): string {
  const place = shortPlace({ file, line: line === 0 ? undefined : line });
  const what = kind === "shared" ? ` share ${formatBytes(bytes)}` : "";
  const behind = `${what}${place === undefined ? "" : ` (${printable(place)})`}`;
  return `${screen.paint.strong(screen.fit(name, Math.max(1, width - displayWidth(behind))))}${screen.paint.faint(behind)}`;
}
