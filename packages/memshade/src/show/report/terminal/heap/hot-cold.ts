import { compactName, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { ClassifiedSite, DecidingSuffix, TypeTotals } from "../../../../explain/analyses/hot-cold.ts";
import { formatBlocks, formatBytes, plural } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoFrameTable } from "../../../../profile/model/indices.ts";
import type { HotColdThresholds } from "../../../../profile/model/memprof/hot-cold.ts";
import { describeFrame, ofModule } from "../../frames.ts";
import type { Screen } from "../common/screen.ts";
import { displayWidth, firstWords, printable } from "../common/text.ts";

const LABEL_WIDTH = 11;
const SUFFIXES_SHOWN = 6;

export function thresholdsInWords(thresholds: HotColdThresholds): string {
  const { coldDensity, coldLifetimeSeconds, hotDensity, usesHot } = thresholds;
  const hot = usesHot ? `; hot: more than ${hotDensity} accesses per byte and second` : "";
  return (
    `cold: mean lifetime of ${coldLifetimeSeconds} s or more, and less than ${coldDensity} accesses per byte ` +
    `and second${hot}`
  );
}

/**
 * Prints the compiler's classification of allocation calls, and for ambiguous calls the callers that decide.
 *
 * @param rows sites to show
 */
export function printHotCold(
  screen: Screen,
  profile: HeapProfile,
  sites: readonly ClassifiedSite[],
  thresholds: HotColdThresholds,
  rows: number,
): void {
  const count = (type: string) => sites.filter((site) => site.type === type).length;
  const counts = ["cold", "hot", "ambiguous", "notcold"]
    .filter((type) => count(type) > 0)
    .map((type) => `${count(type)} ${type === "notcold" ? "not cold" : type}`);
  screen.print("");
  screen.printEnds("Hot and cold for the compiler", counts.join(", "), screen.paint.heading);
  screen.print(screen.paint.faint("─".repeat(screen.width)));
  for (const line of wrap(thresholdsInWords(thresholds), screen.width - 2))
    screen.print(screen.paint.faint(`  ${line}`));
  // Compilers assume `notcold` by default, so these sites carry no information.
  const telling = sites.filter(({ type }) => type !== "notcold");
  for (const site of telling.slice(0, rows)) printSite(screen, profile, site);
  if (telling.length === 0) screen.print("  no allocation call is cold");
  if (telling.length > rows)
    screen.print(screen.paint.faint(`  … and ${telling.length - rows} more: -n N shows them`));
}

function printSite(screen: Screen, profile: HeapProfile, site: ClassifiedSite): void {
  const { frame, type, totals, deciding } = site;
  const label = (type === "notcold" ? "not cold" : type).padEnd(LABEL_WIDTH);
  const size = totalsInWords(totals);
  const width = screen.width - LABEL_WIDTH - 4 - displayWidth(size);
  screen.printEnds(`  ${label}${placeInWords(screen, profile, frame, width)}`, size, screen.paint.strong);
  if (type !== "ambiguous") return;
  for (const suffix of deciding.slice(0, SUFFIXES_SHOWN))
    screen.print(`      ${suffixInWords(screen, profile, suffix)}`);
  if (deciding.length > SUFFIXES_SHOWN)
    screen.print(screen.paint.faint(`      … and ${deciding.length - SUFFIXES_SHOWN} more: --json has all`));
}

function suffixInWords(
  screen: Screen,
  profile: HeapProfile,
  { type, frames, totals }: DecidingSuffix,
): string {
  const typeAndBytes = `${(type === "notcold" ? "not cold" : type).padEnd(9)}${formatBytes(totals.bytes)}`;
  if (frames.length < 2) return `${typeAndBytes}  for callers that cannot be distinguished`;
  const words = [`${typeAndBytes} `, ...frames.slice(1).map((frame) => ` ← ${nameOf(profile, frame)}`)];
  return screen.shorten(words.join(""), (columns) => firstWords(words, " ← …", columns), screen.width - 6);
}

function placeInWords(
  screen: Screen,
  profile: HeapProfile,
  frame: IndexIntoFrameTable,
  width: number,
): string {
  const described = describeFrame(profile, frame);
  const { file, line, column } = described;
  const base = file?.slice(file.lastIndexOf("/") + 1);
  const source = base === undefined ? "" : ` ${printable(base)}:${line ?? 0}:${column ?? 0}`;
  const place = printable(ofModule(profile, described)) + source;
  return `${screen.fit(described.function, Math.max(8, width - displayWidth(place)))}${place}`;
}

function nameOf(profile: HeapProfile, frame: IndexIntoFrameTable): string {
  const described = describeFrame(profile, frame);
  const place = shortPlace(described);
  const source = place === undefined ? "" : ` (${printable(place)})`;
  return compactName(described.function) + printable(ofModule(profile, described)) + source;
}

function totalsInWords({ contexts, blocks, bytes }: TypeTotals): string {
  return `${formatBytes(bytes)} in ${formatBlocks(blocks)}, ${plural(contexts, "path")}`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1)!;
    if (last !== "" && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
