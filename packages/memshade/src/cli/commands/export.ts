import type { Command } from "commander";
import { isAdditive } from "../../explain/measures/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { FORMAT_NAMES, weightsOf } from "../../show/exports/export-formats.ts";
import { chosenRun } from "../chosen-run.ts";
import { type ExportOptions, runExport } from "../export/run-export.ts";
import {
  addShared,
  collectPathMap,
  measuresByTool,
  parseChoice,
  RUN_ARGUMENT,
  toolOption,
} from "./report-options.ts";

const EXAMPLES = `
Formats:
  pprof         go tool pprof, Grafana Pyroscope, Polar Signals: all weights
  firefox       profiler.firefox.com: a track per weight, and what is over time
  speedscope    speedscope.app: a profile per weight
  folded        flamegraph.pl, inferno: names and one weight
  dhat          Valgrind's dh_view.html: lifetimes, the peak and the end
  heapprofile   Chrome DevTools (Memory), VS Code: one weight
  chrome-trace  ui.perfetto.dev: what is over time, as counters
  csv           spreadsheets: what is over time, as a table

Examples:
  memshade export --format pprof -o heap.pb.gz        the newest run
  memshade export RUN --format firefox
  memshade export RUN --format folded --by left | flamegraph.pl > left.svg
  memshade export RUN --format speedscope --tool waste -o waste.speedscope.json
  memshade export RUN --format heapprofile --by lost
  memshade export RUN --format chrome-trace
  memshade export RUN --format csv --tool heap > heap.csv
  memshade export server.memprofdata --binary-path ./server --format pprof

docs/exporting.md says which viewer is good for what, and what a format loses.`;

export function addExportCommand(program: Command): void {
  const cpu = weightsOf("cpu").map(({ key }) => key);
  const keys = [...measuresByTool(isAdditive, "export"), `cpu: ${cpu.join(", ")}`];
  const command = program
    .command("export")
    .summary("write what was recorded for pprof, the Firefox Profiler, speedscope and other viewers")
    .description(
      "Writes the heap, the waste, the working set or the objects of a recorded run as a file that other viewers open. Without -o " +
        "it goes to standard output; on a terminal, to a file named after the run and the format.",
    )
    .argument(
      "[run]",
      `${RUN_ARGUMENT}, a workingset.json or a waste.json (default: the newest run in memshade.out)`,
    )
    .option("--format <format>", FORMAT_NAMES.join(", "), (text: string) =>
      parseChoice("--format", FORMAT_NAMES, text),
    )
    .addOption(
      toolOption(" (default: the first of these that the run has; chrome-trace and csv: what has a time)"),
    )
    .option(
      "--by <key>",
      `what is shown first, or written where a format has room for one weight (${keys.join("; ")})`,
    )
    .option("-o, --out <file>", "write to a file, which appears when it is whole; - for standard output")
    .option(
      "--path-map <from=to>",
      "write recorded source paths that begin with one folder as if in another; can be repeated",
      collectPathMap,
    );
  addShared(command, "suppressions", "binaryPath")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: Partial<ExportOptions>) => {
      const { format } = options;
      if (format === undefined)
        throw new UserError(`--format says what to write: one of ${FORMAT_NAMES.join(", ")}`);
      await runExport(await chosenRun(named), { ...options, format });
    });
}
