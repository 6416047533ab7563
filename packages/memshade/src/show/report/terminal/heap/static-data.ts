import { shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { StaticObject, StaticsReport } from "../../../../explain/analyses/statics/static-objects.ts";
import { measure } from "../../../../explain/measures/index.ts";
import { rank } from "../../../../explain/measures/ranking.ts";
import { formatBytes, formatCount, formatPercent } from "../../../../profile/model/format.ts";
import { amountFormat } from "../../measure-format.ts";
import type { Screen } from "../common/screen.ts";
import { displayWidth, padLeft, padRight, printable } from "../common/text.ts";
import { printOmitted } from "./site-rows.ts";

const COLUMN = 10;
const PERCENT = 8;
const USE = 11;
const USUAL_ROWS = 5;

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
  printRows(screen, statics, "static-accesses", rows);
  if (elsewhere > 0)
    screen.print(
      faint(`  and ${formatCount(elsewhere)} behind it, to zeroed data without a name or the stack`),
    );
  const notRead = untouchedBytes + unreadBytes;
  if (notRead === 0) return;
  const parts = [
    ...(untouchedBytes > 0 ? [`${formatBytes(untouchedBytes)} never touched`] : []),
    ...(unreadBytes > 0 ? [`${formatBytes(unreadBytes)} written, never read`] : []),
  ];
  screen.print("", `  Not read: ${parts.join(", ")} (${formatPercent(notRead, bytes)})`);
  printRows(screen, statics, "static-unread", rows);
}

function printRows(screen: Screen, statics: StaticsReport, id: string, rows: number): void {
  const { head, unit, column } = measure(id);
  const format = amountFormat(unit);
  const values = Float64Array.from(column({ statics })!.amounts as ArrayLike<number>);
  const ranked = rank(values);
  if (ranked.length === 0) return;
  const total = values.reduce((sum, value) => sum + value, 0);
  const heads = [padLeft(head, COLUMN), padLeft("%", PERCENT), padLeft("BYTES", COLUMN)];
  screen.print(screen.paint.faint(`${heads.join("")}  ${padRight("USE", USE)}VARIABLE`));
  const width = screen.width - 2 * COLUMN - PERCENT - 2 - USE;
  for (const row of ranked.slice(0, rows)) {
    const [object, value] = [statics.objects[row]!, values[row]!];
    const cells = [padLeft(formatPercent(value, total), PERCENT), padLeft(formatBytes(object.bytes), COLUMN)];
    screen.print(
      `${screen.paint.amount(padLeft(format(value), COLUMN))}${cells.join("")}  ${padRight(object.use, USE)}${nameOf(screen, object, width)}`,
    );
  }
  printOmitted(screen, ranked.slice(rows), values, format, "variable");
}

/** `crc_table (crc.c:12)`, `hits, misses share 8 B (main.c:3)` */
function nameOf(screen: Screen, { name, kind, file, line, bytes }: StaticObject, width: number): string {
  const place = shortPlace({ file, line: line === 0 ? undefined : line });
  const what = kind === "shared" ? ` share ${formatBytes(bytes)}` : "";
  const behind = `${what}${place === undefined ? "" : ` (${printable(place)})`}`;
  return `${screen.paint.strong(screen.fit(name, Math.max(1, width - displayWidth(behind))))}${screen.paint.faint(behind)}`;
}
