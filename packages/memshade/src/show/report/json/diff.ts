import {
  type Change,
  isTotalWithinSpread,
  isWithinSpread,
  type Range,
  rankChanges,
} from "../../../explain/diff/changes.ts";
import type { FindingDiff } from "../../../explain/diff/finding-diff.ts";
import { groupAt, type HeapDiff, type HeapSide } from "../../../explain/diff/heap-diff.ts";
import type { PlaceChange, PlaceDiff } from "../../../explain/diff/place-diff.ts";
import { gapsOf } from "../../../explain/measures/gaps.ts";
import { measure } from "../../../explain/measures/index.ts";
import type { MeasuredTool, StackFrame } from "../../../explain/measures/measured-stacks.ts";
import type { Clock } from "../../../profile/model/run.ts";
import { positionJson } from "./call-tree.ts";
import { type FindingDiffJson, findingDiffJson } from "./findings.ts";
import { createSiteWriter } from "./sites.ts";
import { jsonText } from "./text.ts";

const DIFF_SCHEMA = "memshade-diff";
const DIFF_VERSION = 2;

export interface DiffInputs {
  /** Names of the runs of each side. */
  readonly old: readonly string[];
  readonly new: readonly string[];
}

export interface DiffJsonOptions {
  /** Names of the runs as the user typed them. */
  readonly inputs: DiffInputs;
  /** Id of the measure that rows are ranked by. */
  readonly by: string;
  readonly rows: number;
  readonly findings?: FindingDiff | undefined;
  /** Sentences about data that cannot be compared. */
  readonly gaps: readonly string[];
}

/**
 * Comparison of two runs, or of the medians of several runs a side. Data that two runs do not have in the same meaning is
 * left out: `redundant` if one had `--pairs`, `workingset` and `share` if intervals have other lengths, `misses` if caches
 * have other sizes.
 */
interface DiffJson extends DiffRowsJson {
  /** Name and version of the format. */
  schema: typeof DIFF_SCHEMA;
  version: typeof DIFF_VERSION;
  /** Tool, of a comparison of waste or working sets; absent for the heap. */
  tool?: MeasuredTool;
  /** Runs, as named on the command line; several names of a side have commas between them. */
  old: string;
  new: string;
  /** Names of the runs, if a side has several. */
  runs?: DiffInputs | undefined;
  /** Word of the compared [measure](glossary.md#measures), also if it was requested by another word. */
  by: string;
  /** Unit of `change`. */
  unit: string;
  /** Kind of the rows. */
  group: "path" | "site" | "function";
  /** Clocks of both runs, of the heap. */
  clock?: { readonly old: Clock; readonly new: Clock };
  /** Sentences about everything that the profiles do not cover. */
  notTracked: { readonly old: readonly string[]; readonly new: readonly string[] };
  /** Findings of all tools that both runs have. */
  findings?: FindingDiffJson | undefined;
}

interface DiffRowsJson {
  /** Totals of each measure that both runs know, by its word. */
  totals: { [word: string]: DiffValueJson };
  /** Changes, the largest first; those within the spread of the runs last. */
  rows: readonly DiffRowJson[];
  /** Number of rows left out by `-n`. */
  rowsOmitted: number;
  /** Groups with the same value in both. */
  unchanged: number;
}

interface DiffRowJson {
  /** Occurrence of the group: in both runs, or in one alone. */
  kind: "changed" | "new" | "gone";
  /** New value minus old value. */
  change: number;
  /** Values of each measure, by its word; 0 if a run lacks the group. */
  values: { [word: string]: DiffValueJson };
  /**
   * Site of each run, or null if it lacks the group. In comparisons of waste and working sets: `path`, frames from the
   * program's own outwards.
   */
  old: unknown;
  new: unknown;
}

interface DiffValueJson {
  /** Values of the runs; medians of several. */
  readonly old: number;
  readonly new: number;
  /** Smallest and largest value of the runs of a side, if there are several. */
  readonly oldRange?: readonly [number, number];
  readonly newRange?: readonly [number, number];
  /** True if these ranges overlap. */
  readonly isWithinSpread?: boolean;
}

/** Comparison of the records of several tools, without `--tool` and `--by`. */
interface RunDiffJson extends Pick<DiffJson, "old" | "new" | "runs"> {
  /** Name and version of the format. */
  schema: "memshade-run-diff";
  version: 1;
  /** Findings of all tools that both runs have. */
  findings: FindingDiffJson;
  /** Comparison of each tool (`heap`, `waste`, `workingset`), by its name. */
  tools: { readonly [tool: string]: unknown };
}

/** Returns the names of the runs; if a side has several, `runs` lists them. */
function inputsJson({ old, new: now }: DiffInputs) {
  const areSeveral = old.length > 1 || now.length > 1;
  return {
    old: old.join(","),
    new: now.join(","),
    runs: areSeveral ? { old, new: now } : undefined,
  };
}

/**
 * Formats a comparison as JSON (docs/report-json.md).
 *
 * @returns undefined if one of the profiles lacks the measure
 */
