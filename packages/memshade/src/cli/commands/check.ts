import fs from "node:fs";
import type { Command } from "commander";
import { parseLimit } from "../../explain/limits/limit.ts";
import { LIMIT_MEASURES, limitMeasure } from "../../explain/limits/limit-measures.ts";
import type { LimitMeasure } from "../../explain/limits/measure.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import type { PathMap } from "../../names/symbolize/path-map.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { checkRun, type GivenLimit, type GivenLimits, loadBudget } from "../../runs/check/check-run.ts";
import { writePieces } from "../../runs/output.ts";
import { loadSuppressions } from "../../runs/suppressions.ts";
import { type CheckedRunReport, failedLimits, undecidedLimits } from "../../show/report/limits/checked.ts";
import { checkGithub, checkSummary } from "../../show/report/limits/github.ts";
import { checkJson, measuresJson } from "../../show/report/limits/json.ts";
import { checkJunit } from "../../show/report/limits/junit.ts";
import { checkSarif } from "../../show/report/limits/sarif.ts";
import { checkText } from "../../show/report/limits/text.ts";
import { limitSentence, outcomeInWords } from "../../show/report/limits/words.ts";
import {
  type ColorChoice,
  createPaint,
  type Paint,
  wantsColors,
} from "../../show/report/terminal/common/paint.ts";
import { wrapWords } from "../../show/report/terminal/common/text.ts";
import { chosenRun } from "../chosen-run.ts";
import { collect } from "./add-options.ts";
import {
  addShared,
  frameRules,
  parseChoice,
  type ReadFlags,
  standardOutput,
  type Terminal,
} from "./report-options.ts";

const FORMATS = ["text", "json", "sarif", "junit", "github"] as const;
type Format = (typeof FORMATS)[number];

/** Exit codes: a limit failed; no limit failed but some are undecided. */
const LIMIT_FAILED = 1;
const LIMIT_UNDECIDED = 3;
const COLUMNS = 80;

interface CheckOptions extends ReadFlags {
  readonly budget?: readonly string[] | undefined;
  readonly limit?: readonly GivenLimit[] | undefined;
  readonly baseline?: string | undefined;
  readonly format: Format;
  readonly output?: string | undefined;
  readonly list?: boolean | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly color: ColorChoice;
}

const EXAMPLES = `
Examples:
  memshade check --limit "peak<8MiB" --limit left=0   the newest run
  memshade check memshade.out/app.4711 --budget memory.yaml
  memshade check new --baseline old --limit "peak<+5%" --limit "left<=+0"
  memshade check run --limit "left[file=src/tile.c]=0" --limit "dead<5%"
  memshade check run --limit "peak[package=sql.js]<2MiB" --limit leak=0
  memshade check run --budget memory.yaml --format sarif -o memory.sarif
  memshade check run --budget memory.yaml --format github    in GitHub Actions
  memshade check --list                              all measures

A limit is MEASURE RELATION AMOUNT: a relation is <, <=, =, >= or >, an amount a
number with B, KiB, MiB, GiB, k, M, G or %. An amount with + or - is relative to
--baseline. MEASURE[function=GLOB], [file=], [package=], [module=] and [under=]
(anywhere on the call path) limit a part of the program; separate several with
commas. The same input gives the same counts, so limits can be exact. See
docs/ci.md.

A limit is undecided if the run's figure is known to be too low or too high:
tables were full, calls were not seen, or a signal ended the program.

Exit code: 0 if all limits hold, 1 if one fails, 2 for a wrong option or input,
3 if none fails and one is undecided.`;

export function addCheckCommand(program: Command): void {
  const command = program
    .command("check")
    .summary("check a run against limits, for CI")
    .description(
      "Checks a run against limits of its heap, waste, working set and findings: absolute limits, or limits relative to another run. Prints the limits that fail, each with the source line.",
    )
    .argument(
      "[run]",
      "directory of a run, or another file that report reads (default: the newest run in memshade.out)",
    )
    .option("--limit <limit>", "a limit such as peak<8MiB; can be repeated", collectLimit)
    .option(
      "--budget <file>",
      "limits and suppressions in YAML or JSON (docs/ci.md); can be repeated",
      collect,
    )
    .option("--baseline <run>", "the run that limits with + or - are relative to")
    .option(
      "--format <format>",
      `${FORMATS.join(", ")} (annotations, and the summary of a job)`,
      (text: string) => parseChoice("--format", FORMATS, text),
      "text",
    )
    .option("-o, --output <file>", "write the result to this file, and the failed limits to standard error")
    .option("--list", "list the measures that limits can be set for");
  addShared(command, "suppressions", "allFrames", "own", "library", "pathMap", "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: CheckOptions) => {
      if (options.list === true) await writePieces(options.output, [measureList(options)]);
      else await runCheck(named, options);
    });
}

