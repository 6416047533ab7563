import { UserError } from "../../ground/bytes/errors.ts";
import { parseAmount } from "../analyses/amount.ts";
import { findMeasure, isAdditive, MEASURES, measure } from "../measures/index.ts";
import type { Measure } from "../measures/measure.ts";
import { someMeasures } from "../measures/some-measures.ts";

/** Column of a store for a measure; older stores have it too. */
interface StoredColumn {
  readonly ofRuns: string;
  readonly ofParts?: FleetMeasure["ofParts"];
  readonly title?: string;
}

/** Measures with columns of their own. The first one that runs have is the default. */
const COLUMNS: Readonly<Record<string, StoredColumn>> = {
  peak: { ofRuns: "peak_bytes", ofParts: { table: "metrics", column: "peak_bytes" } },
  bytes: { ofRuns: "allocated_bytes", ofParts: { table: "metrics", column: "total_size" } },
  blocks: { ofRuns: "allocations", ofParts: { table: "metrics", column: "alloc_count" } },
  left: { ofRuns: "live_bytes", ofParts: { table: "metrics", column: "live_bytes" } },
  dead: { ofRuns: "wasted_bytes", ofParts: { table: "waste", column: "bytes", where: "p.kind = 'dead'" } },
  // The largest of all intervals has no parts by place.
  workingset: { ofRuns: "workingset_bytes", title: "largest working set" },
  "object-bytes": { ofRuns: "object_bytes", ofParts: { table: "objects", column: "bytes" } },
  objects: { ofRuns: "objects", ofParts: { table: "objects", column: "objects" } },
  "objects-in-use": { ofRuns: "objects_in_use", ofParts: { table: "objects", column: "in_use" } },
};

export interface FleetMeasure {
  readonly key: string;
  readonly title: string;
  readonly unit: "bytes" | "count";
  readonly ofRuns: string | undefined;
  /** Table and column of its parts, and the condition for its rows. */
  readonly ofParts:
    | {
        readonly table: "metrics" | "waste" | "objects" | "amounts";
        readonly column: string;
        readonly where?: string;
      }
    | undefined;
  /** True if two runs of one build may have different numbers. */
  readonly isEstimate?: true | undefined;
}

/** All additive measures, those with columns of their own first. */
export const FLEET_MEASURES: readonly FleetMeasure[] = [
  ...Object.keys(COLUMNS).map(measure),
  ...MEASURES.filter((candidate) => isAdditive(candidate) && !hasColumn(candidate)),
].map(fleetMeasure);

export function hasColumn({ id }: Pick<Measure, "id">): boolean {
  return id in COLUMNS;
}

function fleetMeasure({ id, title, unit, isEstimate }: Measure): FleetMeasure {
  const amounts = {
    table: "amounts",
    column: "amount",
    where: `p.measure = '${id}' and p.site is not null`,
  } as const;
  const stored = COLUMNS[id];
  return {
    key: id,
    title: stored?.title ?? title,
    unit: unit === "bytes" ? "bytes" : "count",
    ofRuns: stored?.ofRuns,
    ofParts: stored === undefined ? amounts : stored.ofParts,
    isEstimate,
  };
}

export function findFleetMeasure(word: string): FleetMeasure | undefined {
  const found = findMeasure(word, "trend");
  return FLEET_MEASURES.find(({ key }) => key === found?.id);
}

/** Limit for the growth of a measure from one build to the next: `peak+5%`, `bytes+1MiB`. */
export interface StepLimit {
  readonly text: string;
  readonly measure: FleetMeasure;
  readonly amount: number;
  readonly isPercent: boolean;
}

export function parseStepLimit(text: string): StepLimit {
  const [, name = "", number = ""] = /^([a-z-]+)\+(.+)$/.exec(text) ?? [];
  const measure = findFleetMeasure(name);
  const amount = parseAmount(number);
  const keys = FLEET_MEASURES.map(({ key }) => key);
  if (measure === undefined || amount === undefined)
    throw new UserError(
      `--fail-on takes one of ${someMeasures(keys, "store trend")} and how much it may grow from one build to the next, such as peak+5% or bytes+1MiB, not "${text}"`,
    );
  return { text, measure, amount: amount.value, isPercent: amount.isPercent };
}
