import type { Command } from "commander";
import { sourceLines } from "../../analyses/source-lines.ts";
import { UserError } from "../../bytes/errors.ts";
import { heapReportJsonPieces } from "../../report/json/heap-report.ts";
import { sourceLinesJson } from "../../report/json/source-lines.ts";
import { wasteReportJson } from "../../report/json/waste.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { heapReport } from "../../report/terminal/heap/heap-report.ts";
import { sourceReport } from "../../report/terminal/heap/source-report.ts";
import { wasteReport } from "../../report/terminal/waste/waste-report.ts";
import { collect } from "../collect.ts";
import { addHotColdOptions, type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { chosenRun } from "../load/chosen-run.ts";
import { loadHeap } from "../load/heap.ts";
import { presenceOf } from "../load/run-of-folder.ts";
import { createSourceReader, type PathMap, parsePathMap } from "../load/source.ts";
import { loadWaste } from "../load/waste.ts";
import {
  ALL_FRAMES_OPTION,
  type FrameFlags,
  frameRules,
  LIBRARY_OPTION,
  LINES_OPTION,
  OWN_OPTION,
  parseChoice,
  parseColor,
  parseRows,
  screenOptions,
  standardOutput,
  type Terminal,
  WIDE_OPTION,
} from "./report-options.ts";
import { type ReportedTool, reportedTools, runWorkingSetReport } from "./report-working-set.ts";

export interface ReportOptions extends HotColdFlags, FrameFlags {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly source?: boolean | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly binaryPath?: readonly string[] | undefined;
  readonly tool?: ReportedTool | undefined;
  readonly csv?: boolean | undefined;
  readonly compat?: "esan" | undefined;
}

const EXAMPLES = `
Examples:
  memshade report                        the newest run in memshade.out
  memshade report memshade.out/app.4711
  memshade report memshade.out/app.4711 --wide -n 20 | less
  memshade report memshade.out/app.4711 --source --path-map /build/app=.
  memshade report memshade.out/app.4711 --json > heap.json
  memshade report memshade.out/app.4711 --tool workingset --csv > intervals.csv
  memshade report memshade.out/app.4711 --compat esan
  memshade report memprof.profraw.4711 --binary-path ./server
  memshade report server.memprofdata --binary-path ./server --cold-lifetime 10`;

/** Adds `memshade report` to the program. Its action throws UserError for mistakes of the user. */
export function addReportCommand(program: Command): void {
  const command = program
    .command("report")
    .summary("show who owns the heap of a recorded run, its working set, and its wasted memory operations")
    .description(
      "Shows who owns the heap of a recorded run: peak, leaks, unused and short-lived blocks; how much memory it works on over time (--tool workingset); and which of its stores and loads were in vain (--tool waste).",
    )
    .argument(
      "[run]",
      "directory of a run, a MemProf file (raw, indexed, memshade), a workingset.json or a waste.json (default: the newest run in memshade.out)",
    )
    .option("-n, --rows <N>", "rows per table (default: as many as matter)", parseRows)
    .option("--tool <tool>", "heap, waste or workingset alone (default: what the run has)", (text: string) =>
      parseChoice<ReportedTool>("--tool", ["heap", "waste", "workingset"], text),
    )
    .addOption(WIDE_OPTION)
    .addOption(LINES_OPTION)
    .addOption(ALL_FRAMES_OPTION)
    .addOption(OWN_OPTION)
    .addOption(LIBRARY_OPTION)
    .option("--json", "write JSON (docs/report-json.md) instead of text")
    .option("--source", "show the source lines that allocate most, with their numbers beside the text")
    .option(
      "--path-map <from=to>",
      "where a folder of recorded source paths lies here; can be repeated",
      (text: string, previous: PathMap[] = []) => [...previous, parsePathMap(text)],
    )
    .option(
      "--binary-path <dir>",
      "folder or file of original modules or native programs, looked at first; can be repeated",
      collect,
    )
    .option("--color <when>", "auto, always or never", parseColor, "auto")
    .optionsGroup("Options of the working set:")
    .option("--csv", "all series as CSV instead of text")
    .option("--compat <tool>", "as EfficiencySanitizer prints it (esan)", (text: string) =>
      parseChoice("--compat", ["esan"], text),
    )
    .optionsGroup("Options of the heap:");
  addHotColdOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: ReportOptions) => {
      const input = await chosenRun(named);
      for await (const text of runReport(input, options, standardOutput())) process.stdout.write(text);
    });
}

/** The text that `memshade report` prints, in pieces. */
async function* runReport(
  input: string,
  options: ReportOptions,
  terminal: Terminal,
): AsyncGenerator<string, void, undefined> {
  if (options.json && options.csv)
    throw new UserError("--json and --csv are two forms of one report: give one of them");
  const run = { heap: runHeapReport, waste: runWasteReport, workingset: runWorkingSetReport };
  const tools = reportedTools(input, options);
  const one = { ...terminal, said: new Set<string>() };
  const pieces = async (tool: ReportedTool): Promise<Iterable<string>> => {
    const text = await run[tool](input, options, one);
    return typeof text === "string" ? [text] : text;
  };
  if (options.json === true && tools.length > 1) {
    const parts: Record<string, unknown> = {};
    for (const tool of tools) parts[tool] = JSON.parse([...(await pieces(tool))].join(""));
    yield runReportJson(input, parts);
    return;
  }
  for (const [index, tool] of tools.entries()) {
    if (index > 0) yield "\n";
    yield* await pieces(tool);
  }
}

/** What several tools recorded in one run, as one document: docs/report-json.md. */
function runReportJson(input: string, parts: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ schema: "memshade-run-report", version: 1, input, tools: parts }, null, 2)}\n`;
}

function runWasteReport(input: string, options: ReportOptions, terminal: Terminal): string {
  const waste = loadWaste(input, { binaryPaths: options.binaryPath, rules: frameRules(options) });
  if (waste === undefined)
    throw new UserError(`--tool waste needs a run that was recorded with it: ${input} is none`);
  const presence = presenceOf(input);
  if (options.json) return wasteReportJson(waste, { input, rows: options.rows, presence });
  const screen = screenOptions(options, terminal);
  return wasteReport(waste, { ...screen, rows: options.rows, input, presence });
}

async function runHeapReport(
  input: string,
  options: ReportOptions,
  terminal: Terminal,
): Promise<string | Iterable<string>> {
  const { profile } = await loadHeap(input, { binaryPaths: options.binaryPath, rules: frameRules(options) });
  if (options.source) {
    const lines = sourceLines(profile);
    const read = createSourceReader(options.pathMap ?? []);
    if (options.json) return sourceLinesJson(lines, read, { input, rows: options.rows });
    const screen = screenOptions(options, terminal);
    return sourceReport(lines, read, { ...screen, rows: options.rows });
  }
  if (options.json) {
    return heapReportJsonPieces(profile, { input, rows: options.rows, thresholds: thresholdsOf(options) });
  }
  const screen = screenOptions(options, terminal);
  return heapReport(profile, { ...screen, rows: options.rows, input, thresholds: thresholdsOf(options) });
}
