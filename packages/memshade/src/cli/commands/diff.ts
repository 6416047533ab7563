import type { Command } from "commander";
import type { OldAndNew, Spread } from "../../analyses/diff/changes.ts";
import { commonFindings, diffFindings, type FindingDiff } from "../../analyses/diff/finding-diff.ts";
import { exceededTotals, type GrowthLimit, parseGrowthLimit } from "../../analyses/diff/growth-limit.ts";
import { diffHeaps } from "../../analyses/diff/heap-diff.ts";
import { diffPlaces, type PlaceMetric } from "../../analyses/diff/place-diff.ts";
import { WASTE_DIFF_KEYS, wasteTables } from "../../analyses/diff/waste-places.ts";
import { hasHostFrames, withoutHostFrames } from "../../analyses/diff/without-host-frames.ts";
import { WORKING_SET_DIFF_KEYS, workingSetTables } from "../../analyses/diff/working-set-places.ts";
import type { Finding } from "../../analyses/findings/finding.ts";
import { type RecordedTools, runFindings } from "../../analyses/findings/run-findings.ts";
import type { FrameRules } from "../../analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../analyses/frames/mark-frames.ts";
import { GROUPINGS, type GroupBy } from "../../analyses/groups.ts";
import { knownMetrics, METRICS, type MetricKey } from "../../analyses/metrics.ts";
import { UserError } from "../../bytes/errors.ts";
import { say } from "../../host/run/terminal-line.ts";
import { formatBytes, formatCount } from "../../report/format.ts";
import { gapsOfBoth } from "../../report/gaps.ts";
import { type DiffInputs, diffJson } from "../../report/json/diff.ts";
import { placeDiffJson } from "../../report/json/place-diff.ts";
import { formatterOf } from "../../report/terminal/common/metric-format.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { placeDiffTable } from "../../report/terminal/common/place-diff-table.ts";
import type { ScreenOptions } from "../../report/terminal/common/screen.ts";
import { diffTable } from "../../report/terminal/heap/diff-table.ts";
import { pagePath } from "../../runs/page/page-file.ts";
import { loadTools, REPORTED_TOOLS, type ReportedTool, recordedTools } from "../../runs/recorded-tools.ts";
import { chosenSides } from "../chosen-run.ts";
import { pageOfDiff } from "../report/diff-page.ts";
import { askedPage, type HtmlFlags } from "../report/html-options.ts";
import { writePage } from "../report/write-page.ts";
import {
  addShared,
  isOtherWord,
  OTHER_WORDS,
  PAGE_OPTIONS,
  parseChoice,
  parseRows,
  READ_OPTIONS,
  type ReadFlags,
  RUN_ARGUMENT,
  readOptions,
  screenOptions,
  standardOutput,
  type Terminal,
  toolOption,
} from "./report-options.ts";

const USUAL_ROWS = 20;
const KEYS: { readonly [Tool in ReportedTool]: readonly string[] } = {
  heap: METRICS.map(({ key }) => key),
  waste: WASTE_DIFF_KEYS,
  workingset: WORKING_SET_DIFF_KEYS,
};
const KEYS_BY_TOOL = `heap: ${KEYS.heap.join(", ")} (default bytes); waste: ${KEYS.waste.join(", ")}; working set: ${KEYS.workingset.join(", ")}`;
/** A limit was exceeded. */
const LIMIT_EXCEEDED = 1;

export interface DiffOptions extends ReadFlags, HtmlFlags {
  /** Without it, the first key of the tool. */
  readonly by?: string | undefined;
  readonly tool?: ReportedTool | undefined;
  readonly group: GroupBy;
  readonly rows: number;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly failOn?: readonly GrowthLimit[] | undefined;
}

