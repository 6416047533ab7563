import type { Command } from "commander";
import { findsAnything, type RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { MOST_FINDINGS } from "../../explain/findings/rank.ts";
import { runFindings } from "../../explain/findings/run-findings.ts";
import { sourceTables } from "../../explain/source/source-table.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import type { PathMap } from "../../names/symbolize/path-map.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { pathsOnDisk, programOf, repositoryPaths } from "../../runs/check/check-run.ts";
import { pagePath } from "../../runs/page/page-file.ts";
import { pageOf } from "../../runs/page/run-page.ts";
import { loadTools } from "../../runs/recorded-tools.ts";
import { joined, plainText, reportJson, reportParts, runReportJson } from "../../runs/report/report-parts.ts";
import { modulePathsOf } from "../../runs/run-of-folder.ts";
import type { ReportedTool } from "../../runs/shelves.ts";
import { createSourceReader, moduleFolders } from "../../runs/source.ts";
import {
  FINDING_FORMATS,
  type FindingFormat,
  findingsAlone,
  formatFindings,
  type ReportedFindings,
} from "../../show/report/finding-forms.ts";
import { sourceLinesJson } from "../../show/report/json/source-lines.ts";
import { bounded, firstRows, jsonTextPieces } from "../../show/report/json/text.ts";
import type { ColorChoice } from "../../show/report/terminal/common/paint.ts";
import { sourceReport } from "../../show/report/terminal/common/source-report.ts";
import { chosenRun } from "../chosen-run.ts";
import { addHotColdOptions, type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { print } from "../line-input.ts";
import { type HtmlFlags, requestedPage, runBehindHtml } from "../report/html-options.ts";
import { reportedTools } from "../report/reported-tools.ts";
import { writePage } from "../report/write-page.ts";
import {
  addShared,
  PAGE_OPTIONS,
  parseChoice,
  READ_OPTIONS,
  type ReadFlags,
  RUN_ARGUMENT,
  readOptions,
  screenOptions,
  standardOutput,
  type Terminal,
  toolOption,
} from "./report-options.ts";

export interface ReportOptions extends HotColdFlags, ReadFlags, HtmlFlags {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly full?: boolean | undefined;
  readonly color: ColorChoice;
  readonly source?: boolean | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly tool?: ReportedTool | undefined;
  readonly csv?: boolean | undefined;
  readonly compat?: "esan" | undefined;
  readonly findings?: boolean | undefined;
  readonly format?: FindingFormat | undefined;
}

const EXAMPLES = `
Examples:
  memshade report                        the newest run in memshade.out
  memshade report memshade.out/app.4711
  memshade report memshade.out/app.4711 --wide -n 20 | less
  memshade report memshade.out/app.4711 --source --path-map /build/app=.
  memshade report memshade.out/app.4711 --html --open
  memshade report memshade.out/app.4711 --html app.html --html-sources none
  memshade report memshade.out/app.4711 --json
  memshade report memshade.out/app.4711 --json --full > heap.json
  memshade report memshade.out/app.4711 --findings
  memshade report --format sarif > memory.sarif
  memshade report memshade.out/app.4711 --tool workingset --csv > intervals.csv
  memshade report memshade.out/app.4711 --tool heap --csv > heap.csv
  memshade report memshade.out/app.4711 --compat esan
  memshade report memprof.profraw.4711 --binary-path ./server
  memshade report server.memprofdata --binary-path ./server --cold-lifetime 10
  memshade report dhat.out.4711          a profile of valgrind --tool=dhat
  memshade report heap.pb.gz             a heap profile of pprof: Go, tcmalloc …
  memshade report jeprof.4711.0.f.heap --binary-path ./server
                                         a profile of jemalloc or gperftools
  memshade report heaptrack.app.4711.zst`;

export function addReportCommand(program: Command): void {
  const command = program
    .command("report")
    .summary("show a recorded run: findings, heap, working set, wasted stores and loads")
    .description(
      "Shows a recorded run: its findings; who allocates the heap's peak, what leaks, which blocks are unused or short-lived; the working set over time (--tool workingset); wasted stores and loads (--tool waste).",
    )
    .argument(
      "[run]",
      `${RUN_ARGUMENT}, a workingset.json or a waste.json (default: the newest run in memshade.out)`,
    );
  addShared(command, "rows").addOption(toolOption(": show only this tool (default: all that the run has)"));
  addShared(command, "wide", "lines", ...READ_OPTIONS, "json")
    .option("--full", "print the whole lists with --json, however long (default: at most 64 KiB)")
    .option("--source", "show the source lines with the largest numbers of each tool");
  addShared(command, "pathMap", "binaryPath", "color")
    .optionsGroup("Findings for other programs:")
    .option("--findings", "print the findings alone as JSON, at most 8 KiB (docs/report-json.md)")
    .option(
      "--format <format>",
      `print the findings alone as ${FINDING_FORMATS.join(", ")} (messages of a compiler, for editors)`,
      (text: string) => parseChoice("--format", FINDING_FORMATS, text),
    )
    .optionsGroup("Options for the page:");
  addShared(command, ...PAGE_OPTIONS)
    .optionsGroup("Options for data over time:")
    .option("--csv", "print the intervals of the working set (with --tool heap, of the heap) as CSV")
    .option("--compat <tool>", "print in the format of EfficiencySanitizer (esan)", (text: string) =>
      parseChoice("--compat", ["esan"], text),
    )
    .optionsGroup("Options for the heap:");
  addHotColdOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, flags: ReportOptions) => {
      const behind = named === undefined ? runBehindHtml(flags.html) : undefined;
      const options = behind === undefined ? flags : { ...flags, html: true as const };
      const input = await chosenRun(named ?? behind);
      for await (const text of runReport(input, options, standardOutput())) print(text);
    });
}

