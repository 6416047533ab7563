import { entryOf } from "../../ground/bytes/entries.ts";
import { UserError } from "../../ground/bytes/errors.ts";
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
import type {
  Attribution,
  InstanceWorkingSet,
  WorkingSetProfile,
} from "../../profile/model/working-set/working-set.ts";
import { areAccessesCut } from "../analyses/granule-accesses.ts";
import { isUseKnown, whyHeapUnknown } from "../analyses/heap.ts";
import { likeIt, nearest } from "../analyses/nearest-words.ts";
import { findsAnything, type RecordedTools } from "../analyses/recorded-tools.ts";
import { heapTotals } from "../analyses/totals.ts";
import type { FindingKind, FindingSource } from "../findings/finding-kind.ts";
import { type Finding, KINDS } from "../findings/index.ts";
import { runFindings } from "../findings/run-findings.ts";
import { MEASURES, measure, stacksOf, wordsOf } from "../measures/index.ts";
import type { Measure } from "../measures/measure.ts";
import type { Relation } from "./limit.ts";
import { added, type Chosen, type LimitMeasure, type Measured, type PlaceAmount } from "./measure.ts";
import { findingPlace, placesOfRows, workingSetPlace } from "./measured-place.ts";

export interface Range {
  readonly least: number;
  readonly most: number;
}

export interface RunFacts {
  readonly end?: RunEnd | undefined;
  readonly bounds?: readonly Bound[] | undefined;
}

/** Returns the figures of a run that are not exact counts, and the reasons. */
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
          `the table of live blocks was full, ${counted(blocks, "block is", "blocks are")} missing`,
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
            `${counted(unplaced, "allocation belongs", "allocations belong")} to no site`,
          ),
        ]
      : []),
    ...(isUncounted ? unseenBounds("accesses of some modules were not counted", ["accesses", "unused"]) : []),
    ...(areAccessesCut(heap)
      ? [
          {
            figures: ["accesses"] as const,
            are: "least" as const,
            because: "some access counters were full",
          },
        ]
      : []),
    ...heap.modules.flatMap(({ name, allocator }) => {
      if (allocator?.refused !== undefined)
        return unseenBounds(`the blocks of ${name} were not recorded`, BLOCK_FIGURES);
      if (allocator?.confirmed !== false) return [];
      return [
        {
          figures: BLOCK_FIGURES,
          are: "either",
          because: `the functions taken for the allocator of ${name} did not behave like one`,
        } as const,
      ];
    }),
  ];
}

/**
 * Returns the bounds of an abnormal end. A profile taken during the run describes the requested moment and has none.
 */
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

export function rangeOf(value: number, { unit }: LimitMeasure, bounds: readonly Bound[]): Range {
  // The divisor of a quotient is inexact too.
  const isQuotient = unit === "accessesPerByte" || unit === "clock" || unit === "part";
  const has = (kind: Bound["are"]) =>
    bounds.some(({ are }) => are === kind || are === "either" || isQuotient);
  return { least: has("most") ? 0 : value, most: has("least") ? Number.POSITIVE_INFINITY : value };
}

/** Compares all values of two ranges; undefined if the comparison holds only for some of them. */
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
  }
}

const FOUND_FIGURES: readonly Figure[] = FIGURES.filter(
  (figure) => figure !== "lines" && figure !== "accesses" && figure !== "allocated",
);

const NEEDS: { readonly [Source in FindingSource]: string } = {
  heap: "a run with --tool heap or alloc",
  use: "a run with --tool heap",
  statics: "a run with --tool heap, of a module whose data has fixed addresses",
  waste: "a run with --tool waste",
  objects: "a run of a module with garbage-collected objects, recorded with --tool objects",
};

const cache = new WeakMap<RecordedTools, readonly Finding[]>();

