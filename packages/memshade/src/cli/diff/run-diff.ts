import { existsSync } from "node:fs";
import type { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../explain/analyses/frames/mark-frames.ts";
import type { GroupBy } from "../../explain/analyses/groups.ts";
import type { RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import type { OldAndNew, Spread } from "../../explain/diff/changes.ts";
import { codePaths } from "../../explain/diff/code-paths.ts";
import { commonFindings, diffFindings, type FindingDiff } from "../../explain/diff/finding-diff.ts";
import { exceededTotals, type GrowthLimit } from "../../explain/diff/growth-limit.ts";
import { diffHeaps } from "../../explain/diff/heap-diff.ts";
import {
  type ComparableFindings,
  comparableFindings,
  comparableOf,
} from "../../explain/diff/known-of-blocks.ts";
import { diffPlaces, placeTables } from "../../explain/diff/place-diff.ts";
import { type RenamedFunctions, renamedFunctions } from "../../explain/diff/renamed-functions.ts";
import { hasHostFrames, withoutHostFrames } from "../../explain/diff/without-host-frames.ts";
import type { Finding } from "../../explain/findings/index.ts";
import { runFindings } from "../../explain/findings/run-findings.ts";
import { gapsOfBoth } from "../../explain/measures/gaps.ts";
import {
  gapsOfTool,
  isKnown,
  isMeasured,
  measure,
  measuresOfTool,
  recordedWith,
} from "../../explain/measures/index.ts";
import type { Measure } from "../../explain/measures/measure.ts";
import type { MeasuredTool, RecordingTool } from "../../explain/measures/measured-stacks.ts";
import { TOOLS } from "../../explain/measures/tools.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadTools, REPORTED_TOOLS, recordedTools } from "../../runs/recorded-tools.ts";
import { type ReportedTool, SHELVES } from "../../runs/shelves.ts";
import { type DiffInputs, diffJson, placeDiffJson, runDiffJson } from "../../show/report/json/diff.ts";
import { amountFormat } from "../../show/report/measure-format.ts";
import type { ColorChoice } from "../../show/report/terminal/common/paint.ts";
import { placeDiffTable } from "../../show/report/terminal/common/place-diff-table.ts";
import type { ScreenOptions } from "../../show/report/terminal/common/screen.ts";
import { diffTable } from "../../show/report/terminal/heap/diff-table.ts";
import { type ReadFlags, readOptions, screenOptions, type Terminal } from "../commands/report-options.ts";
import type { HtmlFlags } from "../report/html-options.ts";

/** Samples are not compared, because they vary from run to run. */
const COMPARED_TOOLS = REPORTED_TOOLS.filter(isMeasured);

export interface DiffOptions extends ReadFlags, HtmlFlags {
  /** Default: the first measure of the tool that all runs have. */
  readonly by?: Measure | undefined;
  readonly tool?: ReportedTool | undefined;
  readonly group: GroupBy;
  readonly rows: number;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly failOn?: readonly GrowthLimit[] | undefined;
}

/** Result of a comparison: the printed text, and the changes that limits apply to. */
interface Comparison {
  readonly text: string;
  readonly changes: readonly {
    readonly measure: { readonly id: string };
    readonly total: OldAndNew;
    readonly spread?: Spread | undefined;
    readonly format: (value: number) => string;
  }[];
}

export interface Compared {
  readonly inputs: DiffInputs;
  readonly old: readonly RecordedTools[];
  readonly new: readonly RecordedTools[];
  readonly gaps: readonly string[];
  /** Findings that all runs of a side have in common. */
  readonly found: { readonly old: readonly Finding[]; readonly new: readonly Finding[] };
  readonly findings: FindingDiff;
  readonly renamed: RenamedFunctions;
}

/** Compares runs. Returns the text of `memshade diff`, and a sentence for each exceeded limit. */
export async function runDiff(
  inputs: DiffInputs,
  options: DiffOptions,
  terminal: Terminal,
): Promise<{ readonly text: string; readonly exceeded: readonly string[]; readonly compared: Compared }> {
  const limits = options.failOn ?? [];
  const allInputs = [...inputs.old, ...inputs.new];
  for (const input of allInputs)
    if (!existsSync(input)) throw new UserError(`${input}: there is no such file or directory`);
  const { tool: requestedTool } = options;
  if (requestedTool !== undefined && !isMeasured(requestedTool))
    throw new UserError(`--tool ${requestedTool} cannot be compared: samples differ between any two runs`);
  const common = COMPARED_TOOLS.filter((tool) =>
    allInputs.every((input) => recordedTools(input).includes(tool)),
  );
  const tools = comparedTools(allInputs, common, { by: options.by, tool: requestedTool });
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
  const comparable = comparableFindings([...old!, ...now!]);
  const found = { old: findingsOf(old!), new: findingsOf(now!) };
  const [before, after] = [found.old, found.new].map((findings) => comparableOf(findings, comparable));
  const gaps = [...(areAlike ? [] : [WITHOUT_HOST]), ...(NOT_COMPARED[comparable] ?? [])];
  const pathsOf = (side: readonly RecordedTools[]) => side.flatMap(codePaths);
  const renamed = renamedFunctions(pathsOf(old!), pathsOf(now!));
  const compared: Compared = {
    inputs,
    old: old!,
    new: now!,
    gaps,
    found,
    findings: diffFindings(before!, after!, renamed),
    renamed,
  };
  const comparisonOptions = {
    ...options,
    screen: screenOptions(options, { ...terminal, printedSentences: new Set() }),
  };
  const compare = (by: Measure, isWhole: boolean) =>
    (OWN_COMPARISONS[by.tool] ?? comparePlaces)(compared, by, comparisonOptions, isWhole);
  const runs = [...old!, ...now!];
  const comparisons = new Map<MeasuredTool, Comparison>(
    tools.map((tool, index) => {
      const isWhole = options.json ? tools.length === 1 : index === tools.length - 1;
      const by = options.by ?? usualMeasure(tool, runs);
      return [by.tool, compare(by, isWhole)];
    }),
  );
  const exceeded = limits.flatMap((limit) => {
    const { tool } = limit.measure;
    const comparison =
      comparisons.get(tool) ??
      (common.includes(recordedWith(tool)) ? compare(limit.measure, false) : [...comparisons.values()][0]!);
    return sentenceOf(comparison, limit);
  });
  const texts = [...comparisons].map(([tool, { text }]) => [tool, text] as const);
  const text =
    options.json && tools.length > 1
      ? runDiffJson(
          inputs,
          compared.findings,
          Object.fromEntries(texts.map(([tool, toolText]) => [tool, JSON.parse(toolText)])),
        )
      : texts.map(([, toolText]) => toolText).join("\n");
  return { text, exceeded, compared };
}

/** @throws UserError if a run lacks a tool that is to be compared */
function comparedTools(
  inputs: readonly string[],
  common: readonly RecordingTool[],
  { tool, by }: { readonly tool?: RecordingTool | undefined; readonly by?: Measure | undefined },
): readonly RecordingTool[] {
  const ofMeasure = by && recordedWith(by.tool);
  if (tool !== undefined && ofMeasure !== undefined && ofMeasure !== tool)
    throw new UserError(`--by ${by!.id} is a measure of --tool ${ofMeasure}, not of ${tool}`);
  const wantedTool = tool ?? ofMeasure;
  if (wantedTool === undefined && common.length > 0) return common;
  if (wantedTool !== undefined && common.includes(wantedTool)) return [wantedTool];
  const has = (input: string) =>
    `${input} has ${recordedTools(input)
      .map((name) => SHELVES[name].whole)
      .join(", ")}`;
  const count = inputs.length === 2 ? ["the two", "both"] : ["the runs", "all"];
  const reason =
    wantedTool === undefined
      ? `${count[0]} have no tool in common`
      : `${count[1]} need ${SHELVES[wantedTool].whole}, of --tool ${wantedTool}`;
  throw new UserError(`nothing to compare: ${reason}; ${[...new Set(inputs)].map(has).join(", ")}`);
}

function usualMeasure(tool: RecordingTool, runs: readonly RecordedTools[]): Measure {
  const [first] = measuresOfTool(tool);
  return measuresOfTool(tool).find((candidate) => runs.every((run) => isKnown(candidate, run))) ?? first!;
}

type Told = DiffOptions & { readonly screen: ScreenOptions };

/** @param isWhole true if the findings of all tools are included */
function compareHeaps(
  { inputs, old, new: now, gaps, findings: allFindings, renamed }: Compared,
  by: Measure,
  { group, rows, json, screen }: Told,
  isWhole: boolean,
): Comparison {
  const findings = isWhole ? allFindings : undefined;
  const heapsOf = (side: readonly RecordedTools[]) => side.map(({ heap }) => heap!);
  const diff = diffHeaps(heapsOf(old), heapsOf(now), group, renamed);
  const shared = { inputs, by: by.id, rows, findings, gaps };
  const text = json ? diffJson(diff, shared) : diffTable(diff, { ...screen, ...shared });
  if (text === undefined)
    throw new UserError(
      [...old, ...now].every((run) => isKnown(by, run))
        ? `--by ${by.id} cannot be compared: the two profiles have different clocks`
        : `--by ${by.id} is not known in both profiles`,
    );
  const { clock } = now[0]!.heap!.description;
  return {
    text,
    changes: diff.changes.map((change) => ({ ...change, format: amountFormat(change.measure.unit, clock) })),
  };
}

/** Tools with a comparison of their own, which includes ratios besides sites. */
const OWN_COMPARISONS: Readonly<Partial<Record<MeasuredTool, typeof comparePlaces>>> = { heap: compareHeaps };

export function isCompared({ tool, combine }: Measure): boolean {
  return OWN_COMPARISONS[tool] !== undefined || typeof combine === "string";
}

const NOT_COMPARED: { readonly [Comparable in ComparableFindings]?: readonly string[] } = {
  leaks: ["The profiles have different facts about blocks: of the heap findings, only leaks are compared."],
  none: ["The profiles have different facts about blocks: heap findings are not compared."],
};

const WITHOUT_HOST = "Some runs have no JavaScript callers: these are left out of the comparison.";

function withoutCallersInHost(run: RecordedTools, rules: FrameRules | undefined): RecordedTools {
  const { heap } = run;
  if (heap === undefined || !hasHostFrames(heap)) return run;
  const plain = withoutHostFrames(heap);
  return { ...run, heap: rules === undefined ? plain : withOwnSites(plain, rules) };
}

function comparePlaces(
  { inputs, old, new: now, findings: allFindings, renamed }: Compared,
  by: Measure,
  { group, rows, json, screen }: Told,
  isWhole: boolean,
): Comparison {
  const findings = isWhole ? allFindings : undefined;
  const runs = [...old, ...now];
  const { tool } = by;
  if (runs.some((run) => run[tool] === undefined)) throw new UserError(unknownIn(by));
  const tables = placeTables(tool, runs, group);
  const gapsIn = (side: readonly RecordedTools[]) => [
    ...new Set(side.flatMap((run) => gapsOfTool(tool, run))),
  ];
  const diff = diffPlaces(tables.slice(0, old.length), tables.slice(old.length), renamed);
  const change = diff.changes.find((candidate) => candidate.measure.id === by.id);
  if (change === undefined) throw new UserError(unknownIn(by));
  const shared = { inputs, rows, findings };
  const text = json
    ? placeDiffJson(diff, change, { ...shared, tool, notTracked: { old: gapsIn(old), new: gapsIn(now) } })
    : placeDiffTable(diff, change, {
        ...shared,
        ...screen,
        whole: TOOLS[tool].whole,
        gaps: gapsOfBoth(gapsIn(old), gapsIn(now)),
      });
  return {
    text,
    changes: diff.changes.map((placeChange) => ({
      ...placeChange,
      format: amountFormat(measure(placeChange.measure.id).unit),
    })),
  };
}

/** Returns the message for a measure that a run lacks or that has another meaning there. */
function unknownIn({ id }: Measure): string {
  return `--by ${id} cannot be compared: the two runs were recorded with other options, or one without it`;
}

function sentenceOf({ changes }: Comparison, limit: GrowthLimit): string[] {
  const totals = exceededTotals(changes, limit);
  if (totals === undefined) return [];
  const { format } = changes.find((change) => change.measure.id === limit.measure.id)!;
  const percent =
    totals.old === 0 ? "" : ` (+${((100 * (totals.new - totals.old)) / totals.old).toFixed(1)} %)`;
  return [
    `${limit.measure.id} grew from ${format(totals.old)} to ${format(totals.new)}${percent}, more than ${limit.text} allows`,
  ];
}
