import type { PlaceFrame } from "../findings/finding.ts";
import type { GroupBy } from "../groups.ts";
import type { GroupKey } from "./group-keys.ts";
import type { OldAndNew } from "./heap-diff.ts";
import { type GroupPair, pairKeys } from "./pair-keys.ts";

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
  readonly path: readonly PlaceFrame[];
  readonly values: number[];
}

/** What a tool tells of places in one run. */
export interface PlaceTable {
  readonly tool: "waste" | "workingset";
  readonly metrics: readonly PlaceMetric[];
  readonly group: GroupBy;
  readonly places: readonly ComparedPlace[];
}

export interface PlaceChange {
  readonly metric: PlaceMetric;
  readonly total: OldAndNew;
  /** One value per pair, 0 where a run has no such place. */
  readonly old: Float64Array;
  readonly new: Float64Array;
}

/** What changed from one run of a program to another. */
export interface PlaceDiff {
  readonly group: GroupBy;
  readonly old: readonly ComparedPlace[];
  readonly new: readonly ComparedPlace[];
  readonly pairs: readonly GroupPair[];
  /** What both runs know. */
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

  /** Adds values by the keys of their metrics. `path`: the program's own frame first. */
  add(path: readonly PlaceFrame[], values: Readonly<Record<string, number>>): void {
    const shown = this.group === "path" ? path : path.slice(0, 1);
    const { exact } = keyOf({ path: shown, values: [] }, this.group);
    let place = this.places.get(exact);
    if (place === undefined) {
      place = { path: shown, values: this.metrics.map(() => 0) };
      this.places.set(exact, place);
    }
    for (const [index, { key, combine }] of this.metrics.entries()) {
      const value = values[key] ?? 0;
      place.values[index] =
        combine === "sum" ? place.values[index]! + value : Math.max(place.values[index]!, value);
    }
  }

  table(): PlaceTable {
    const { tool, metrics, group } = this;
    return { tool, metrics, group, places: [...this.places.values()] };
  }
}

/** Compares two runs, place by place. */
export function diffPlaces(older: PlaceTable, newer: PlaceTable): PlaceDiff {
  const { group } = newer;
  const keys = ({ places }: PlaceTable) => places.map((place) => keyOf(place, group));
  const pairs = pairKeys(keys(older), keys(newer));
  const changes = newer.metrics.flatMap((metric, inNew): PlaceChange[] => {
    const inOld = older.metrics.findIndex(({ key }) => key === metric.key);
    if (inOld < 0) return [];
    const total = ({ places }: PlaceTable, index: number) =>
      places.reduce(
        (all, { values }) =>
          metric.combine === "sum" ? all + values[index]! : Math.max(all, values[index]!),
        0,
      );
    const column = ({ places }: PlaceTable, side: "old" | "new", index: number) =>
      Float64Array.from(pairs, (pair) => (pair[side] === undefined ? 0 : places[pair[side]]!.values[index]!));
    return [
      {
        metric,
        total: { old: total(older, inOld), new: total(newer, inNew) },
        old: column(older, "old", inOld),
        new: column(newer, "new", inNew),
      },
    ];
  });
  return { group, old: older.places, new: newer.places, pairs, changes };
}

/** What a place is called in any run of the program: an offset counts only where no line is known, as it moves with every build. */
function keyOf({ path }: ComparedPlace, group: GroupBy): GroupKey {
  const names = path.map(({ function: name = "", module = "" }) => `${name} ${module}`).join("\n");
  if (group === "function") return { exact: names, names, places: [] };
  const numbers = path.map(({ line = 0, address = 0 }) => [line, line === 0 ? address : 0]);
  const places = path.map(({ file = "" }, depth) => `${file}:${numbers[depth]!.join(":")}`).join("\n");
  return { exact: `${names}\n${places}`, names, places: numbers.flat() };
}
