import type { Command } from "commander";
import { diffFindings, type FindingDiff } from "../../analyses/diff/finding-diff.ts";
import { exceededTotals, type GrowthLimit, parseGrowthLimit } from "../../analyses/diff/growth-limit.ts";
import { diffHeaps, type OldAndNew } from "../../analyses/diff/heap-diff.ts";
import { diffPlaces, type PlaceMetric } from "../../analyses/diff/place-diff.ts";
import { WASTE_DIFF_KEYS, wasteTables } from "../../analyses/diff/waste-places.ts";
import { WORKING_SET_DIFF_KEYS, workingSetTables } from "../../analyses/diff/working-set-places.ts";
import type { Finding } from "../../analyses/findings/finding.ts";
import { type RecordedTools, runFindings } from "../../analyses/findings/run-findings.ts";
import { GROUPINGS, type GroupBy } from "../../analyses/groups.ts";
import { METRICS, type MetricKey } from "../../analyses/metrics.ts";
import { UserError } from "../../bytes/errors.ts";
import { say } from "../../host/run/terminal-line.ts";
import { formatBytes, formatCount } from "../../report/format.ts";
import { diffJson } from "../../report/json/diff.ts";
import { placeDiffJson } from "../../report/json/place-diff.ts";
import { formatterOf } from "../../report/terminal/common/metric-format.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { placeDiffTable } from "../../report/terminal/common/place-diff-table.ts";
import type { ScreenOptions } from "../../report/terminal/common/screen.ts";
import { diffTable } from "../../report/terminal/heap/diff-table.ts";
import { collect } from "../collect.ts";
import { chosenPair } from "../load/chosen-run.ts";
import { loadTools, type ReportedTool, recordedTools } from "../load/recorded-tools.ts";
import { loadSuppressions } from "../load/suppressions.ts";
import { pageOfDiff } from "../report/diff-page.ts";
import {
  askedPage,
  HTML_OPTION,
  HTML_SOURCES_OPTION,
  type HtmlFlags,
  OPEN_OPTION,
} from "../report/html-options.ts";
import { pagePath, writePage } from "../report/page-file.ts";
import {
  ALL_FRAMES_OPTION,
  type FrameFlags,
  frameRules,
  isOtherWord,
  LIBRARY_OPTION,
  LINES_OPTION,
  OTHER_WORDS,
  OWN_OPTION,
  parseChoice,
  parseColor,
  parseRows,
  SUPPRESSIONS_OPTION,
  screenOptions,
  standardOutput,
  type Terminal,
  WIDE_OPTION,
} from "./report-options.ts";

const USUAL_ROWS = 20;
const KEYS: { readonly [Tool in ReportedTool]: readonly string[] } = {
  heap: METRICS.map(({ key }) => key),
  waste: WASTE_DIFF_KEYS,
  workingset: WORKING_SET_DIFF_KEYS,
};
const KEYS_BY_TOOL = `heap: ${KEYS.heap.join(", ")} (default bytes); waste: ${KEYS.waste.join(", ")}; working set: ${KEYS.workingset.join(", ")}`;
const TOOLS = ["heap", "waste", "workingset"] as const;
/** A limit was exceeded. */
const LIMIT_EXCEEDED = 1;

export interface DiffOptions extends FrameFlags, HtmlFlags {
  /** Without it, the first key of the tool. */
  readonly by?: string | undefined;
  readonly tool?: ReportedTool | undefined;
  readonly group: GroupBy;
  readonly rows: number;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
  readonly failOn?: readonly GrowthLimit[] | undefined;
}

const EXAMPLES = `
Examples:
  memshade diff                          the two newest runs of one program
  memshade diff before.memprofraw after.memprofraw --binary-path ./bin
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by peak
  memshade diff old.memshade new.memshade --group path -n 5
  memshade diff old.memshade new.memshade --fail-on bytes+5% --fail-on live+0
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --html diff.html --open
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by dead
      places that store in vain (runs with --tool waste)
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by new
      where new lines are touched (runs with --tool workingset)

A site is the same in both if function, file, line and column are; sites that a
change of the source moved are told by their order in the function, where it has
as many as before. With --fail-on the exit code is 1 if a total grew by more.`;