async function* runReport(
  input: string,
  options: ReportOptions,
  terminal: Terminal,
): AsyncGenerator<string, void, undefined> {
  assertOneForm(options);
  const html = requestedPage(options);
  const { json, csv, compat, format } = options;
  const tools = reportedTools(input, options);
  const loaded = await loadTools(input, tools, readOptions(options));
  if (options.source === true) {
    yield* runSourceReport(loaded, input, options, terminal);
    return;
  }
  if (options.findings === true || format !== undefined) {
    const reported = reportedFindings(loaded, input, options);
    yield format === undefined ? findingsAlone(reported) : formatFindings(format, reported);
    return;
  }
  const isReport = options.csv !== true && options.compat === undefined;
  const allFindings = isReport ? runFindings(loaded, Number.POSITIVE_INFINITY) : [];
  const findings = isReport && findsAnything(loaded) ? allFindings.slice(0, MOST_FINDINGS) : undefined;
  const rowOptions = { rows: options.rows, thresholds: thresholdsOf(options) };
  if (html !== undefined) {
    const page = pageOf(loaded, input, allFindings, {
      sources: options.htmlSources,
      pathMaps: options.pathMap,
      binaryPaths: options.binaryPath,
    });
    const file = pagePath(html, input);
    const text = plainText(loaded, input, { ...rowOptions, allFrames: options.allFrames }, findings);
    await writePage(page, text, { file, inputs: [input], open: options.open });
    return;
  }
  if (json === true) {
    const report = reportJson(loaded, input, rowOptions.thresholds, findings);
    yield* formatJson(report, options);
    return;
  }
  const screen = screenOptions(options, { ...terminal, printedSentences: new Set() });
  const parts = reportParts(loaded, input, { ...rowOptions, screen, csv, compat });
  yield* joined(parts, findings);
}

/** @throws UserError if two options request different forms; `--source` has a form in JSON */
function assertOneForm(options: ReportOptions): void {
  const { json, csv, source, compat, findings, format, full, rows } = options;
  if (full && !json) throw new UserError("--full is an option of --json: add --json");
  if (full && rows !== undefined)
    throw new UserError("--full prints whole lists, and -n their first rows: give one of them");
  const requested = Object.entries({
    "--html": requestedPage(options),
    "--json": source === true ? undefined : json,
    "--csv": csv,
    "--source": source,
    "--compat": compat,
    "--findings": findings,
    "--format": format,
  }).flatMap(([flag, value]) => (value === undefined || value === false ? [] : [flag]));
  const [first, second] = requested;
  if (second !== undefined)
    throw new UserError(`${first} and ${second} are different forms of the report: give one of them`);
}

/** Returns the findings for programs that read them: as many as the report's first screen has, or `-n`. */
function reportedFindings(
  loaded: RecordedTools,
  input: string,
  { rows = MOST_FINDINGS, pathMap, binaryPath }: ReportOptions,
): ReportedFindings {
  const all = runFindings(loaded, Number.POSITIVE_INFINITY);
  const places = [
    process.cwd(),
    pathMap,
    moduleFolders({ modules: modulePathsOf(input), binaryPaths: binaryPath }),
  ] as const;
  return {
    run: quoteForShell(input),
    program: programOf({ name: input, tools: loaded }),
    findings: all.slice(0, rows),
    more: Math.max(0, all.length - rows),
    inRepository: repositoryPaths(...places),
    onDisk: pathsOnDisk(...places),
  };
}

/** Yields a report as JSON: at most 64 KiB, or with as many rows as `-n` says, or whole. */
function formatJson(report: object, { full, rows }: ReportOptions): Generator<string, void, undefined> {
  return jsonTextPieces(full ? report : rows === undefined ? bounded(report) : firstRows(report, rows));
}

/** Yields the source lines of each recorded tool, one after the other; as JSON in one document. */
function* runSourceReport(
  recorded: RecordedTools,
  input: string,
  options: ReportOptions,
  terminal: Terminal,
): Generator<string, void, undefined> {
  const tables = sourceTables(recorded);
  if (tables.length === 0) throw new UserError("--source does not show samples: --html does");
  const read = createSourceReader(options.pathMap ?? [], {
    modules: modulePathsOf(input),
    binaryPaths: options.binaryPath,
  });
  const { rows } = options;
  if (options.json !== true) {
    const screen = screenOptions(options, terminal);
    for (const [index, table] of tables.entries())
      yield (index === 0 ? "" : "\n") + sourceReport(table, read, { ...screen, rows });
    return;
  }
  const reports = tables.map((table) => [table.tool, sourceLinesJson(table, read, input)] as const);
  const [[, only], second] = [reports[0]!, reports[1]];
  yield* formatJson(second === undefined ? only : runReportJson(input, undefined, reports), options);
}
