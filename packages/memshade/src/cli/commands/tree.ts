import type { Command } from "commander";
import { callTree } from "../../explain/call-tree/call-tree.ts";
import type { StackGrouping, StackMetric, WeightedStacks } from "../../explain/call-tree/weighted-stacks.ts";
import {
  findMeasure,
  isAdditive,
  isMeasured,
  measureOfWord,
  recordedWith,
} from "../../explain/measures/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { assertProfile, loadPart, REPORTED_TOOLS, recordedTools } from "../../runs/recorded-tools.ts";
import { type ReportedTool, SHELVES } from "../../runs/shelves.ts";
import { weightsOf } from "../../show/exports/export-formats.ts";
import { callTreeJson } from "../../show/report/json/call-tree.ts";
import type { ColorChoice } from "../../show/report/terminal/common/paint.ts";
import { callTreeReport } from "../../show/report/terminal/tree.ts";
import { chosenRun } from "../chosen-run.ts";
import { hasNativeStacks } from "../kind-of-program.ts";
import { print } from "../line-input.ts";
import { stacksOfDump, stacksOfPart } from "../stacks.ts";
import {
  addShared,
  measuresByTool,
  parseChoice,
  parsePositive,
  READ_OPTIONS,
  type ReadFlags,
  RUN_ARGUMENT,
  readOptions,
  screenOptions,
  standardOutput,
  type Terminal,
  toolOption,
} from "./report-options.ts";

const GROUPINGS: readonly StackGrouping[] = ["site", "function"];
/** Percent of the total. JSON has everything by default. */
const USUAL_LEAST = 0.5;

const KEYS_BY_TOOL = [
  ...measuresByTool(isAdditive, "tree"),
  "samples: samples, cpu, or an event of the recording",
].join("; ");

export interface TreeOptions extends ReadFlags {
  readonly by?: string | undefined;
  readonly tool?: ReportedTool | undefined;
  readonly invert?: boolean | undefined;
  readonly depth?: number | undefined;
  readonly group: StackGrouping;
  readonly min?: number | undefined;
  readonly wide?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
}

const EXAMPLES = `
Examples:
  memshade tree --by left                calls whose blocks are live at the end
  memshade tree memshade.out/app.4711 --by peak --depth 4
  memshade tree memshade.out/app.4711 --by left --invert
      allocation sites, with their callers below
  memshade tree memshade.out/app.4711 --by dead --group function
      dead stores (run with --tool waste --contexts)
  memshade tree memshade.out/app.4711 --tool workingset --by share
      sites that own the working set (run with --tool workingset --who)
  memshade tree server.memprofdata --binary-path ./server | less
  memshade tree perf.data --invert       samples of a native program
  memshade tree memshade.out/app.4711 --by peak --json > tree.json

TOTAL counts a function with everything that it called, OWN only the function
itself and the libraries that it called. OWN and the totals of the branches add
up to TOTAL.`;

export function addTreeCommand(program: Command): void {
  const command = program
    .command("tree")
    .summary("show the call tree of a recorded run, with totals and shares")
    .description(
      "Shows the call tree of a recorded run, weighted by memory allocated, live at the end, wasted or touched: for each function its total with everything that it called, its share of the whole, and its own part. With --invert, sites come first and their callers below.",
    )
    .argument(
      "[run]",
      `${RUN_ARGUMENT}, a core dump, a minidump or perf.data (default: the newest run in memshade.out)`,
    )
    .option("--by <key>", KEYS_BY_TOOL)
    .addOption(toolOption(" (default: the first in the run)"))
    .option("--invert", "begin with the sites, and show their callers below")
    .option("--depth <N>", "levels of the tree to show", (text: string) =>
      parsePositive("--depth", "levels", text),
    )
    .option(
      "--group <what>",
      "site: one row per line with a call; function: one row per function",
      (text: string) => parseChoice("--group", GROUPINGS, text),
      "site",
    )
    .option(
      "--min <percent>",
      `combine rows with a smaller share of the total (default: ${USUAL_LEAST}; with --json 0)`,
      parsePercent,
    );
  addShared(command, "wide", ...READ_OPTIONS, "json", "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: TreeOptions) => {
      const input = await chosenRun(named);
      print(await runTree(input, options, standardOutput()));
    });
}

