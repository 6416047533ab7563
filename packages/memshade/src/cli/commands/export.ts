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
  firefox       profiler.firefox.com: a track per weight, and data over time
  speedscope    speedscope.app: a profile per weight
  folded        flamegraph.pl, inferno: names and one weight
  dhat          Valgrind's dh_view.html: lifetimes, the peak and the end
  heapprofile   Chrome DevTools (Memory), VS Code: one weight
  chrome-trace  ui.perfetto.dev: data over time, as counters
  csv           spreadsheets: data over time, as a table

Examples:
  memshade export --format pprof -o heap.pb.gz        the newest run
  memshade export RUN --format firefox
  memshade export RUN --format folded --by left | flamegraph.pl > left.svg
  memshade export RUN --format speedscope --tool waste -o waste.speedscope.json
  memshade export RUN --format heapprofile --by lost
  memshade export RUN --format chrome-trace
  memshade export RUN --format csv --tool heap > heap.csv
  memshade export server.memprofdata --binary-path ./server --format pprof

docs/exporting.md compares the viewers and lists what each format leaves out.`;

export function addExportCommand(program: Command): void {
  const cpu = weightsOf("cpu").map(({ key }) => key);
  const keys = [...measuresByTool(isAdditive, "export"), `cpu: ${cpu.join(", ")}`];
  const command = program
    .command("export")
    .summary("write a run for pprof, the Firefox Profiler, speedscope and other viewers")
    .description(
      "Writes the heap, the waste, the working set or the objects of a recorded run in the format of another viewer. " +
        "Without -o, writes to standard output; on a terminal, to a file named after the run and the format.",
    )
    .argument(
      "[run]",
      `${RUN_ARGUMENT}, a workingset.json or a waste.json (default: the newest run in memshade.out)`,
    )
    .option("--format <format>", FORMAT_NAMES.join(", "), (text: string) =>
      parseChoice("--format", FORMAT_NAMES, text),
    )
    .addOption(toolOption(" (default: the first in the run; chrome-trace and csv: all data over time)"))
    .option(
      "--by <key>",
      `measure that is shown first, or the only one in formats with one weight (${keys.join("; ")})`,
    )
    .option("-o, --out <file>", "file to write; - for standard output")
    .option(
      "--path-map <from=to>",
      "replace the start of recorded source paths; can be repeated",
      collectPathMap,
    );
  addShared(command, "suppressions", "binaryPath")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: Partial<ExportOptions>) => {
      const { format } = options;
      if (format === undefined)
        throw new UserError(`--format is missing: give one of ${FORMAT_NAMES.join(", ")}`);
      await runExport(await chosenRun(named), { ...options, format });
    });
}
