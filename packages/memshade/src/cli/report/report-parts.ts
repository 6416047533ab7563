import type { Finding } from "../../analyses/findings/finding.ts";
import type { RecordedTools } from "../../analyses/findings/run-findings.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import type { WasteFile } from "../../model/waste/waste.ts";
import { heapCsvLines } from "../../report/json/heap-csv.ts";
import { heapReportJsonPieces } from "../../report/json/heap-report.ts";
import { wasteReportJson } from "../../report/json/waste.ts";
import { heapReport } from "../../report/terminal/heap/heap-report.ts";
import { wasteReport } from "../../report/terminal/waste/waste-report.ts";
import { screenOptions, type Terminal } from "../commands/report-options.ts";
import { type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { heapOverTime } from "../load/heap.ts";
import type { ReportedTool } from "../load/recorded-tools.ts";
import { presenceOf } from "../load/run-of-folder.ts";
import { runWorkingSetReport, type WorkingSetFlags } from "./report-working-set.ts";

/** Options of a report as they were given. */
type PartOptions = WorkingSetFlags & HotColdFlags;

/** The report of one tool, with findings or without. */
export interface ReportPart {
  readonly tool: ReportedTool;
  readonly print: (shown: Shown) => Iterable<string>;
}

/** The reports of the tools that were recorded, in their order. */
export function reportParts(
  loaded: RecordedTools,
  input: string,
  options: PartOptions,
  terminal: Terminal,
): ReportPart[] {
  const { heap, waste, workingset } = loaded;
  const parts: ReportPart[] = [];
  if (heap !== undefined)
    parts.push({ tool: "heap", print: (shown) => heapText(loaded, input, options, terminal, shown) });
  if (waste !== undefined)
    parts.push({ tool: "waste", print: (shown) => [wasteText(waste, input, options, terminal, shown)] });
  if (workingset !== undefined)
    parts.push({
      tool: "workingset",
      print: (shown) => [runWorkingSetReport(workingset, input, options, terminal, shown)],
    });
  return parts;
}

/** The findings of all tools stand once, below the head of the first report. */
export function* joined(parts: readonly ReportPart[], findings: Shown): Generator<string, void, undefined> {
  for (const [index, { print }] of parts.entries()) {
    if (index > 0) yield "\n";
    yield* print(index === 0 ? findings : undefined);
  }
}

/** Findings that stand in a tool's report, if they do. */
export type Shown = readonly Finding[] | undefined;

/** The report as text alone, for whoever has no colours. */
export function plainText(
  loaded: RecordedTools,
  input: string,
  options: PartOptions,
  findings: Shown,
): string {
  const plain = { ...options, color: "never", wide: false, lines: undefined } as const;
  const terminal: Terminal = { isTerminal: false, environment: {}, said: new Set() };
  return [...joined(reportParts(loaded, input, plain, terminal), findings)].join("");
}

function wasteText(
  waste: WasteFile,
  input: string,
  options: PartOptions,
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
  options: PartOptions,
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
