import type { Command } from "commander";
import { heapReportJson } from "../../report/json/heap-report.ts";
import { loadHeap } from "../../report/load-run.ts";
import { heapReport } from "../../report/terminal/heap-report.ts";
import type { ColorChoice } from "../../report/terminal/paint.ts";
import { parseColor, parseRows, screenOptions, standardOutput, type Terminal } from "./report-options.ts";

export interface ReportOptions {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
}

const EXAMPLES = `
Examples:
  memshade report memshade.out/app.4711
  memshade report memshade.out/app.4711 --wide -n 20 | less
  memshade report memshade.out/app.4711 --json > heap.json`;

/** Adds `memshade report` to the program. Its action throws UserError for mistakes of the user. */
export function addReportCommand(program: Command): void {
  program
    .command("report")
    .summary("show who owns the heap of a recorded run")
    .description("Shows who owns the heap of a recorded run: peak, leaks, unused and short-lived blocks.")
    .argument("<run>", "directory of a run, or a raw MemProf file")
    .option("-n, --rows <N>", "sites per table (default: as many as matter)", parseRows)
    .option("--wide", "full names and complete call paths, lines as long as they get")
    .option("--json", "write JSON (docs/report-json.md) instead of text")
    .option("--color <when>", "auto, always or never", parseColor, "auto")
    .addHelpText("after", EXAMPLES)
    .action((input: string, options: ReportOptions) => {
      process.stdout.write(runReport(input, options, standardOutput()));
    });
}

/** The text that `memshade report` prints. */
export function runReport(input: string, options: ReportOptions, terminal: Terminal): string {
  const { profile } = loadHeap(input);
  if (options.json) {
    return heapReportJson(profile, { input, rows: options.rows });
  }
  const screen = screenOptions(options.color, options.wide ?? false, terminal);
  return heapReport(profile, { ...screen, rows: options.rows, input });
}
