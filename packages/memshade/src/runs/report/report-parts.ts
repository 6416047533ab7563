import { basename, resolve } from "node:path";
import { noFindings, type RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import type { Finding } from "../../explain/findings/index.ts";
import type { HotColdThresholds } from "../../profile/model/memprof/hot-cold.ts";
import { writeCsv } from "../../show/exports/export-formats.ts";
import { requireOverTime, type ToolProfile } from "../../show/exports/tool-exports.ts";
import { cpuReportJson } from "../../show/report/json/cpu-report.ts";
import { type FindingJson, findingsJson } from "../../show/report/json/findings.ts";
import { heapReportJson } from "../../show/report/json/heap-report.ts";
import { objectsReportJson } from "../../show/report/json/objects.ts";
import type { CutJson } from "../../show/report/json/text.ts";
import { wasteReportJson } from "../../show/report/json/waste.ts";
import { workingSetReportJson } from "../../show/report/json/working-set-report.ts";
import { createPaint } from "../../show/report/terminal/common/paint.ts";
import { REPORT_COLUMNS, type ScreenOptions } from "../../show/report/terminal/common/screen.ts";
import { cpuReport } from "../../show/report/terminal/cpu.ts";
import { heapReport } from "../../show/report/terminal/heap/heap-report.ts";
import { objectsReport } from "../../show/report/terminal/objects/objects-report.ts";
import { wasteReport } from "../../show/report/terminal/waste.ts";
import { esanReport, workingSetReport } from "../../show/report/terminal/working-set.ts";
import { REPORTED_TOOLS } from "../recorded-tools.ts";
import { presenceOf, runAround } from "../run-of-folder.ts";
import type { ReportedTool } from "../shelves.ts";

export interface PartOptions {
  readonly screen: ScreenOptions;
  readonly rows?: number | undefined;
  readonly thresholds?: HotColdThresholds | undefined;
  readonly csv?: boolean | undefined;
  readonly compat?: "esan" | undefined;
}

export interface ReportPart {
  readonly tool: ReportedTool;
  readonly print: (shown: Shown) => Iterable<string>;
}

type Section = (
  loaded: RecordedTools,
  input: string,
  options: PartOptions,
  findings: Shown,
) => Iterable<string>;

/** Report of a tool for JSON. `summary`: findings; undefined if they are not written in it. */
type JsonReport = (
  loaded: RecordedTools,
  input: string,
  thresholds: HotColdThresholds | undefined,
  summary: Shown,
) => object;

const JSON_REPORTS: Readonly<Partial<Record<ReportedTool, JsonReport>>> = {
  heap: ({ heap, statics }, input, thresholds, findings) =>
    heapReportJson(heap!, { input, thresholds, findings, statics }),
  waste: ({ waste }, input, _, summary) =>
    wasteReportJson(waste!, { input, presence: presenceOf(input), summary }),
  workingset: ({ workingset }, input, _, summary) =>
    workingSetReportJson(workingset!, input, presenceOf(input), summary),
  objects: ({ objects }, input, _, summary) =>
    objectsReportJson(objects!, { input, presence: presenceOf(input), summary }),
  cpu: ({ cpu }, input) => cpuReportJson(cpu!, { input }),
};

const SECTIONS: Readonly<Partial<Record<ReportedTool, Section>>> = {
  heap: heapText,
  waste: wasteText,
  workingset: workingSetText,
  objects: objectsText,
  cpu: cpuText,
};

export function reportParts(loaded: RecordedTools, input: string, options: PartOptions): ReportPart[] {
  // A run without accesses of blocks was recorded for its working set, which comes first then.
  const first: ReportedTool[] = loaded.heap?.description.counters === "none" ? ["workingset"] : [];
  return [...new Set([...first, ...REPORTED_TOOLS])].flatMap((tool) => {
    const print = loaded[tool] && SECTIONS[tool];
    return print === undefined ? [] : { tool, print: (shown: Shown) => print(loaded, input, options, shown) };
  });
}

/** Reports of several tools in one document. */
interface RunReportJson extends CutJson {
  /** Name and version of the format. */
  schema: "memshade-run-report";
  version: 2;
  /** Run, as named on the command line. */
  input: string;
  /** Findings of all tools. */
  summary: readonly FindingJson[] | undefined;
  /** Report of each tool, by its name (`heap`, `waste`, `workingset`, `objects`, `cpu`). */
  tools: { readonly [tool: string]: unknown };
}

/** Returns the reports of the loaded tools for JSON: one, or several in one document (docs/report-json.md). */
export function reportJson(
  loaded: RecordedTools,
  input: string,
  thresholds: HotColdThresholds | undefined,
  findings: Shown,
): object {
  const tools = REPORTED_TOOLS.filter((tool) => loaded[tool] !== undefined && JSON_REPORTS[tool]);
  const [only, second] = tools;
  if (only !== undefined && second === undefined)
    return JSON_REPORTS[only]!(loaded, input, thresholds, findings);
  const reports = tools.map(
    (tool) => [tool, JSON_REPORTS[tool]!(loaded, input, thresholds, undefined)] as const,
  );
  return runReportJson(input, findings, reports);
}

/** Returns the reports of several tools as one document. */
export function runReportJson(
  input: string,
  findings: Shown,
  reports: readonly (readonly [tool: string, report: object])[],
): RunReportJson {
  return {
    schema: "memshade-run-report",
    version: 2,
    input,
    summary: findings && findingsJson(findings),
    tools: Object.fromEntries(reports),
  };
}

/** Joins reports. The findings of all tools appear once, below the head of the first report. */
export function* joined(parts: readonly ReportPart[], findings: Shown): Generator<string, void, undefined> {
  for (const [index, { print }] of parts.entries()) {
    if (index > 0) yield "\n";
    yield* print(index === 0 ? findings : undefined);
  }
}

/** Findings in a tool's report; undefined if they are not shown there. */
export type Shown = readonly Finding[] | undefined;

export function plainText(
  loaded: RecordedTools,
  input: string,
  options: Omit<PartOptions, "screen" | "csv" | "compat"> & Pick<ScreenOptions, "allFrames">,
  findings: Shown,
): string {
  const { rows, thresholds, allFrames } = options;
  const screen = {
    paint: createPaint(false),
    width: REPORT_COLUMNS,
    isCut: false,
    isWide: false,
    allFrames,
    said: new Set<string>(),
  };
  return [...joined(reportParts(loaded, input, { screen, rows, thresholds }), findings)].join("");
}

function wasteText(
  { waste }: RecordedTools,
  input: string,
  { rows, screen }: PartOptions,
  findings: Shown,
): string[] {
  const presence = presenceOf(input);
  const { end } = runAround(input) ?? {};
  return [wasteReport(waste!, { ...screen, rows, input, presence, findings, end })];
}

function heapText(
  loaded: RecordedTools,
  input: string,
  { csv, rows, screen, thresholds }: PartOptions,
  findings: Shown,
): Iterable<string> {
  const { heap: profile, statics } = loaded;
  if (csv === true) return csvOf({ tool: "heap", profile: profile! }, input);
  const shown = { input, rows, thresholds, findings, statics, noFindings: emptySummary(loaded) };
  return [heapReport(profile!, { ...screen, ...shown })];
}

function* csvOf(recorded: ToolProfile, input: string): Generator<string, void, undefined> {
  requireOverTime(recorded, input, "--csv");
  yield* writeCsv(recorded);
}

function cpuText({ cpu }: RecordedTools, input: string, { rows, screen }: PartOptions): string[] {
  return [cpuReport(cpu!, { ...screen, rows, input })];
}

function objectsText(
  loaded: RecordedTools,
  input: string,
  { rows, screen }: PartOptions,
  findings: Shown,
): string[] {
  const presence = presenceOf(input);
  const noFindings = emptySummary(loaded);
  return [objectsReport(loaded.objects!, { ...screen, rows, input, presence, findings, noFindings })];
}

function workingSetText(
  loaded: RecordedTools,
  input: string,
  { compat, csv, rows, screen }: PartOptions,
  findings: Shown,
): Iterable<string> {
  const profile = loaded.workingset!;
  if (compat === "esan") return [esanReport(profile, processIdOf(input))];
  if (csv) return csvOf({ tool: "workingset", profile }, input);
  const presence = presenceOf(input);
  const noFindings = emptySummary(loaded);
  return [workingSetReport(profile, { ...screen, rows, input, presence, findings, noFindings })];
}

/** Returns the line in place of a summary without findings. */
function emptySummary(loaded: RecordedTools): string {
  const sentence = noFindings(loaded);
  return sentence[0]!.toUpperCase() + sentence.slice(1);
}

/**
 * Returns the process id from the default name of a run, because profiles do not contain it; 0 if unknown.
 */
function processIdOf(input: string): number {
  return Number(/\.(\d+)$/.exec(basename(resolve(input)))?.[1] ?? 0);
}