function findingsOf(run: RecordedTools): readonly Finding[] {
  return entryOf(cache, run, () => (findsAnything(run) ? runFindings(run, Number.POSITIVE_INFINITY) : []));
}

const OF_BLOCKS: readonly FindingSource[] = ["heap", "use"];

function hasSource(run: RecordedTools, source: FindingSource): boolean {
  return source === "use" ? run.heap !== undefined && isUseKnown(run.heap) : run[source] !== undefined;
}

type Kind = Pick<FindingKind, "kind" | "sources">;

/** Counts the findings of some kinds, one each. */
function ofKinds(kinds: readonly Kind[]): LimitMeasure["measure"] {
  return (run, chosen) => {
    if (!kinds.some(({ sources }) => sources.some((source) => hasSource(run, source)))) return undefined;
    const places = findingsOf(run)
      .filter((finding) => kinds.some(({ kind }) => kind === finding.kind))
      .map((finding) => ({ place: findingPlace(finding), amount: 1 }));
    return added(places, chosen);
  };
}

/** Returns why findings are unknown. Kinds that another tool also finds are known without the heap. */
function unknownOf(kinds: readonly Kind[]): LimitMeasure["unknown"] {
  const sources = [...new Set(kinds.flatMap(({ sources }) => sources))];
  const otherSources = sources.filter((source) => !OF_BLOCKS.includes(source));
  return (run) =>
    otherSources.length < sources.length && !otherSources.some((source) => hasSource(run, source))
      ? whyHeapUnknown(run)
      : undefined;
}

/** Returns `findings`, and a measure for each kind of finding, unless its word is taken. */
function findingMeasures(taken: ReadonlySet<string>): LimitMeasure[] {
  return [
    {
      id: "findings",
      also: [],
      figures: FOUND_FIGURES,
      tool: "findings",
      unit: "findings",
      meaning: "what a report's summary tells, all of it; [kind=WORD] for one kind",
      needs: "a run with --tool heap, alloc, waste or objects",
      unknown: unknownOf(KINDS),
      measure: ofKinds(KINDS),
    },
    ...KINDS.filter(({ kind }) => !taken.has(kind)).map(
      (findingKind): LimitMeasure => ({
        id: findingKind.kind,
        also: [],
        figures: FOUND_FIGURES,
        tool: "findings",
        unit: "findings",
        meaning: `findings of the kind ${findingKind.kind} (memshade explain ${findingKind.kind})`,
        needs: [NEEDS[findingKind.sources[0]!], ...findingKind.sources.slice(1)].join(" or "),
        unknown: unknownOf([findingKind]),
        measure: ofKinds([findingKind]),
      }),
    ),
  ];
}

/** Measures whose places do not come from rows, by word. */
const OWN_PLACES: Readonly<Record<string, LimitMeasure["measure"] | undefined>> = {
  workingset: largestInterval,
};

const OF_TOOLS: readonly LimitMeasure[] = MEASURES.map((declared) => ({
  ...declared,
  also: wordsOf(declared, "check").slice(1),
  measure: OWN_PLACES[declared.id] ?? ((run, chosen) => measured(declared, run, chosen)),
}));

export const LIMIT_MEASURES: readonly LimitMeasure[] = [
  ...OF_TOOLS,
  ...findingMeasures(new Set(OF_TOOLS.flatMap(({ id, also }) => [id, ...also]))),
];

export function limitMeasure(word: string): LimitMeasure {
  const found = LIMIT_MEASURES.find(({ id, also }) => id === word || also.includes(word));
  if (found !== undefined) return found;
  const names = LIMIT_MEASURES.flatMap(({ id, also }) => [id, ...also].map((name) => ({ word: name, name })));
  throw new UserError(
    `"${word}" is no measure${likeIt(nearest(word, names).slice(0, 3))}; memshade check --list has all of them`,
  );
}