const EXAMPLES = `
Examples:
  memshade diff                          the two newest runs of one program
  memshade diff before.memprofraw after.memprofraw --binary-path ./bin
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by peak
  memshade diff old.memshade new.memshade --group path -n 5
  memshade diff old.memshade new.memshade --fail-on bytes+5% --fail-on live+0
  memshade diff a1,a2,a3 b1,b2,b3        medians of several runs, with spread
  memshade diff --html --open            these two as one page, in the browser
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by dead
      places that store in vain (runs with --tool waste)
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by new
      where new lines are touched (runs with --tool workingset)

A site is the same in both if its function is and its line in the function:
functions that moved, to another file too, and lines that came in above make no
difference. Callers in JavaScript count only where all runs have them. Of
several runs a side, ~ marks what is within their spread. With --fail-on the
exit code is 1 if a total grew by more.`;

/** Adds `memshade diff` to the program. Its action throws UserError for mistakes of the user. */
export function addDiffCommand(program: Command): void {
  const command = program
    .command("diff")
    .summary("compare two runs or heap profiles, site by site")
    .description(
      "Compares two runs of a program: which allocation sites grew, shrank, came or went (or where more is stored in vain, or touched), and which findings.",
    )
    .argument(
      "[old]",
      `${RUN_ARGUMENT}; several with commas between them (default: the two newest runs of one program in memshade.out)`,
    )
    .argument("[new]", "what to compare with it: also of another kind, or several")
    .option("--by <key>", KEYS_BY_TOOL, parseKey)
    .addOption(toolOption(" (default: all that both runs have)"))
    .option("--group <what>", GROUPINGS.join(", "), (text) => parseChoice("--group", GROUPINGS, text), "site")
    .option("-n, --rows <N>", "rows to show", parseRows, USUAL_ROWS)
    .option(
      "--fail-on <limit>",
      "end with exit code 1 if a total grew by more: bytes+10%, peak+1MiB, count+0; can be repeated",
      (text: string, previous: GrowthLimit[] = []) => [...previous, parseGrowthLimit(text)],
    );
  addShared(command, "wide", "lines", ...READ_OPTIONS, "json", ...PAGE_OPTIONS, "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (old: string | undefined, compared: string | undefined, options: DiffOptions) => {
      const html = askedPage(options);
      if (html !== undefined && options.json === true)
        throw new UserError("--html writes a page and --json prints: give one of them");
      const inputs = await chosenSides(old, compared);
      if (html !== undefined && inputs.old.length + inputs.new.length > 2)
        throw new UserError("--html compares one run with another: name one of each side");
      const plain = { ...options, color: "never", wide: false, lines: undefined } as const;
      const shown = html === undefined ? options : plain;
      const { text, exceeded, compared: both } = await runDiff(inputs, shown, standardOutput());
      if (html === undefined) process.stdout.write(text);
      else {
        const file = pagePath(html, inputs.new[0]!, "diff");
        await writePage(pageOfDiff(both, { sources: options.htmlSources }), text, {
          ...{ file, inputs: [...inputs.old, ...inputs.new] },
          open: options.open,
        });
      }
      for (const sentence of exceeded) say(sentence);
      if (exceeded.length > 0) process.exitCode = LIMIT_EXCEEDED;
    });
}

function parseKey(text: string): string {
  return isOtherWord(text)
    ? OTHER_WORDS[text]
    : parseChoice(
        "--by",
        REPORTED_TOOLS.flatMap((tool) => KEYS[tool]),
        text,
      );
}

/** What was compared: the text that is printed, and what limits are about. */
interface Comparison {
  readonly text: string;
  readonly changes: readonly {
    readonly metric: { readonly key: string };
    readonly total: OldAndNew;
    readonly spread?: Spread | undefined;
    readonly format: (value: number) => string;
  }[];
}

export interface Compared {
  readonly inputs: DiffInputs;
  readonly old: readonly RecordedTools[];
  readonly new: readonly RecordedTools[];
  /** Sentences: what cannot be compared. */
  readonly gaps: readonly string[];
  /** All of each run, and what came or went of those that all runs of a side have. */
  readonly found: { readonly old: readonly Finding[]; readonly new: readonly Finding[] };
  readonly findings: FindingDiff;
}

