import { entryOf } from "../../ground/bytes/entries.ts";
import { fromOwn } from "../analyses/frames/own-place.ts";
import type { GroupBy } from "../analyses/groups.ts";
import { measuresOfTool, stacksOf } from "../measures/index.ts";
import type { Measure, MeasuredProfiles } from "../measures/measure.ts";
import type { StackFrame } from "../measures/measured-stacks.ts";
import {
  framesOf,
  type MeasuredFrame,
  type MeasuredStacks,
  type MeasuredTool,
  placePath,
} from "../measures/measured-stacks.ts";
import { type Change, changeOf, type RunValues } from "./changes.ts";
import type { GroupPair } from "./heap-diff.ts";
import { pairRows } from "./pair-rows.ts";
import { exactKey, type KeyFrame, type PathKey, withSigns } from "./path-keys.ts";
import type { RenamedFunctions } from "./renamed-functions.ts";

/**
 * Measure for the comparison of places. `combine` determines whether amounts of a row, or of all places, are summed or
 * their maximum counts.
 */
export type PlaceMeasure = Pick<Measure, "id" | "combine">;

export interface ComparedPlace {
  /** Innermost first; empty for an owner that is not code. */
  readonly path: readonly StackFrame[];
  readonly values: number[];
}

export interface PlaceTable {
  readonly measures: readonly PlaceMeasure[];
  readonly group: GroupBy;
  readonly places: readonly ComparedPlace[];
}

export type PlaceChange = Change<PlaceMeasure>;

export interface PlaceDiff {
  readonly group: GroupBy;
  readonly old: readonly ComparedPlace[];
  readonly new: readonly ComparedPlace[];
  /** Indices into these; on a side with several runs, the place of the first run that has it. */
  readonly pairs: readonly GroupPair[];
  readonly changes: readonly PlaceChange[];
}

/** Collects the places of one run and sums equal ones. */
export class PlaceSums {
  readonly #measures: readonly PlaceMeasure[];
  readonly #group: GroupBy;
  readonly #places = new Map<string, ComparedPlace>();

  constructor(measures: readonly PlaceMeasure[], group: GroupBy) {
    this.#measures = measures;
    this.#group = group;
  }

  /** Adds a value per measure. @param path from the program's own frame outwards */
  add(path: readonly StackFrame[], values: readonly number[]): void {
    const shown = this.#group === "path" ? path : path.slice(0, 1);
    const key = exactKey(keyOf(shown, this.#group));
    const place = entryOf(this.#places, key, () => ({ path: shown, values: this.#measures.map(() => 0) }));
    for (const [index, { combine }] of this.#measures.entries())
      place.values[index] =
        combine === "most"
          ? Math.max(place.values[index]!, values[index]!)
          : place.values[index]! + values[index]!;
  }

  table(): PlaceTable {
    const places = [...this.#places.values()];
    return { measures: this.#measures, group: this.#group, places };
  }
}

/** Returns the places of a tool in each run, by all measures in which the runs are comparable. */
export function placeTables(
  tool: MeasuredTool,
  runs: readonly MeasuredProfiles[],
  group: GroupBy,
): PlaceTable[] {
  const [first, ...otherRuns] = runs;
  const measures = measuresOfTool(tool).filter(
    ({ combine, column, differs }) =>
      typeof combine === "string" &&
      runs.every((run) => column(run) !== undefined && column(run)!.isUnplaced !== true) &&
      otherRuns.every((other) => differs?.(first!, other) === undefined),
  );
  // Callers are compared only if all runs have calling contexts.
  const haveCallers = runs.every(({ waste }) => waste?.options.contexts !== false);
  return runs.map((run) => {
    const stacks = stacksOf(tool, run)!;
    const columns = measures.map(({ column }) => column(run)!);
    const sums = new PlaceSums(measures, group);
    for (let row = 0; row < stacks.rows.length; row++) {
      const values = columns.map(({ amounts }) => Number(amounts[row]));
      if (values.some((value) => value !== 0))
        sums.add(haveCallers ? placePath(stacks, row) : innermostCall(stacks, row), values);
    }
    const rest = columns.map((column) => Math.max(0, column.rest ?? 0));
    if (rest.some((value) => value !== 0)) sums.add([], rest);
    const table = sums.table();
    // Call paths have shares of their context's amounts, of which only the sums are whole numbers.
    const places = table.places.map((place) => ({ ...place, values: place.values.map(Math.round) }));
    return { ...table, places };
  });
}

/** Returns the program's own place in a row's innermost call, with its inlining functions. */
function innermostCall({ stacks, rows }: MeasuredStacks, row: number): readonly MeasuredFrame[] {
  const path = framesOf(stacks, rows[row]!);
  const call = path.slice(0, path.findIndex(({ isInlined }) => isInlined !== true) + 1);
  return fromOwn(call).stack;
}

export function diffPlaces(
  older: readonly PlaceTable[],
  newer: readonly PlaceTable[],
  renamed?: RenamedFunctions,
): PlaceDiff {
  const { group, measures } = newer[0]!;
  const keys = ({ places }: PlaceTable) =>
    places.map(({ path, values }) => withSigns(keyOf(path, group), values.join(" ")));
  const rows = pairRows(older.map(keys), newer.map(keys), renamed);
  const changes = measures.flatMap((measure): PlaceChange[] => {
    const [old, now] = [
      valuesOf(
        older,
        measure,
        rows.map((row) => row.old),
      ),
      valuesOf(
        newer,
        measure,
        rows.map((row) => row.new),
      ),
    ];
    return old === undefined || now === undefined ? [] : [changeOf(measure, old, now)];
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
  { id, combine }: PlaceMeasure,
  rows: readonly (readonly (number | undefined)[])[],
): RunValues | undefined {
  const columns = tables.map(({ measures }) => measures.findIndex((measure) => measure.id === id));
  if (columns.some((column) => column < 0)) return undefined;
  return {
    rows: tables.map(({ places }, run) =>
      Float64Array.from(rows, (row) =>
        row[run] === undefined ? 0 : places[row[run]]!.values[columns[run]!]!,
      ),
    ),
    totals: tables.map(({ places }, run) =>
      places.reduce((total, { values }) => {
        const value = values[columns[run]!]!;
        return combine === "most" ? Math.max(total, value) : total + value;
      }, 0),
    ),
  };
}

function keyOf(path: readonly StackFrame[], group: GroupBy): PathKey {
  return { frames: path.map(keyFrame), withPlaces: group !== "function" };
}

/** Returns the key of a frame for finding it in other runs. */
export function keyFrame({
  function: name = "",
  inlined,
  module,
  address: offset,
  ...place
}: StackFrame): KeyFrame {
  const { file, line, startLine } = place;
  return {
    // The line belongs to the inlined function, so the name includes it.
    name: `${inlined === undefined ? "" : `${inlined} in `}${name}${module === undefined ? "" : ` of ${module}`}`,
    file,
    line,
    startLine,
    offset,
  };
}