function measured(
  { tool, unit, combine, column }: Measure,
  run: RecordedTools,
  chosen: Chosen,
): Measured | undefined {
  if (typeof combine === "object") {
    const [over, under] = [combine.of, combine.by].map((id) => measured(measure(id), run, chosen));
    if (over === undefined || under === undefined) return undefined;
    const ratio = (dividend: number, divisor: number) =>
      divisor === 0 ? 0 : combine.isRest === true ? 1 - dividend / divisor : dividend / divisor;
    return {
      amount: ratio(over.amount, under.amount),
      places: over.places.map(({ place, amount }, index) => ({
        place,
        amount: ratio(amount, under.places[index]!.amount),
      })),
    };
  }
  const [stacks, amounts] = [stacksOf(tool, run), column(run)];
  if (stacks === undefined || amounts === undefined) return undefined;
  if (chosen !== undefined && amounts.isUnplaced === true) return undefined;
  // Estimates and shares are fractional. Only a clock may have parts of its unit.
  const whole = unit === "clock" ? (amount: number) => amount : Math.round;
  const places = placesOfRows(stacks).map((place, row) => ({ place, amount: Number(amounts.amounts[row]) }));
  const total = added(places, chosen, amounts.rest);
  return {
    amount: whole(total.amount),
    places: total.places.map(({ place, amount }) => ({ place, amount: whole(amount) })),
    isLowerBound: amounts.isLowerBound,
  };
}

/** Returns the bytes of the largest interval; for chosen places, of the interval in which their blocks have most. */
function largestInterval({ workingset }: RecordedTools, chosen: Chosen): Measured | undefined {
  if (workingset === undefined) return undefined;
  const found = workingset.instances.map((instance) =>
    chosen === undefined
      ? wholeInterval(workingset, instance)
      : ownersOfInterval(workingset, instance, chosen),
  );
  if (found.some((measured) => measured === undefined)) return undefined;
  return found.reduce(
    (most, measured) => (most === undefined || measured!.amount > most.amount ? measured : most),
    undefined,
  );
}

/** Returns the largest interval, and the owners of its lines or the place at its end. */
function wholeInterval(profile: WorkingSetProfile, instance: InstanceWorkingSet): Measured | undefined {
  const { lineBytes, modules } = profile;
  const lines = instance.levels[0]?.counts.lines;
  if (lines === undefined) return undefined;
  const largest = lines.reduce((best, count, interval) => (count > lines[best]! ? interval : best), 0);
  const amount = (lines[largest] ?? 0) * lineBytes;
  const owners = instance.owners && placesOfInterval(profile, instance, instance.owners, largest);
  if (owners !== undefined && owners.length > 0) return { amount, places: owners };
  const stack = instance.stacks[instance.stackOf[largest] ?? -1] ?? [];
  return { amount, places: [], at: workingSetPlace(stack, modules[instance.module]?.name) };
}

function ownersOfInterval(
  profile: WorkingSetProfile,
  instance: InstanceWorkingSet,
  chosen: NonNullable<Chosen>,
): Measured | undefined {
  const { owners } = instance;
  if (owners === undefined) return undefined;
  const intervals = owners.levels.find(({ factor }) => factor === 1)?.intervals ?? [];
  const intervalBytes = intervals.map((_, interval) =>
    added(placesOfInterval(profile, instance, owners, interval), chosen),
  );
  return intervalBytes.reduce((most, measured) => (measured.amount > most.amount ? measured : most), {
    amount: 0,
    places: [],
  });
}

function placesOfInterval(
  { lineBytes, modules }: WorkingSetProfile,
  { module }: InstanceWorkingSet,
  { contexts, levels }: Attribution,
  interval: number,
): PlaceAmount[] {
  const entries = levels.find(({ factor }) => factor === 1)?.intervals[interval] ?? [];
  return entries.map(([context, lines]) => ({
    place: workingSetPlace(contexts[context]!.stack, modules[module]?.name),
    amount: lines * lineBytes,
  }));
}
