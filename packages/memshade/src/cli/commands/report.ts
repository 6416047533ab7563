import type { Command } from "commander";
import { sourceLines } from "../../analyses/source-lines.ts";
import { heapReportJson } from "../../report/json/heap-report.ts";
import { sourceLinesJson } from "../../report/json/source-lines.ts";
import { loadHeap } from "../../report/load-run.ts";
import { createSourceReader, type PathMap, parsePathMap } from "../../report/load-source.ts";
import { heapReport } from "../../report/terminal/heap-report.ts";
import type { ColorChoice } from "../../report/terminal/paint.ts";
import { sourceReport } from "../../report/terminal/source-report.ts";
import { collect } from "../tool-options.ts";
import { parseColor, parseRows, screenOptions, standardOutput, type Terminal } from "./report-options.ts";

export interface ReportOptions {
  readonly rows?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly source?: boolean | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly binaryPath?: readonly string[] | undefined;
}

const EXAMPLES = `
Examples:
  memshade report memshade.out/app.4711
  memshade report memshade.out/app.4711 --wide -n 20 | less
  memshade report memshade.out/app.4711 --source --path-map /build/app=.
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
    .option("--source", "show the source lines that allocate most, with their numbers beside the text")
    .option(
      "--path-map <from=to>",
      "where a folder of recorded source paths lies here; can be repeated",
      (text: string, previous: PathMap[] = []) => [...previous, parsePathMap(text)],
    )
    .option("--binary-path <dir>", "folder or file of original modules; can be repeated", collect)
    .option("--color <when>", "auto, always or never", parseColor, "auto")
    .addHelpText("after", EXAMPLES)
    .action((input: string, options: ReportOptions) => {
      process.stdout.write(runReport(input, options, standardOutput()));
    });
}

/** The text that `memshade report` prints. */
export function runReport(input: string, options: ReportOptions, terminal: Terminal): string {
  const { profile } = loadHeap(input, { binaryPaths: options.binaryPath });
  if (options.source) {
    const lines = sourceLines(profile);
    const read = createSourceReader(options.pathMap ?? []);
    if (options.json) return sourceLinesJson(lines, read, { input, rows: options.rows });
    const screen = screenOptions(options.color, options.wide ?? false, terminal);
    return sourceReport(lines, read, { ...screen, rows: options.rows });
  }
  if (options.json) {
    return heapReportJson(profile, { input, rows: options.rows });
  }
  const screen = screenOptions(options.color, options.wide ?? false, terminal);
  return heapReport(profile, { ...screen, rows: options.rows, input });
}
