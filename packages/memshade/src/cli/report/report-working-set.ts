import { basename, resolve } from "node:path";
import type { Finding } from "../../analyses/findings/finding.ts";
import { UserError } from "../../bytes/errors.ts";
import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { workingSetCsv } from "../../report/json/working-set-csv.ts";
import { workingSetReportJson } from "../../report/json/working-set-report.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { esanReport } from "../../report/terminal/working-set/esan.ts";
import { workingSetReport } from "../../report/terminal/working-set/working-set-report.ts";
import { type FrameFlags, screenOptions, type Terminal } from "../commands/report-options.ts";
import { type ReportedTool, recordedTools } from "../load/recorded-tools.ts";
import { presenceOf } from "../load/run-of-folder.ts";

export interface WorkingSetFlags extends FrameFlags {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly tool?: ReportedTool | undefined;
  readonly csv?: boolean | undefined;
  readonly compat?: "esan" | undefined;
}

/** What `memshade report` shows of a run, in this order: what it has, unless the options ask for one part. */
export function reportedTools(input: string, { tool, csv, compat }: WorkingSetFlags): ReportedTool[] {
  if (compat !== undefined) {
    if (tool !== undefined && tool !== "workingset")
      throw new UserError("--compat prints a working set and nothing else");
    return ["workingset"];
  }
  if (csv === true) {
    if (tool === "waste") throw new UserError("--csv prints what is over time: a working set, or the heap");
    const recorded = recordedTools(input);
    return [tool ?? (recorded.includes("workingset") || !recorded.includes("heap") ? "workingset" : "heap")];
  }
  if (tool !== undefined) return [tool];
  return recordedTools(input);
}

/** The working set of a run as text, JSON, CSV, or as EfficiencySanitizer prints it. */
export function runWorkingSetReport(
  profile: WorkingSetProfile,
  input: string,
  flags: WorkingSetFlags,
  terminal: Terminal,
  findings?: readonly Finding[],
): string {
  if (flags.compat === "esan") return esanReport(profile, processIdOf(input));
  if (flags.csv) return workingSetCsv(profile);
  const presence = presenceOf(input);
  if (flags.json) return workingSetReportJson(profile, input, presence, findings);
  const screen = screenOptions(flags, terminal);
  return workingSetReport(profile, { ...screen, rows: flags.rows, input, presence, findings });
}

/** Runs are named after their process by default; profiles themselves do not know it. */
function processIdOf(input: string): number {
  return Number(/\.(\d+)$/.exec(basename(resolve(input)))?.[1] ?? 0);
}
