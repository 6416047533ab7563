import { UserError } from "../../bytes/errors.ts";
import { parseAmount } from "../limits/amount.ts";

/** What `trend` follows: a column of the runs, and of their contexts where it is one of these. */
export interface FleetMeasure {
  readonly key: string;
  readonly title: string;
  readonly unit: "bytes" | "count";
  readonly ofRuns: string;
  /** Column of the table that says where it comes from, and which rows count. */
  readonly ofParts:
    | { readonly table: "metrics" | "waste" | "objects"; readonly column: string; readonly where?: string }
    | undefined;
  /** No two runs need to give the same number. */
  readonly isEstimate?: true;
}

export const FLEET_MEASURES: readonly FleetMeasure[] = [
  {
    key: "peak",
    title: "peak of the heap",
    unit: "bytes",
    ofRuns: "peak_bytes",
    ofParts: { table: "metrics", column: "peak_bytes" },
  },
  {
    key: "bytes",
    title: "bytes allocated",
    unit: "bytes",
    ofRuns: "allocated_bytes",
    ofParts: { table: "metrics", column: "total_size" },
  },
  {
    key: "count",
    title: "blocks allocated",
    unit: "count",
    ofRuns: "allocations",
    ofParts: { table: "metrics", column: "alloc_count" },
  },
  {
    key: "live",
    title: "bytes left at the end",
    unit: "bytes",
    ofRuns: "live_bytes",
    ofParts: { table: "metrics", column: "live_bytes" },
  },
  {
    key: "waste",
    title: "bytes overwritten unread",
    unit: "bytes",
    ofRuns: "wasted_bytes",
    ofParts: { table: "waste", column: "bytes", where: "p.kind = 'dead'" },
  },
  {
    key: "workingset",
    title: "largest working set",
    unit: "bytes",
    ofRuns: "workingset_bytes",
    ofParts: undefined,
  },
  {
    key: "object-bytes",
    title: "bytes of objects made",
    unit: "bytes",
    ofRuns: "object_bytes",
    ofParts: { table: "objects", column: "bytes" },
  },
  {
    key: "objects",
    title: "objects made",
    unit: "count",
    ofRuns: "objects",
    ofParts: { table: "objects", column: "objects" },
  },
  {
    key: "objects-in-use",
    title: "bytes of objects in use at the end",
    unit: "bytes",
    ofRuns: "objects_in_use",
    ofParts: { table: "objects", column: "in_use" },
    isEstimate: true,
  },
];

/** How much a measure may grow from one build to the next: `peak+5%`, `bytes+1MiB`. */
export interface StepLimit {
  readonly text: string;
  readonly measure: FleetMeasure;
  readonly amount: number;
  readonly isPercent: boolean;
}

/** @throws UserError if it is none */
export function parseStepLimit(text: string): StepLimit {
  const [, name, number = ""] = /^([a-z-]+)\+(.+)$/.exec(text) ?? [];
  const measure = FLEET_MEASURES.find(({ key }) => key === name);
  const amount = parseAmount(number);
  if (measure === undefined || amount === undefined)
    throw new UserError(
      `--fail-on takes one of ${FLEET_MEASURES.map(({ key }) => key).join(", ")} and how much it may grow from one build to the next, such as peak+5% or bytes+1MiB, not "${text}"`,
    );
  return { text, measure, amount: amount.value, isPercent: amount.isPercent };
}