/** The text that `memshade diff` prints, and a sentence for each limit that is exceeded. */
export async function runDiff(
  inputs: DiffInputs,
  options: DiffOptions,
  terminal: Terminal,
): Promise<{ readonly text: string; readonly exceeded: readonly string[]; readonly compared: Compared }> {
  const limits = options.failOn ?? [];
  const all = [...inputs.old, ...inputs.new];
  const common = REPORTED_TOOLS.filter((tool) => all.every((input) => recordedTools(input).includes(tool)));
  const tool = comparedTool(all, common, options);
  const places = readOptions(options);
  const load = async (side: readonly string[]): Promise<RecordedTools[]> => {
    const loaded: RecordedTools[] = [];
    for (const input of side) loaded.push(await loadTools(input, common, places));
    return loaded;
  };
  const loaded = [await load(inputs.old), await load(inputs.new)];
  const areAlike =
    new Set(loaded.flat().map(({ heap }) => heap !== undefined && hasHostFrames(heap))).size === 1;
  const [old, now] = areAlike
    ? loaded
    : loaded.map((side) => side.map((run) => withoutCallersInHost(run, places.rules)));
  const findingsOf = (side: readonly RecordedTools[]) =>
    commonFindings(side.map((run) => runFindings(run, Number.POSITIVE_INFINITY)));
  const found = { old: findingsOf(old!), new: findingsOf(now!) };
  const compared: Compared = {
    ...{ inputs, old: old!, new: now!, gaps: areAlike ? [] : [WITHOUT_HOST] },
    ...{ found, findings: diffFindings(found.old, found.new) },
  };
  const compare = (which: ReportedTool, by: string) =>
    which === "heap"
      ? compareHeaps(compared, by as MetricKey, options, terminal)
      : comparePlaces(compared, which, by, { ...options, screen: screenOptions(options, terminal) });
  const shown = compare(tool, options.by ?? usualKey(tool, [...old!, ...now!]));
  const exceeded = limits.flatMap((limit) => {
    const of = toolOf(limit.key);
    return sentenceOf(of === tool || !common.includes(of) ? shown : compare(of, limit.key), limit);
  });
  return { text: shown.text, exceeded, compared };
}

/** @throws UserError where one of the runs has not what is to be compared */
function comparedTool(
  all: readonly string[],
  common: readonly ReportedTool[],
  { tool, by }: DiffOptions,
): ReportedTool {
  if (tool !== undefined && by !== undefined && toolOf(by) !== tool)
    throw new UserError(`--by ${by} is of --tool ${toolOf(by)}, not of ${tool}`);
  const wanted = tool ?? (by === undefined ? undefined : toolOf(by));
  if (wanted === undefined && common.length > 0) return common[0]!;
  if (wanted !== undefined && common.includes(wanted)) return wanted;
  const has = (input: string) =>
    `${input} has ${recordedTools(input)
      .map((name) => NAMES[name])
      .join(", ")}`;
  const count = all.length === 2 ? ["the two", "both"] : ["the runs", "all"];
  const what =
    wanted === undefined ? `${count[0]} have no tool in common` : `${count[1]} need ${NAMES[wanted]}`;
  throw new UserError(`nothing to compare: ${what}; ${[...new Set(all)].map(has).join(", ")}`);
}

/** The first key of a tool that all runs know. */
function usualKey(tool: ReportedTool, runs: readonly RecordedTools[]): string {
  if (tool !== "heap") return KEYS[tool][0]!;
  const known = runs.map(({ heap }) => knownMetrics(heap!) as readonly string[]);
  return KEYS.heap.find((key) => known.every((keys) => keys.includes(key))) ?? KEYS.heap[0]!;
}

const NAMES: { readonly [Tool in ReportedTool]: string } = {
  heap: "the heap",
  waste: "waste",
  workingset: "the working set",
};

