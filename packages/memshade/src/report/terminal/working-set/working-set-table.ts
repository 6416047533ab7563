import type { GroupBy } from "../../../analyses/groups.ts";
import { rankWorkingSet, type WorkingSetKey } from "../../../analyses/working-set/rank.ts";
import type { RankedPlace } from "../../../analyses/working-set/ranked-place.ts";
import { ambiguousNames } from "../../../model/named-module.ts";
import type {
  AttributionKind,
  StackFrame,
  WorkingSetProfile,
} from "../../../model/working-set/working-set.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../format.ts";
import { bareName } from "../../place-names.ts";
import { type PathFrame, printCallers } from "../common/call-path.ts";
import { printGaps } from "../common/header.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";
import { displayWidth, padLeft, printable } from "../common/text.ts";

export interface WorkingSetTableOptions extends ScreenOptions {
  readonly by: WorkingSetKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
  readonly group?: GroupBy | undefined;
}

const COLUMN_WIDTH = 12;
const NOUNS: Readonly<Record<WorkingSetKey, string>> = {
  lines: "function",
  new: "function",
  fill: "function",
  "first-touch": "place",
  share: "place",
  misses: "instruction",
  cold: "instruction",
};
const HEADS: Readonly<Record<WorkingSetKey, readonly string[]>> = {
  lines: ["LARGEST", "MEAN", "INTERVALS"],
  new: ["NEW", "% OF ALL", "INTERVALS"],
  fill: ["UNTOUCHED", "FILL", "INTERVALS"],
  "first-touch": ["RUN", "% OF ALL", "INTERVAL"],
  share: ["INTERVAL", "% OF ALL", "RUN"],
  misses: ["MISSES", "% OF ALL", "REFERENCES"],
  cold: ["COLD", "% OF ALL", "REFERENCES"],
};

/**
 * Functions by the working sets of their intervals, or instructions by misses, one line each.
 *
 * @returns undefined where the run has not what the key needs
 */
export function workingSetTable(
  profile: WorkingSetProfile,
  options: WorkingSetTableOptions,
): string | undefined {
  const { by, order, group = "site" } = options;
  const ranking = rankWorkingSet(profile, by, order, group);
  if (ranking === undefined) return undefined;
  const screen = new Screen(options);
  const { places, total, cacheBytes } = ranking;
  const extreme = order === "largest" ? ["Largest", "Most"] : ["Smallest", "Fewest"];
  const title = {
    lines: `${extreme[0]} working sets of intervals, by the function they ended in`,
    new: `${extreme[1]} lines new to the run, by the function that intervals ended in`,
    fill: `${extreme[1]} untouched bytes of lines, by the function that intervals ended in`,
    "first-touch": `${extreme[1]} lines touched first`,
    share: `${extreme[0]} shares of the working set, by who allocated`,
    misses: `${extreme[1]} misses of a cache of ${formatBytes(cacheBytes ?? 0)}`,
    cold: `${extreme[1]} first references to lines`,
  }[by];
  const ofIntervals = by === "lines" || by === "new" || by === "fill";
  const noun = nounOf(by, group);
  const bytes = (lines: number): string => formatBytes(lines * profile.lineBytes);
  const isInLines = by === "first-touch" || by === "share" || by === "new";
  const all = total === undefined ? "" : `${isInLines ? bytes(total) : formatCount(total)} at `;
  screen.printEnds(title, `${all}${plural(places.length, noun)}`, screen.paint.strong);
  printGaps(screen, profile.notTracked);
  screen.print("");
  if (places.length === 0) {
    screen.print("Nothing to rank.");
    return screen.text();
  }
  screen.print(
    screen.paint.faint(
      `${HEADS[by].map((head) => padLeft(head, COLUMN_WIDTH)).join("")}  ${noun.toUpperCase()}`,
    ),
  );
  const width = screen.width - HEADS[by].length * COLUMN_WIDTH - 2;
  const ambiguous = ambiguousNames(places.map(({ module, frame }) => [module, frame?.name]));
  const ofModule = ({ module, frame }: RankedPlace): string =>
    profile.modules.length > 1 && ambiguous.has(frame?.name)
      ? ` of ${printable(profile.modules[module]?.name ?? "")}`
      : "";
  for (const place of places.slice(0, options.rows)) {
    const { value, mean = 0, intervals = 0, fill = 0, references = 0, callers } = place;
    const part = formatPercent(value, total ?? 0);
    const cells = {
      lines: () => [bytes(value), bytes(mean), formatCount(intervals)],
      new: () => [bytes(value), part, formatCount(intervals)],
      fill: () => [formatBytes(value), formatPercent(fill, 1), formatCount(intervals)],
      "first-touch": () => [bytes(value), part, bytes(mean)],
      share: () => [bytes(value), part, bytes(place.total ?? 0)],
      misses: () => [formatCount(value), part, formatCount(references)],
      cold: () => [formatCount(value), part, formatCount(references)],
    }[by]();
    const [first, ...others] = cells.map((cell) => padLeft(cell, COLUMN_WIDTH));
    const module = ofModule(place);
    const room = width - module.length;
    const name = ofIntervals ? functionOf(screen, place, room) : nameOf(screen, place, room);
    screen.print(`${screen.paint.amount(first)}${others.join("")}  ${name}${screen.paint.faint(module)}`);
    if (callers !== undefined)
      printCallers(screen, callers.map(pathFrame), " ".repeat(HEADS[by].length * COLUMN_WIDTH + 2));
  }
  const omitted = places.length - options.rows;
  if (omitted > 0)
    screen.print(screen.paint.faint(`  … and ${plural(omitted, `more ${noun}`)}: -n shows them`));
  screen.printShortened();
  return screen.text();
}