export async function runTree(input: string, options: TreeOptions, terminal: Terminal): Promise<string> {
  const { json, group, depth, invert: isInverted = false } = options;
  const stacks = await chosenStacks(input, options);
  const metric = chosenMetric(input, stacks, options);
  const tree = callTree(stacks, { metric: stacks.metrics.indexOf(metric), group, isInverted });
  const least = (options.min ?? (json ? 0 : USUAL_LEAST)) / 100;
  const levels = depth === undefined ? undefined : depth - 1;
  const shared = { input, metric, group, isInverted, depth: levels, least, gaps: stacks.gaps };
  return json
    ? callTreeJson(tree, { ...shared, tool: stacks.tool })
    : callTreeReport(tree, { ...screenOptions(options, terminal), ...shared });
}

async function chosenStacks(input: string, options: TreeOptions): Promise<WeightedStacks> {
  const { by, tool, binaryPath: binaryPaths } = options;
  if (hasNativeStacks(input)) {
    if (tool !== undefined) throw new UserError(`${input} has stacks of a native program: leave out --tool`);
    return stacksOfDump(input, { binaryPaths });
  }
  const recorded = recordedTools(input);
  const ofSamples = by === undefined ? undefined : toolOfSamples(by, tool);
  const ofMeasures = tool !== undefined && isMeasured(tool) ? tool : undefined;
  const measure =
    by === undefined || ofSamples !== undefined
      ? undefined
      : measureOfWord(by, "tree", { tool: ofMeasures, isOffered: isAdditive });
  const ofWord = ofSamples ?? (measure && recordedWith(measure.tool));
  if (tool !== undefined && ofWord !== undefined && tool !== ofWord)
    throw new UserError(`--by ${by} is a measure of --tool ${ofWord}, not of ${tool}`);
  const chosen = tool ?? ofWord ?? recorded[0]!;
  if (!recorded.includes(chosen)) {
    await assertProfile(input, chosen);
    throw new UserError(
      `${by === undefined ? `--tool ${chosen}` : `--by ${by}`} needs a run that was recorded with ${SHELVES[chosen].option}: ${input} has ${recorded.join(", ")}`,
    );
  }
  const part = measure?.tool ?? chosen;
  const stacks = stacksOfPart(part, await loadPart(input, part, readOptions(options)));
  if (stacks === undefined)
    throw new UserError(`--by ${by} needs ${measure!.needs}: ${input} is not such a run`);
  return stacks;
}

/** Returns the sampling tool of a word: the named tool, or one that has such a weight. */
function toolOfSamples(word: string, tool: ReportedTool | undefined): ReportedTool | undefined {
  return REPORTED_TOOLS.find(
    (candidate) =>
      !isMeasured(candidate) && (candidate === tool || weightsOf(candidate).some(({ key }) => key === word)),
  );
}

function chosenMetric(input: string, { tool, metrics }: WeightedStacks, { by }: TreeOptions): StackMetric {
  if (by === undefined) {
    if (metrics.length > 0) return metrics[0]!;
    throw new UserError(`${input} has no call paths to show as a tree`);
  }
  const key = tool === "samples" ? by : findMeasure(by, "tree", tool)?.id;
  const metric = metrics.find((candidate) => candidate.key === key);
  if (metric !== undefined) return metric;
  throw new UserError(
    `--by ${by} is unknown for ${input}: it has ${metrics.map((candidate) => candidate.key).join(", ")}`,
  );
}

function parsePercent(text: string): number {
  const percent = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || percent > 100)
    throw new UserError(`--min takes a part of the total in percent, from 0 to 100, not "${text}"`);
  return percent;
}