async function runCheck(named: string | undefined, options: CheckOptions): Promise<void> {
  const limits = await givenLimits(options);
  const run = await chosenRun(named);
  const report = await checkRun(run, limits, {
    rules: frameRules(options),
    binaryPaths: options.binaryPath,
    pathMaps: options.pathMap,
  });
  const text = formatted(report, options);
  const { baseline, output: file, budget = [] } = options;
  await writePieces(file, [text], [run, ...budget, ...(baseline === undefined ? [] : [baseline])]);
  if (options.format === "github") writeSummary(report);
  const [failed, undecided] = [failedLimits(report), undecidedLimits(report)];
  if (options.output !== undefined) {
    for (const checked of [...failed, ...undecided])
      say(`${checked.limit.text}: ${limitSentence(checked, report)}`);
    say(outcomeInWords(report));
  }
  if (failed.length > 0) process.exitCode = LIMIT_FAILED;
  else if (undecided.length > 0) process.exitCode = LIMIT_UNDECIDED;
}

function collectLimit(text: string, previous: GivenLimit[] = []): GivenLimit[] {
  const limit = parseLimit(text);
  limitMeasure(limit.measure);
  return [...previous, { limit }];
}

async function givenLimits({
  limit = [],
  budget = [],
  baseline,
  suppressions,
}: CheckOptions): Promise<GivenLimits> {
  const budgets = await Promise.all(budget.map(loadBudget));
  const limits = [...budgets.flatMap((loadedBudget) => loadedBudget.limits), ...limit];
  if (limits.length === 0)
    throw new UserError(
      'no limits were given: add --limit "peak<8MiB" or --budget FILE; --list shows all measures',
    );
  if (baseline !== undefined && limits.every(({ limit: { from } }) => from === undefined))
    throw new UserError(
      "--baseline is given, but no limit is relative to it: put + or - before an amount, such as peak<+5%",
    );
  return {
    limits,
    baseline: baseline ?? budgets.findLast((loadedBudget) => loadedBudget.baseline !== undefined)?.baseline,
    leaks: [...loadSuppressions(suppressions), ...budgets.flatMap(({ leaks }) => leaks)],
    places: budgets.flatMap(({ places }) => places),
  };
}

function formatted(report: CheckedRunReport, options: CheckOptions): string {
  switch (options.format) {
    case "text":
      return checkText(report, paintFor(options, standardOutput()), COLUMNS);
    case "json":
      return checkJson(report);
    case "sarif":
      return checkSarif(report);
    case "junit":
      return checkJunit(report);
    case "github":
      return checkGithub(report);
  }
}

function paintFor({ color, output }: CheckOptions, { isTerminal, environment }: Terminal): Paint {
  return createPaint(wantsColors(color, isTerminal && output === undefined, environment));
}

function writeSummary(report: CheckedRunReport): void {
  const file = process.env.GITHUB_STEP_SUMMARY;
  if (file === undefined || file === "") return;
  try {
    fs.appendFileSync(file, checkSummary(report));
  } catch (error) {
    throw new UserError(`the summary ${file} cannot be written: ${describeSystemError(error)}`);
  }
}

const OF_TOOL: { readonly [Tool in LimitMeasure["tool"]]: string } = {
  heap: "The heap",
  waste: "Waste",
  workingset: "The working set",
  objects: "Garbage-collected objects",
  statics: "Static data",
  findings: "Findings",
};

/** @throws UserError for formats of results */
function measureList(options: CheckOptions): string {
  if (options.format === "json") return measuresJson(LIMIT_MEASURES);
  if (options.format !== "text")
    throw new UserError(`--list prints only text or json, not ${options.format}`);
  return listMeasures(paintFor(options, standardOutput()));
}

/** Units that are printed before a meaning, unless the meaning begins with them. */
const COUNTED: ReadonlySet<LimitMeasure["unit"]> = new Set([
  "blocks",
  "accesses",
  "stores",
  "loads",
  "misses",
  "references",
  "objects",
  "intervals",
]);

function listMeasures(paint: Paint): string {
  const width = Math.max(...LIMIT_MEASURES.map(({ id }) => id.length)) + 4;
  const lines = (Object.keys(OF_TOOL) as LimitMeasure["tool"][]).flatMap((tool) => {
    const measures = LIMIT_MEASURES.filter((measure) => measure.tool === tool);
    const usual = measures[0]!.needs;
    return [
      ...wrapWords(`${OF_TOOL[tool]}, of ${usual}:`, COLUMNS).map(paint.heading),
      ...measures.flatMap((measure) => measureLines(measure, usual, width, paint)),
      "",
    ];
  });
  return `${lines.slice(0, -1).join("\n")}\n`;
}

function measureLines(measure: LimitMeasure, usual: string, width: number, paint: Paint): string[] {
  const { id, also, unit, meaning, partOf, needs, needsForPlaces } = measure;
  const text = [
    COUNTED.has(unit) && !meaning.startsWith(unit) ? `${unit}: ${meaning}` : meaning,
    ...(also.length === 0 ? [] : [`or ${also.join(", ")}`]),
    ...(partOf === undefined ? [] : [`% of ${partOf === id ? "the whole run's" : `${partOf} there`}`]),
    ...(needs === usual ? [] : [`takes ${needs}`]),
    ...(needsForPlaces === undefined ? [] : [`by place it takes ${needsForPlaces}`]),
  ].join("; ");
  return wrapWords(text, COLUMNS - width).map(
    (line, index) => (index === 0 ? paint.strong(`  ${id}`.padEnd(width)) : " ".repeat(width)) + line,
  );
}