export function diffJson(
  diff: HeapDiff,
  { inputs, by, rows, findings, gaps }: DiffJsonOptions,
): string | undefined {
  const change = diff.changes.find(({ measure }) => measure.id === by);
  if (change === undefined) return undefined;
  const { unit } = change.measure;
  const { old, new: now } = diff.sides;
  const writers = new Map(
    [...old.runs, ...now.runs].map((run) => [run, createSiteWriter(run.profile, run.groups)]),
  );
  const [older, newer] = [old.runs[0]!.profile.description, now.runs[0]!.profile.description];
  const gapsIn = ({ runs }: HeapSide) => [...new Set(runs.flatMap(({ profile }) => gapsOf(profile)))];
  const document: DiffJson = {
    schema: DIFF_SCHEMA,
    version: DIFF_VERSION,
    ...inputsJson(inputs),
    by,
    unit: unit === "clock" ? newer.clock.unit : unit,
    group: diff.by,
    clock: { old: older.clock, new: newer.clock },
    notTracked: { old: [...gapsIn(old), ...gaps], new: [...gapsIn(now), ...gaps] },
    ...diffRowsJson({
      pairs: diff.pairs,
      changes: diff.changes,
      by: change,
      most: rows,
      describe: (side, number) => {
        const { run, group } = groupAt(diff.sides[side], number);
        return writers.get(run)!(group);
      },
    }),
    findings: findings && findingDiffJson(findings),
  };
  return jsonText(document);
}

/** Formats a comparison of several tools' records as one document (docs/report-json.md). */
export function runDiffJson(
  inputs: DiffInputs,
  findings: FindingDiff,
  tools: Readonly<Record<string, unknown>>,
): string {
  const document: RunDiffJson = {
    schema: "memshade-run-diff",
    version: 1,
    ...inputsJson(inputs),
    findings: findingDiffJson(findings),
    tools,
  };
  return jsonText(document);
}

type KeyedChange = Change<{ readonly id: string }>;

interface Compared<Side> {
  readonly pairs: readonly { readonly old?: Side | undefined; readonly new?: Side | undefined }[];
  readonly changes: readonly KeyedChange[];
  readonly by: KeyedChange;
  readonly most: number;
  /** Returns the description of one side of a pair. */
  describe(side: "old" | "new", value: Side): unknown;
}

/** Returns totals and rows of a comparison, the largest change first (docs/report-json.md). */
function diffRowsJson<Side>({ pairs, changes, by, most, describe }: Compared<Side>): DiffRowsJson {
  const ranking = rankChanges(by);
  const sideOf = (side: "old" | "new", value: Side | undefined) =>
    value === undefined ? null : describe(side, value);
  return {
    totals: Object.fromEntries(changes.map((change) => [change.measure.id, totalJson(change)])),
    rows: ranking.slice(0, most).map((row) => {
      const pair = pairs[row]!;
      return {
        kind: pair.old === undefined ? "new" : pair.new === undefined ? "gone" : "changed",
        change: by.new[row]! - by.old[row]!,
        values: Object.fromEntries(changes.map((change) => [change.measure.id, valueJson(change, row)])),
        old: sideOf("old", pair.old),
        new: sideOf("new", pair.new),
      };
    }),
    rowsOmitted: Math.max(0, ranking.length - most),
    unchanged: pairs.length - ranking.length,
  };
}

/**
 * Adds the smallest and largest value of each side to medians of several runs, and a flag for changes within
 * these.
 */
function totalJson(change: KeyedChange): DiffValueJson {
  const { total, spread } = change;
  if (spread === undefined) return total;
  const { old: oldRange, new: newRange } = spread.total;
  return { ...total, oldRange, newRange, isWithinSpread: isTotalWithinSpread(change) };
}

function valueJson(change: KeyedChange, row: number): DiffValueJson {
  const { old, new: now, spread } = change;
  const value = { old: old[row]!, new: now[row]! };
  if (spread === undefined) return value;
  const rangeOf = ({ low, high }: Range) => [low[row]!, high[row]!] as const;
  return {
    ...value,
    oldRange: rangeOf(spread.old),
    newRange: rangeOf(spread.new),
    isWithinSpread: isWithinSpread(change, row),
  };
}

interface PlaceDiffJsonOptions {
  readonly tool: MeasuredTool;
  readonly inputs: DiffInputs;
  readonly notTracked: { readonly old: readonly string[]; readonly new: readonly string[] };
  readonly rows: number;
  readonly findings?: FindingDiff | undefined;
}

/** Formats a comparison of code locations as JSON (docs/report-json.md). */
export function placeDiffJson(
  diff: PlaceDiff,
  change: PlaceChange,
  { tool, inputs, notTracked, rows, findings }: PlaceDiffJsonOptions,
): string {
  const document: DiffJson = {
    schema: DIFF_SCHEMA,
    version: DIFF_VERSION,
    tool,
    ...inputsJson(inputs),
    by: change.measure.id,
    unit: measure(change.measure.id).unit,
    group: diff.group,
    notTracked,
    ...diffRowsJson({
      pairs: diff.pairs,
      changes: diff.changes,
      by: change,
      most: rows,
      describe: (side, place) => ({ path: diff[side][place]!.path.map(frameJson) }),
    }),
    findings: findings && findingDiffJson(findings),
  };
  return jsonText(document);
}

function frameJson(frame: StackFrame): StackFrame {
  return { function: frame.function, ...positionJson(frame), isWord: frame.isWord };
}
