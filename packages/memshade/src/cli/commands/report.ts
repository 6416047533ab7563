import type { Command } from "commander";
import type { Finding } from "../../analyses/findings/finding.ts";
import { findsAnything, type RecordedTools, runFindings } from "../../analyses/findings/run-findings.ts";
import { heapLines } from "../../analyses/source/heap-lines.ts";
import { wasteLines } from "../../analyses/source/waste-lines.ts";
import { workingSetLines } from "../../analyses/source/working-set-lines.ts";
import { UserError } from "../../bytes/errors.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import type { WasteFile } from "../../model/waste/waste.ts";
import { findingsJson } from "../../report/json/findings.ts";
import { heapCsvLines } from "../../report/json/heap-csv.ts";
import { heapReportJsonPieces } from "../../report/json/heap-report.ts";
import { sourceLinesJson } from "../../report/json/source-lines.ts";
import { wasteReportJson } from "../../report/json/waste.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { sourceReport } from "../../report/terminal/common/source-report.ts";
import { heapReport } from "../../report/terminal/heap/heap-report.ts";
import { wasteReport } from "../../report/terminal/waste/waste-report.ts";
import { collect } from "../collect.ts";
import { addHotColdOptions, type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { chosenRun } from "../load/chosen-run.ts";
import { heapOverTime } from "../load/heap.ts";
import { loadTools, type ReportedTool } from "../load/recorded-tools.ts";
import { presenceOf } from "../load/run-of-folder.ts";
import { createSourceReader, type PathMap, parsePathMap } from "../load/source.ts";
import { loadSuppressions } from "../load/suppressions.ts";
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
  SUPPRESSIONS_OPTION,
  screenOptions,
  standardOutput,
  type Terminal,
  WIDE_OPTION,
} from "./report-options.ts";
import { reportedTools, runWorkingSetReport } from "./report-working-set.ts";

export interface ReportOptions extends HotColdFlags, FrameFlags {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly source?: boolean | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
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
  memshade report memshade.out/app.4711 --tool heap --csv > heap.csv
  memshade report memshade.out/app.4711 --compat esan
  memshade report memprof.profraw.4711 --binary-path ./server
  memshade report server.memprofdata --binary-path ./server --cold-lifetime 10
  memshade report dhat.out.4711          of valgrind --tool=dhat
  memshade report heap.pb.gz             a heap profile of pprof: Go, tcmalloc …
  memshade report heaptrack.app.4711.zst`;

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
      "directory of a run, a MemProf file (raw, indexed, memshade), a heap profile of DHAT, pprof or heaptrack, a workingset.json or a waste.json (default: the newest run in memshade.out)",
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
    .addOption(SUPPRESSIONS_OPTION)
    .option("--json", "write JSON (docs/report-json.md) instead of text")
    .option(
      "--source",
      "show the source lines that matter most to each tool, with their numbers beside the text",
    )
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
    .optionsGroup("Options of what is over time:")
    .option("--csv", "the intervals of the working set, or with --tool heap those of the heap, as CSV")
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
  const tools = reportedTools(input, options);
  const loaded = await loadTools(input, tools, {
    binaryPaths: options.binaryPath,
    rules: frameRules(options),
    suppressions: loadSuppressions(options.suppressions),
  });
  const { heap, waste, workingset } = loaded;
  if (options.source === true) {
    yield* runSourceReport(loaded, input, options, terminal);
    return;
  }
  const isReport = options.csv !== true && options.compat === undefined;
  const findings = isReport && findsAnything(loaded) ? runFindings(loaded) : undefined;
  const isOneDocument = options.json === true && tools.length > 1;
  const one = { ...terminal, said: new Set<string>() };
  const parts: { tool: ReportedTool; print: (shown: Shown) => Iterable<string> }[] = [];
  if (heap !== undefined)
    parts.push({ tool: "heap", print: (shown) => heapText(loaded, input, options, one, shown) });
  if (waste !== undefined)
    parts.push({ tool: "waste", print: (shown) => [wasteText(waste, input, options, one, shown)] });
  if (workingset !== undefined)
    parts.push({
      tool: "workingset",
      print: (shown) => [runWorkingSetReport(workingset, input, options, one, shown)],
    });
  if (isOneDocument) {
    const texts = parts.map(({ tool, print }) => [tool, JSON.parse([...print(undefined)].join(""))]);
    yield runReportJson(input, findings ?? [], Object.fromEntries(texts));
    return;
  }
  for (const [index, { print }] of parts.entries()) {
    if (index > 0) yield "\n";
    // The findings of all tools stand once, below the head of the first report.
    yield* print(index === 0 ? findings : undefined);
  }
}

/** Findings that stand in a tool's report, if they do. */
type Shown = readonly Finding[] | undefined;

/** What several tools recorded in one run, as one document: docs/report-json.md. */
function runReportJson(input: string, findings: Shown, tools: Readonly<Record<string, unknown>>): string {
  const summary = findings && findingsJson(findings);
  return `${JSON.stringify({ schema: "memshade-run-report", version: 1, input, summary, tools }, null, 2)}\n`;
}

function wasteText(
  waste: WasteFile,
  input: string,
  options: ReportOptions,
  terminal: Terminal,
  findings: Shown,
): string {
  const presence = presenceOf(input);
  if (options.json) return wasteReportJson(waste, { input, rows: options.rows, presence, summary: findings });
  const screen = screenOptions(options, terminal);
  return wasteReport(waste, { ...screen, rows: options.rows, input, presence, findings });
}

function heapText(
  { heap: profile, statics }: RecordedTools,
  input: string,
  options: ReportOptions,
  terminal: Terminal,
  findings: Shown,
): Iterable<string> {
  if (profile === undefined) return [];
  const shared = { input, rows: options.rows, thresholds: thresholdsOf(options), findings, statics };
  if (options.csv === true) return heapCsv(profile, input);
  if (options.json) return heapReportJsonPieces(profile, shared);
  return [heapReport(profile, { ...screenOptions(options, terminal), ...shared })];
}

function* heapCsv(profile: HeapProfile, input: string): Generator<string, void, undefined> {
  heapOverTime(profile, input, "--csv");
  for (const line of heapCsvLines(profile)) yield `${line}\n`;
}

/** The source lines of each tool that was recorded, one after the other; as JSON in one document. */
function* runSourceReport(
  { heap, waste, workingset }: RecordedTools,
  input: string,
  options: ReportOptions,
  terminal: Terminal,
): Generator<string, void, undefined> {
  if (options.csv === true || options.compat !== undefined)
    throw new UserError("--source and --csv or --compat are different reports: give one of them");
  const tables = [
    ...(heap === undefined ? [] : [heapLines(heap)]),
    ...(waste === undefined ? [] : [wasteLines(waste)]),
    ...(workingset === undefined ? [] : [workingSetLines(workingset)]),
  ];
  const read = createSourceReader(options.pathMap ?? []);
  const { rows } = options;
  if (options.json !== true) {
    const screen = screenOptions(options, terminal);
    const width = Math.max(screen.width, terminal.columns ?? 0);
    for (const [index, table] of tables.entries())
      yield (index === 0 ? "" : "\n") + sourceReport(table, read, { ...screen, width, rows });
    return;
  }
  const documents = tables.map((table) => sourceLinesJson(table, read, { input, rows }));
  if (documents.length === 1) yield* documents;
  else
    yield runReportJson(
      input,
      undefined,
      Object.fromEntries(tables.map(({ tool }, i) => [tool, JSON.parse(documents[i]!)])),
    );
}
