import {
  BLOCK_FIGURES,
  type Bound,
  FIGURES,
  type Figure,
  placeBound,
  unseenBounds,
} from "../../profile/model/bound.ts";
import { counted } from "../../profile/model/counted.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { RunEnd } from "../../profile/model/run.ts";
import { areAccessesCut } from "../analyses/granule-accesses.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { heapTotals } from "../analyses/totals.ts";
import type { Relation } from "./limit.ts";
import type { LimitMeasure } from "./measure.ts";

/** Between these two is what a run really had. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

/** All that is known of a run beside its figures. */
export interface RunFacts {
  readonly end?: RunEnd | undefined;
  /** What the recorder knew. */
  readonly bounds?: readonly Bound[] | undefined;
}

/** Which figures of a run are no exact counts, and why. */
export function boundsOfRun({ heap }: RecordedTools, { end, bounds = [] }: RunFacts): Bound[] {
  return [...bounds, ...(heap === undefined ? [] : boundsOfHeap(heap)), ...boundsOfEnd(end)];
}

function boundsOfHeap(heap: HeapProfile): Bound[] {
  const { totals, importedFrom } = heap.description;
  const { contexts = 0, blocks = 0 } = totals?.overflow ?? {};
  const { allocations, inContexts } = heapTotals(heap);
  const unplaced = allocations - inContexts.allocations;
  const isUncounted = heap.modules.some((module) => module.isUncounted === true);
  return [
    ...(blocks > 0
      ? unseenBounds(
          `${counted(blocks, "block")} found no room in the table of live blocks`,
          BLOCK_FIGURES.filter((figure) => figure !== "allocated"),
        ).map((bound): Bound => (bound.figures.includes("lives") ? { ...bound, are: "least" } : bound))
      : []),
    ...(contexts > 0
      ? [
          placeBound(
            BLOCK_FIGURES,
            `the table of call paths was full, ${counted(contexts, "allocation is", "allocations are")} counted together`,
          ),
        ]
      : []),
    ...(unplaced > 0 && importedFrom === undefined
      ? [
          placeBound(
            ["allocated"],
            `${counted(unplaced, "allocation belongs", "allocations belong")} to no place`,
          ),
        ]
      : []),
    ...(isUncounted ? unseenBounds("accesses of some modules were not counted", ["accesses", "unused"]) : []),
    ...(areAccessesCut(heap)
      ? [
          {
            figures: ["accesses"] as const,
            are: "least" as const,
            because: "some counters of accesses are full",
          },
        ]
      : []),
    ...heap.modules.flatMap(({ name, allocator }) => {
      if (allocator?.refused !== undefined)
        return unseenBounds(`the blocks of ${name} were not followed`, BLOCK_FIGURES);
      if (allocator?.confirmed !== false) return [];
      return [
        {
          figures: BLOCK_FIGURES,
          are: "either",
          because: `the run did not bear out the allocator of ${name}`,
        } as const,
      ];
    }),
  ];
}

/** A profile that was taken while the program ran tells of that moment, as was asked. */
function boundsOfEnd(end: RunEnd | undefined): Bound[] {
  switch (end?.kind) {
    case "signal":
      return unseenBounds("the run was ended by a signal");
    case "trap":
    case "exception":
      return unseenBounds(`the run was ended by ${end.kind === "trap" ? "a trap" : "an exception"}`);
    default:
      return [];
  }
}

/** The bounds that a measure has, of the whole run or by place. */
export function boundsOfMeasure(
  { figures }: LimitMeasure,
  bounds: readonly Bound[],
  isByPlace: boolean,
): readonly Bound[] {
  return bounds.filter(
    (bound) =>
      (isByPlace || bound.byPlace !== true) && bound.figures.some((figure) => figures.includes(figure)),
  );
}

/** Between which values a measure is. */
export function rangeOf(value: number, { unit }: LimitMeasure, bounds: readonly Bound[]): Range {
  // What is divided by something else that is not known either.
  const isQuotient = unit === "accessesPerByte" || unit === "clock" || unit === "part";
  const has = (kind: Bound["are"]) =>
    bounds.some(({ are }) => are === kind || are === "either" || isQuotient);
  return { least: has("most") ? 0 : value, most: has("least") ? Number.POSITIVE_INFINITY : value };
}

/** What a comparison says of all values between two; undefined: of some it holds, of some it does not. */
export function compareRange(range: Range, relation: Relation, allowed: Range): boolean | undefined {
  switch (relation) {
    case "<":
      return range.most < allowed.least ? true : range.least < allowed.most ? undefined : false;
    case "<=":
      return range.most <= allowed.least ? true : range.least <= allowed.most ? undefined : false;
    case ">=":
      return compareRange(allowed, "<=", range);
    case ">":
      return compareRange(allowed, "<", range);
    case "=": {
      const isOne = range.least === range.most && allowed.least === allowed.most;
      if (isOne) return range.least === allowed.least;
      return range.most < allowed.least || range.least > allowed.most ? false : undefined;
    }
    default:
      throw new RangeError(`no such relation: ${relation satisfies never}`);
  }
}

/** The figures that findings are made of. */
export const FOUND_FIGURES: readonly Figure[] = FIGURES.filter(
  (figure) => figure !== "lines" && figure !== "accesses" && figure !== "allocated",
);
