import type { StackFrame } from "../call-tree/weighted-stacks.ts";
import type { GroupBy } from "../groups.ts";
import { type Change, changeOf, type RunValues } from "./changes.ts";
import type { GroupPair } from "./heap-diff.ts";
import { pairRows } from "./pair-rows.ts";
import { exactKey, type KeyFrame, type PathKey, withSigns } from "./path-keys.ts";
import type { RenamedFunctions } from "./renamed-functions.ts";

/** What places of a tool are compared by. */
export interface PlaceMetric {
  readonly key: string;
  readonly title: string;
  readonly head: string;
  readonly unit: "bytes" | "count";
  /** How the values of two places of one row, or of all places, become one. */
  readonly combine: "sum" | "most";
}

/** A row of a comparison: where it is, and a value per metric of its table. */
export interface ComparedPlace {
  /** Innermost first; empty for what is no code. */
  readonly path: readonly StackFrame[];
  readonly values: number[];
}

/** What a tool tells of places in one run. */
export interface PlaceTable {
  readonly tool: "waste" | "workingset" | "objects";
  readonly metrics: readonly PlaceMetric[];
  readonly group: GroupBy;
  readonly places: readonly ComparedPlace[];
}

export type PlaceChange = Change<PlaceMetric>;

/** What changed from one run of a program to another, or from some runs to others. */
export interface PlaceDiff {
  readonly group: GroupBy;
  /** The places of all runs of a side, one run after the other. */
  readonly old: readonly ComparedPlace[];
  readonly new: readonly ComparedPlace[];
  /** Indices into these; of a side with several runs, the place of the first one that has it. */
  readonly pairs: readonly GroupPair[];
  /** What all runs know. */
  readonly changes: readonly PlaceChange[];
}

/** Collects the places of one run, those of one row together. */
export class PlaceSums {
  private readonly tool: PlaceTable["tool"];
  private readonly metrics: readonly PlaceMetric[];
  private readonly group: GroupBy;
  private readonly places = new Map<string, ComparedPlace>();

  constructor(tool: PlaceTable["tool"], metrics: readonly PlaceMetric[], group: GroupBy) {
    this.tool = tool;
    this.metrics = metrics;
    this.group = group;
  }

  /** Adds values by the keys of their metrics; others are 0. `path`: the program's own frame first. */
  add(path: readonly StackFrame[], values: Readonly<Partial<Record<string, number>>>): void {
    const shown = this.group === "path" ? path : path.slice(0, 1);
    const key = exactKey(keyOf(shown, this.group));
    let place = this.places.get(key);
    if (place === undefined) {
      place = { path: shown, values: this.metrics.map(() => 0) };
      this.places.set(key, place);
    }
    for (const [index, { key: metric, combine }] of this.metrics.entries()) {
      const value = values[metric] ?? 0;
      place.values[index] =
        combine === "sum" ? place.values[index]! + value : Math.max(place.values[index]!, value);
    }
  }

  table(): PlaceTable {
    const { tool, metrics, group } = this;
    return { tool, metrics, group, places: [...this.places.values()] };
  }
}

/** Compares runs, place by place. Each side has at least one. */
export function diffPlaces(
  older: readonly PlaceTable[],
  newer: readonly PlaceTable[],
  renamed?: RenamedFunctions,
): PlaceDiff {
  const { group, metrics } = newer[0]!;
  const keys = ({ places }: PlaceTable) =>
    places.map(({ path, values }) => withSigns(keyOf(path, group), values.join(" ")));
  const rows = pairRows(older.map(keys), newer.map(keys), renamed);
  const changes = metrics.flatMap((metric): PlaceChange[] => {
    const [old, now] = [
      valuesOf(
        older,
        metric,
        rows.map((row) => row.old),
      ),
      valuesOf(
        newer,
        metric,
        rows.map((row) => row.new),
      ),
    ];
    return old === undefined || now === undefined ? [] : [changeOf(metric, old, now)];
  });
  const numberOf = (tables: readonly PlaceTable[], row: readonly (number | undefined)[]) => {
    const first = row.findIndex((place) => place !== undefined);
    if (first < 0) return undefined;
    return tables.slice(0, first).reduce((sum, { places }) => sum + places.length, row[first]!);
  };
  return {
    group,
    old: older.flatMap(({ places }) => places),
    new: newer.flatMap(({ places }) => places),
    pairs: rows.map((row) => ({ old: numberOf(older, row.old), new: numberOf(newer, row.new) })),
    changes,
  };
}

function valuesOf(
  tables: readonly PlaceTable[],
  { key, combine }: PlaceMetric,
  rows: readonly (readonly (number | undefined)[])[],
): RunValues | undefined {
  const columns = tables.map(({ metrics }) => metrics.findIndex((metric) => metric.key === key));
  if (columns.some((column) => column < 0)) return undefined;
  return {
    rows: tables.map(({ places }, run) =>
      Float64Array.from(rows, (row) =>
        row[run] === undefined ? 0 : places[row[run]]!.values[columns[run]!]!,
      ),
    ),
    totals: tables.map(({ places }, run) =>
      places.reduce((all, { values }) => {
        const value = values[columns[run]!]!;
        return combine === "sum" ? all + value : Math.max(all, value);
      }, 0),
    ),
  };
}

/** What a place is called in any run of the program. */
function keyOf(path: readonly StackFrame[], group: GroupBy): PathKey {
  return { frames: path.map(keyFrame), withPlaces: group !== "function" };
}

/** A frame as it is found again in other runs. */
export function keyFrame({
  function: name = "",
  inlined,
  module,
  address: offset,
  ...place
}: StackFrame): KeyFrame {
  const { file, line, startLine } = place;
  return {
    // Where functions are inlined into others, the line says which one it is of.
    name: `${inlined === undefined ? "" : `${inlined} in `}${name}${module === undefined ? "" : ` of ${module}`}`,
    ...{ file, line, startLine, offset },
  };
}
