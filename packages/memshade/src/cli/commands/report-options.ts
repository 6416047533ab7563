import { Option } from "commander";
import { FrameRules } from "../../analyses/frames/frame-rules.ts";
import { UserError } from "../../bytes/errors.ts";
import { type ColorChoice, createPaint, wantsColors } from "../../report/terminal/common/paint.ts";
import { type ScreenOptions, USUAL_CALLER_LINES } from "../../report/terminal/common/screen.ts";
import { type PathMap, parsePathMap } from "../../symbolize/path-map.ts";
import { collect } from "../collect.ts";

const COLUMNS = 80;
const COLOR_CHOICES: readonly ColorChoice[] = ["auto", "always", "never"];

/** Where a report goes to. */
export interface Terminal {
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of a terminal. */
  readonly columns?: number | undefined;
  /** Sentences that an earlier part of the same report has said. */
  readonly said?: Set<string>;
}

/** Options of reports, as they were given. */
interface ScreenFlags extends FrameFlags {
  readonly color: ColorChoice;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
}

export const WIDE_OPTION = new Option("--wide", "full names and call paths, lines as long as they get");
export const LINES_OPTION = new Option(
  "--lines <N>",
  `with --wide, lines of callers below a row (default: ${USUAL_CALLER_LINES})`,
).argParser((text) => parsePositive("--lines", "lines", text));

/** Whose code is whose, as it was given. */
export interface FrameFlags {
  readonly allFrames?: boolean | undefined;
  readonly own?: readonly string[] | undefined;
  readonly library?: readonly string[] | undefined;
}

export const ALL_FRAMES_OPTION = new Option(
  "--all-frames",
  "name places by their innermost frames, libraries too, and show every frame",
);
export const OWN_OPTION = new Option(
  "--own <glob>",
  "source files or functions that are the program's own ('src/*', 'app::*'); can be repeated",
).argParser(collect);
export const LIBRARY_OPTION = new Option(
  "--library <glob>",
  "source files or functions that are a library ('vendor/', 'sqlite3*'); can be repeated",
).argParser(collect);

export const SUPPRESSIONS_OPTION = new Option(
  "--suppressions <file>",
  "leaks that are not to be told of, as memcheck or LeakSanitizer have them; can be repeated",
).argParser(collect);

export const BINARY_PATH_OPTION = new Option(
  "--binary-path <dir>",
  "folder or file of original modules or native programs, looked at first; can be repeated",
).argParser(collect);

export const PATH_MAP_OPTION = new Option(
  "--path-map <from=to>",
  "where a folder of recorded source paths lies here; can be repeated",
).argParser((text, previous: PathMap[] = []) => [...previous, parsePathMap(text)]);

export const JSON_OPTION = new Option("--json", "write JSON (docs/report-json.md) instead of text");
export const COLOR_OPTION = new Option("--color <when>", "auto, always or never")
  .argParser(parseColor)
  .default("auto");

/** @throws UserError for rules that are given and not to be used */
export function frameRules({ allFrames = false, own, library }: FrameFlags): FrameRules | undefined {
  if (!allFrames) return new FrameRules({ own, library });
  if (own !== undefined || library !== undefined)
    throw new UserError("--all-frames shows everything: leave out --own and --library, or --all-frames");
  return undefined;
}

/** @throws UserError for `--lines` without `--wide` */
export function screenOptions(
  { color, wide = false, lines, allFrames }: ScreenFlags,
  terminal: Terminal,
): ScreenOptions {
  if (lines !== undefined && !wide)
    throw new UserError("--lines says how much --wide shows: give both of them");
  const paint = createPaint(wantsColors(color, terminal.isTerminal, terminal.environment));
  return { paint, width: COLUMNS, isWide: wide, allFrames, callerLines: lines, said: terminal.said };
}

/** The value of `-n`. */
export function parseRows(text: string): number {
  return parsePositive("-n", "rows", text);
}

export function parsePositive(option: string, what: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number === 0) {
    throw new UserError(`${option} takes a number of ${what} from 1, not "${text}"`);
  }
  return number;
}

function parseColor(text: string): ColorChoice {
  return parseChoice("--color", COLOR_CHOICES, text);
}

export function parseChoice<T extends string>(option: string, choices: readonly T[], text: string): T {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new UserError(`${option} takes one of ${choices.join(", ")}, not "${text}"`);
  }
  return found;
}

/** What people call some of the keys of `--by`. */
export const OTHER_WORDS = {
  leak: "live",
  left: "live",
  size: "bytes",
  blocks: "count",
  unused: "density",
} as const;
export type OtherWord = keyof typeof OTHER_WORDS;

export function isOtherWord(text: string): text is OtherWord {
  return Object.hasOwn(OTHER_WORDS, text);
}

export function standardOutput(): Terminal {
  const { isTTY, columns } = process.stdout;
  return { isTerminal: isTTY === true, environment: process.env, columns };
}