/** Adds `memshade diff` to the program. Its action throws UserError for mistakes of the user. */
export function addDiffCommand(program: Command): void {
  program
    .command("diff")
    .summary("compare two runs or heap profiles, site by site")
    .description(
      "Compares two runs of a program: which allocation sites grew, shrank, came or went (or where more is stored in vain, or touched), and which findings.",
    )
    .argument(
      "[old]",
      "directory of a run, or a MemProf file (raw, indexed, YAML, memshade) (default: the two newest runs of one program in memshade.out)",
    )
    .argument("[new]", "what to compare with it: also of another kind")
    .option("--by <key>", KEYS_BY_TOOL, parseKey)
    .option(
      "--tool <tool>",
      "heap, waste or workingset (default: the first that both runs have)",
      (text: string) => parseChoice("--tool", TOOLS, text),
    )
    .option("--group <what>", GROUPINGS.join(", "), (text) => parseChoice("--group", GROUPINGS, text), "site")
    .option("-n, --rows <N>", "rows to show", parseRows, USUAL_ROWS)
    .option(
      "--fail-on <limit>",
      "end with exit code 1 if a total grew by more: bytes+10%, peak+1MiB, count+0; can be repeated",
      (text: string, previous: GrowthLimit[] = []) => [...previous, parseGrowthLimit(text)],
    )
    .addOption(WIDE_OPTION)
    .addOption(LINES_OPTION)
    .addOption(ALL_FRAMES_OPTION)
    .addOption(OWN_OPTION)
    .addOption(LIBRARY_OPTION)
    .addOption(SUPPRESSIONS_OPTION)
    .option("--json", "write JSON (docs/report-json.md) instead of text")
    .addOption(HTML_OPTION)
    .addOption(OPEN_OPTION)
    .addOption(HTML_SOURCES_OPTION)
    .option(
      "--binary-path <dir>",
      "folder or file of original modules or native programs, looked at first; can be repeated",
      collect,
    )
    .option("--color <when>", "auto, always or never", parseColor, "auto")
    .addHelpText("after", EXAMPLES)
    .action(async (old: string | undefined, compared: string | undefined, options: DiffOptions) => {
      const html = askedPage(options);
      if (html !== undefined && options.json === true)
        throw new UserError("--html writes a page and --json prints: give one of them");
      const [older, newer] = await chosenPair(old, compared);
      const plain = { ...options, color: "never", wide: false, lines: undefined } as const;
      const shown = html === undefined ? options : plain;
      const { text, exceeded, compared: both } = await runDiff(older, newer, shown, standardOutput());
      if (html === undefined) process.stdout.write(text);
      else {
        const page = pageOfDiff(both, { sources: options.htmlSources });
        await writePage(page, text, { file: pagePath(html, newer, "diff"), open: options.open });
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
        TOOLS.flatMap((tool) => KEYS[tool]),
        text,
      );
}

/** What was compared: the text that is printed, and what limits are about. */
interface Comparison {
  readonly text: string;
  readonly changes: readonly {
    readonly metric: { readonly key: string };
    readonly total: OldAndNew;
    readonly format: (value: number) => string;
  }[];
}

export interface Compared {
  readonly inputs: { readonly old: string; readonly new: string };
  readonly old: RecordedTools;
  readonly new: RecordedTools;
  /** All of each run, and what came or went. */
  readonly found: { readonly old: readonly Finding[]; readonly new: readonly Finding[] };
  readonly findings: FindingDiff;
}

/** The text that `memshade diff` prints, and a sentence for each limit that is exceeded. */
export async function runDiff(
  older: string,
  newer: string,
  options: DiffOptions,
  terminal: Terminal,
): Promise<{ readonly text: string; readonly exceeded: readonly string[]; readonly compared: Compared }> {
  const limits = options.failOn ?? [];
  const common = recordedTools(older).filter((tool) => recordedTools(newer).includes(tool));
  const tool = comparedTool({ old: older, new: newer }, common, options);
  const places = {
    binaryPaths: options.binaryPath,
    rules: frameRules(options),
    suppressions: loadSuppressions(options.suppressions),
  };
  const [old, now] = [await loadTools(older, common, places), await loadTools(newer, common, places)];
  const all = Number.POSITIVE_INFINITY;
  const found = { old: runFindings(old, all), new: runFindings(now, all) };
  const compared: Compared = {
    inputs: { old: older, new: newer },
    old,
    new: now,
    found,
    findings: diffFindings(found.old, found.new),
  };
  const compare = (which: ReportedTool, by: string) =>
    which === "heap"
      ? compareHeaps(compared, by as MetricKey, options, terminal)
      : comparePlaces(compared, which, by, { ...options, screen: screenOptions(options, terminal) });
  const shown = compare(tool, options.by ?? KEYS[tool][0]!);
  const exceeded = limits.flatMap((limit) => {
    const of = toolOf(limit.key);
    return sentenceOf(of === tool || !common.includes(of) ? shown : compare(of, limit.key), limit);
  });
  return { text: shown.text, exceeded, compared };
}

/** @throws UserError where one of the runs has not what is to be compared */
function comparedTool(
  inputs: Compared["inputs"],
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
  const what = wanted === undefined ? "the two have no tool in common" : `both need ${NAMES[wanted]}`;
  throw new UserError(`nothing to compare: ${what}; ${has(inputs.old)}, ${has(inputs.new)}`);
}

const NAMES: { readonly [Tool in ReportedTool]: string } = {
  heap: "the heap",
  waste: "waste",
  workingset: "the working set",
};

function toolOf(key: string): ReportedTool {
  return TOOLS.find((tool) => KEYS[tool].includes(key))!;
}

function compareHeaps(
  { inputs, old, new: now, findings }: Compared,
  by: MetricKey,
  options: DiffOptions,
  terminal: Terminal,
): Comparison {
  const { group, rows } = options;
  const profiles = { old: old.heap!, new: now.heap! };
  const diff = diffHeaps(profiles.old, profiles.new, group);
  const text = options.json
    ? diffJson(profiles, diff, { inputs, by, rows, findings })
    : diffTable(profiles, diff, { ...screenOptions(options, terminal), inputs, by, rows, findings });
  if (text === undefined) {
    throw new UserError(
      by === "lifetime" || by === "temporary"
        ? `--by ${by} cannot be compared: the two profiles have different clocks`
        : unknownKey(by),
    );
  }
  const { clock } = profiles.new.description;
  return {
    text,
    changes: diff.metrics.map((change) => ({ ...change, format: formatterOf(change.metric, clock) })),
  };
}

function comparePlaces(
  { inputs, old, new: now, findings }: Compared,
  tool: "waste" | "workingset",
  by: string,
  { group, rows, json, screen }: DiffOptions & { readonly screen: ScreenOptions },
): Comparison {
  const [tables, gaps] =
    tool === "waste"
      ? [wasteTables(old.waste!, now.waste!, group), [old.waste!.notTracked, now.waste!.notTracked] as const]
      : [
          workingSetTables(old.workingset!, now.workingset!, group),
          [old.workingset!.notTracked, now.workingset!.notTracked] as const,
        ];
  const diff = diffPlaces(tables.old, tables.new);
  const change = diff.changes.find(({ metric }) => metric.key === by);
  if (change === undefined) throw new UserError(unknownKey(by));
  const shared = { inputs, rows, findings };
  const text = json
    ? placeDiffJson(diff, change, { ...shared, tool, notTracked: { old: gaps[0], new: gaps[1] } })
    : placeDiffTable(diff, change, { ...shared, ...screen, gaps: [...new Set(gaps.flat())] });
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
