import { basename, resolve } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { workingSetCsv } from "../../report/json/working-set-csv.ts";
import { workingSetReportJson } from "../../report/json/working-set-report.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { esanReport } from "../../report/terminal/working-set/esan.ts";
import { workingSetReport } from "../../report/terminal/working-set/working-set-report.ts";
import { hasHeap } from "../load/heap.ts";
import { presenceOf } from "../load/run-of-folder.ts";
import { hasWaste } from "../load/waste.ts";
import { hasWorkingSet, loadWorkingSet } from "../load/working-set.ts";
import { type FrameFlags, frameRules, screenOptions, type Terminal } from "./report-options.ts";

/** A tool whose part of a run is shown. */
export type ReportedTool = "heap" | "waste" | "workingset";

export interface WorkingSetFlags extends FrameFlags {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly tool?: ReportedTool | undefined;
  /** Source lines of the heap profile. */
  readonly source?: boolean | undefined;
  readonly csv?: boolean | undefined;
  readonly compat?: "esan" | undefined;
}

/** What `memshade report` shows of a run, in this order: what it has, unless the options ask for one part. */
export function reportedTools(input: string, { tool, csv, compat, source }: WorkingSetFlags): ReportedTool[] {
  if (csv === true || compat !== undefined) {
    if (tool !== undefined && tool !== "workingset")
      throw new UserError("--csv and --compat print a working set and nothing else");
    return ["workingset"];
  }
  if (tool !== undefined) return [tool];
  if (source === true) return ["heap"];
  const parts: [ReportedTool, boolean][] = [
    ["heap", hasHeap(input)],
    ["waste", hasWaste(input)],
    ["workingset", hasWorkingSet(input)],
  ];
  const found = parts.filter(([, isThere]) => isThere).map(([name]) => name);
  // What is no run at all is a raw profile, or a mistake that its reader explains.
  if (found.length === 0) return ["heap"];
  return found;
}

/** The working set of a run as text, JSON, CSV, or as EfficiencySanitizer prints it. */
export function runWorkingSetReport(input: string, flags: WorkingSetFlags, terminal: Terminal): string {
  const profile = loadWorkingSet(input, { rules: frameRules(flags) });
  if (flags.compat === "esan") return esanReport(profile, processIdOf(input));
  if (flags.csv) return workingSetCsv(profile);
  const presence = presenceOf(input);
  if (flags.json) return workingSetReportJson(profile, input, presence);
  const screen = screenOptions(flags, terminal);
  return workingSetReport(profile, { ...screen, rows: flags.rows, input, presence });
}

/** Runs are named after their process by default; profiles themselves do not know it. */
function processIdOf(input: string): number {
  return Number(/\.(\d+)$/.exec(basename(resolve(input)))?.[1] ?? 0);
}