function toolOf(key: string): ReportedTool {
  return REPORTED_TOOLS.find((tool) => KEYS[tool].includes(key))!;
}

function compareHeaps(
  { inputs, old, new: now, gaps, findings }: Compared,
  by: MetricKey,
  options: DiffOptions,
  terminal: Terminal,
): Comparison {
  const { group, rows } = options;
  const heapsOf = (side: readonly RecordedTools[]) => side.map(({ heap }) => heap!);
  const diff = diffHeaps(heapsOf(old), heapsOf(now), group);
  const shared = { inputs, by, rows, findings, gaps };
  const text = options.json
    ? diffJson(diff, shared)
    : diffTable(diff, { ...screenOptions(options, terminal), ...shared });
  if (text === undefined) {
    throw new UserError(
      by === "lifetime" || by === "temporary"
        ? `--by ${by} cannot be compared: the two profiles have different clocks`
        : unknownKey(by),
    );
  }
  const { clock } = now[0]!.heap!.description;
  return {
    text,
    changes: diff.metrics.map((change) => ({ ...change, format: formatterOf(change.metric, clock) })),
  };
}

const WITHOUT_HOST =
  "Not all of the runs know the callers in JavaScript: they are left out of the comparison.";

function withoutCallersInHost(run: RecordedTools, rules: FrameRules | undefined): RecordedTools {
  const { heap } = run;
  if (heap === undefined || !hasHostFrames(heap)) return run;
  const plain = withoutHostFrames(heap);
  return { ...run, heap: rules === undefined ? plain : withOwnSites(plain, rules) };
}

function comparePlaces(
  { inputs, old, new: now, findings }: Compared,
  tool: "waste" | "workingset",
  by: string,
  { group, rows, json, screen }: DiffOptions & { readonly screen: ScreenOptions },
): Comparison {
  const runs = [...old, ...now];
  const tables =
    tool === "waste"
      ? wasteTables(
          runs.map(({ waste }) => waste!),
          group,
        )
      : workingSetTables(
          runs.map(({ workingset }) => workingset!),
          group,
        );
  const gapsIn = (side: readonly RecordedTools[]) => [
    ...new Set(side.flatMap((run) => run[tool]!.notTracked)),
  ];
  const diff = diffPlaces(tables.slice(0, old.length), tables.slice(old.length));
  const change = diff.changes.find(({ metric }) => metric.key === by);
  if (change === undefined) throw new UserError(unknownKey(by));
  const shared = { inputs, rows, findings };
  const text = json
    ? placeDiffJson(diff, change, { ...shared, tool, notTracked: { old: gapsIn(old), new: gapsIn(now) } })
    : placeDiffTable(diff, change, {
        ...{ ...shared, ...screen, whole: NAMES[tool] },
        gaps: gapsOfBoth(gapsIn(old), gapsIn(now)),
      });
  const format = ({ unit }: PlaceMetric) => (unit === "bytes" ? formatBytes : formatCount);
  return { text, changes: diff.changes.map((each) => ({ ...each, format: format(each.metric) })) };
}

/** A key that the two runs do not both know, or not in the same meaning. */
function unknownKey(key: string): string {
  return KEYS.heap.includes(key)
    ? `--by ${key} is not known in both profiles`
    : `--by ${key} cannot be compared: the two runs were recorded with other options, or one without it`;
}

function sentenceOf({ changes }: Comparison, limit: GrowthLimit): string[] {
  const totals = exceededTotals(changes, limit);
  if (totals === undefined) return [];
  const { format } = changes.find(({ metric }) => metric.key === limit.key)!;
  const percent =
    totals.old === 0 ? "" : ` (+${((100 * (totals.new - totals.old)) / totals.old).toFixed(1)} %)`;
  return [
    `${limit.key} grew from ${format(totals.old)} to ${format(totals.new)}${percent}, more than ${limit.text} allows`,
  ];
}
