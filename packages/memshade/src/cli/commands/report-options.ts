import { type Command, Option } from "commander";
import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { MEASURED_TOOLS, measuresOfTool, wordsOf } from "../../explain/measures/index.ts";
import type { Measure, MeasureView } from "../../explain/measures/measure.ts";
import { TOOLS } from "../../explain/measures/tools.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { type PathMap, parsePathMap } from "../../names/symbolize/path-map.ts";
import { REPORTED_TOOLS } from "../../runs/recorded-tools.ts";
import type { OriginalPlaces } from "../../runs/run-symbols.ts";
import type { ReportedTool } from "../../runs/shelves.ts";
import { loadSuppressions, type OwnCode } from "../../runs/suppressions.ts";
import type { SourcesKept } from "../../show/report/page/data/sources.ts";
import { type ColorChoice, createPaint, wantsColors } from "../../show/report/terminal/common/paint.ts";
import {
  columnsOf,
  type ScreenOptions,
  USUAL_CALLER_LINES,
} from "../../show/report/terminal/common/screen.ts";
import { assertPlaces } from "../tool-options.ts";
import { addOptions, collect, type OptionDescription } from "./add-options.ts";

const COLOR_CHOICES: readonly ColorChoice[] = ["auto", "always", "never"];

export interface Terminal {
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly columns?: number | undefined;
  /** Sentences that an earlier part of the same report has printed. */
  readonly printedSentences?: Set<string>;
}

export interface ScreenFlags extends FrameFlags {
  readonly color: ColorChoice;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
}

/** Options that classify frames as the program's own or a library's. */
export interface FrameFlags {
  readonly allFrames?: boolean | undefined;
  readonly own?: readonly string[] | undefined;
  readonly library?: readonly string[] | undefined;
}

export interface ReadFlags extends FrameFlags {
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
}

export const RUN_ARGUMENT =
  "directory of a run, a MemProf file (raw, indexed, YAML, memshade), a heap profile of DHAT, pprof, heaptrack, jemalloc or gperftools";

const SHARED_OPTIONS = {
  rows: {
    flags: "-n, --rows <N>",
    description: "rows per table (default: as many as matter)",
    parse: parseRows,
  },
  wide: { flags: "--wide", description: "print names and call paths in full, in lines of any length" },
  lines: {
    flags: "--lines <N>",
    description: `with --wide, most lines of callers below a row (default: ${USUAL_CALLER_LINES})`,
    parse: (text) => parsePositive("--lines", "lines", text),
  },
  allFrames: {
    flags: "--all-frames",
    description: "name sites by their innermost frame, even in a library, and show every frame",
  },
  own: {
    flags: "--own <glob>",
    description: "source files or functions that are the program's own ('src/*', 'app::*'); can be repeated",
    parse: collect,
  },
  library: {
    flags: "--library <glob>",
    description: "source files or functions that are a library ('vendor/', 'sqlite3*'); can be repeated",
    parse: collect,
  },
  suppressions: {
    flags: "--suppressions <file>",
    description:
      "file of leaks that are not reported, in Valgrind's or LeakSanitizer's format; can be repeated",
    parse: collect,
  },
  json: { flags: "--json", description: "write JSON (docs/report-json.md) instead of text" },
  pathMap: {
    flags: "--path-map <from=to>",
    description: "folder in recorded source paths, and where it is on this machine; can be repeated",
    parse: collectPathMap,
  },
  binaryPath: {
    flags: "--binary-path <dir>",
    description:
      "folder or file with the original modules or native programs, searched first; can be repeated",
    parse: collect,
    check: assertPlaces("--binary-path"),
  },
  color: {
    flags: "--color <when>",
    description: "auto, always or never",
    parse: (text) => parseChoice<ColorChoice>("--color", COLOR_CHOICES, text),
    initial: "auto",
  },
  html: {
    flags: "--html [file]",
    description:
      "write the whole report as one HTML file (docs/report-page.md); default: in the run's folder",
  },
  open: { flags: "--open", description: "with --html, open the page in the browser" },
  htmlSources: {
    flags: "--html-sources <what>",
    description:
      "with --html, source code in the page: all, lines (only around lines with numbers) or none (default: lines)",
    parse: (text) => parseChoice<SourcesKept>("--html-sources", ["all", "lines", "none"], text),
  },
} satisfies Record<string, OptionDescription>;

export const READ_OPTIONS = ["allFrames", "own", "library", "suppressions"] as const;
export const PAGE_OPTIONS = ["html", "open", "htmlSources"] as const;

export function addShared(command: Command, ...names: readonly (keyof typeof SHARED_OPTIONS)[]): Command {
  addOptions(
    command,
    names.map((name) => SHARED_OPTIONS[name]),
  );
  return command;
}

export function collectPathMap(text: string, previous: readonly PathMap[] = []): PathMap[] {
  return [...previous, parsePathMap(text)];
}

/** Returns the option `--tool` of commands that show one tool or all of them. */
export function toolOption(otherwise: string): Option {
  return new Option("--tool <tool>", `heap, waste, workingset, objects or cpu${otherwise}`).argParser(
    (text) => parseChoice<ReportedTool>("--tool", REPORTED_TOOLS, text),
  );
}

export function readOptions(flags: ReadFlags): OriginalPlaces & OwnCode {
  return {
    binaryPaths: flags.binaryPath,
    rules: frameRules(flags),
    suppressions: loadSuppressions(flags.suppressions),
  };
}

/** @throws UserError for rules that `--all-frames` would ignore */
export function frameRules({ allFrames = false, own, library }: FrameFlags): FrameRules | undefined {
  if (!allFrames) return new FrameRules({ own, library });
  if (own !== undefined || library !== undefined)
    throw new UserError("--all-frames does not go with --own and --library: leave out one of them");
  return undefined;
}

/** @throws UserError for `--lines` without `--wide` */
export function screenOptions(
  { color, wide = false, lines, allFrames }: ScreenFlags,
  terminal: Terminal,
): ScreenOptions {
  if (lines !== undefined && !wide) throw new UserError("--lines is an option of --wide: add --wide");
  const paint = createPaint(wantsColors(color, terminal.isTerminal, terminal.environment));
  return {
    paint,
    width: columnsOf(terminal),
    isCut: terminal.isTerminal,
    isWide: wide,
    allFrames,
    callerLines: lines,
    printedSentences: terminal.printedSentences,
  };
}

export function parseRows(text: string): number {
  return parsePositive("-n", "rows", text);
}

export function parsePositive(option: string, unit: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number === 0)
    throw new UserError(`${option} takes a number of ${unit} from 1, not "${text}"`);
  return number;
}

export function parseChoice<T extends string>(option: string, choices: readonly T[], text: string): T {
  const choice = choices.find((choice) => choice === text);
  if (choice === undefined)
    throw new UserError(`${option} takes one of ${choices.join(", ")}, not "${text}"`);
  return choice;
}

/** Returns the measures of a view for the help: a text per tool, with aliases in parentheses. */
export function measuresByTool(isOffered: (measure: Measure) => boolean, view: MeasureView): string[] {
  return MEASURED_TOOLS.map((tool) => {
    const measures = measuresOfTool(tool).filter(isOffered);
    const aliases = measures.flatMap((measure) => wordsOf(measure, view).slice(1));
    const also = aliases.length === 0 ? "" : ` (or ${aliases.join(", ")})`;
    return `${TOOLS[tool].name}: ${measures.map(({ id }) => id).join(", ")}${also}`;
  });
}

export function standardOutput(): Terminal {
  const { isTTY, columns } = process.stdout;
  return { isTerminal: isTTY === true, environment: process.env, columns };
}