function nounOf(by: WorkingSetKey, group: GroupBy): string {
  if (group === "function") return "function";
  return group === "path" && by !== "misses" && by !== "cold" ? "call path" : NOUNS[by];
}

function functionOf(screen: Screen, { frame }: RankedPlace, width: number): string {
  if (frame === undefined) return screen.paint.faint("(not known)");
  return screen.fit(functionName(frame), width);
}

/** `func[79]` for a function without a name. */
export function functionName({ name, function: index }: StackFrame): string {
  return name ?? `func[${index}]`;
}

/** The same for chains of calls: without arguments, templates and results. */
export function pathFrame(frame: StackFrame): PathFrame {
  const { file, line, library } = frame;
  const name = frame.name === undefined ? functionName(frame) : bareName(frame.name);
  return { name, file, line, library };
}

const KIND_NAMES: Readonly<Record<AttributionKind, string>> = {
  code: "code",
  host: "(the host)",
  stack: "(stack)",
  static: "(static data)",
  heap: "(heap, no block)",
  mapping: "(mapped file)",
  unknown: "(not known)",
};

/** What lines are attributed to that is no code. */
export function kindName({ kind, of }: { kind: AttributionKind; of?: string | undefined }): string {
  const name = KIND_NAMES[kind];
  return of === undefined ? name : `${name.slice(0, -1)}: ${printable(of)})`;
}

/**
 * `sweep(char*) sweep.c:7 via memset`, `sweep(char*) +0x1f3`; what has no debug information is named by its offset.
 */
export function nameOf(
  screen: Screen,
  {
    frame,
    via,
    kind,
    of,
    file,
    line,
  }: Partial<Pick<RankedPlace, "frame" | "via" | "kind" | "of" | "file" | "line">>,
  width: number,
): string {
  if (frame === undefined)
    return screen.paint.faint(kind === undefined ? "(bulk memory instructions)" : kindName({ kind, of }));
  const path = file === undefined ? undefined : printable(file);
  const name = functionName(frame);
  const source = screen.isWide ? path : path?.split(/[/\\]/).at(-1);
  const called = via === undefined ? "" : ` via ${printable(pathFrame(via).name)}`;
  const place =
    source !== undefined
      ? `${source}:${line}`
      : frame.offset === undefined
        ? ""
        : `+0x${frame.offset.toString(16)}`;
  const room = Math.max(12, width - place.length - 1);
  const whole = screen.isWide || displayWidth(name + called) <= room ? called : "";
  if (whole !== called) screen.isShortened = true;
  return `${screen.fit(name, room - displayWidth(whole))} ${screen.paint.faint(place + whole)}`;
}
