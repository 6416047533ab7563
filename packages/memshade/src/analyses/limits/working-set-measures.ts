import type {
  Attribution,
  InstanceWorkingSet,
  LocalityRecord,
  WorkingSetProfile,
} from "../../model/working-set/working-set.ts";
import type { RecordedTools } from "../findings/run-findings.ts";
import { added, type Chosen, type Measure, type Measured, type PlaceAmount } from "./measure.ts";
import { type MeasuredPlace, workingSetPlace } from "./measured-place.ts";

const WORKING_SET = "a run with --tool workingset (--tool heap,workingset records both)";
const WHO = "--who when it is recorded";

/** Bytes of the largest interval; of chosen places, of the interval in which their blocks have most. */
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

/** The largest interval, and who had its lines, or the place in which it ended. */
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
  const all = intervals.map((_, interval) =>
    added(placesOfInterval(profile, instance, owners, interval), chosen),
  );
  return all.reduce((most, measured) => (measured.amount > most.amount ? measured : most), {
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

/** Bytes of the lines of the whole run; by place, of those that it touched first. */
function touched({ workingset }: RecordedTools, chosen: Chosen): Measured | undefined {
  if (workingset === undefined) return undefined;
  const { instances, lineBytes, modules } = workingset;
  const isKnown = instances.every(({ total, firstTouch }) =>
    chosen === undefined ? total.lines !== undefined : firstTouch !== undefined,
  );
  if (!isKnown) return undefined;
  const places = instances.flatMap(({ module, firstTouch }) =>
    (firstTouch?.contexts ?? []).map(({ stack, total }) => ({
      place: workingSetPlace(stack, modules[module]?.name),
      amount: total * lineBytes,
    })),
  );
  const whole = instances.reduce((sum, { total }) => sum + (total.lines ?? 0) * lineBytes, 0);
  return added(places, chosen, whole);
}

function ofLocality(
  amountOf: (site: LocalityRecord["sites"][number]) => number,
  restOf: (record: LocalityRecord) => number,
): Measure["measure"] {
  return ({ workingset }, chosen) => {
    if (workingset === undefined) return undefined;
    const places: PlaceAmount[] = [];
    let whole = 0;
    let isKnown = false;
    for (const { module, locality } of workingset.instances) {
      if (locality === undefined) continue;
      isKnown = true;
      whole += restOf(locality) / locality.rate;
      for (const site of locality.sites) {
        const amount = amountOf(site) / locality.rate;
        places.push({ place: instructionPlace(site, workingset.modules[module]?.name), amount });
      }
    }
    const sum = places.reduce((total, { amount }) => total + amount, 0);
    return isKnown ? added(places, chosen, Math.round(sum + whole)) : undefined;
  };
}

function instructionPlace(
  { frame, file, line }: LocalityRecord["sites"][number],
  module: string | undefined,
): MeasuredPlace {
  return workingSetPlace(frame === undefined ? [] : [{ ...frame, file, line }], module);
}

function intervalsDiffer(older: RecordedTools, newer: RecordedTools): string | undefined {
  const lengths = ({ workingset }: RecordedTools) =>
    `${workingset?.unit} ${workingset?.instances.map(({ period }) => period).sort()}`;
  return lengths(older) === lengths(newer)
    ? undefined
    : "the intervals of the two runs have different lengths (--interval and --max-intervals set them)";
}

function cachesDiffer(older: RecordedTools, newer: RecordedTools): string | undefined {
  const cache = ({ workingset }: RecordedTools) => workingset?.options.locality?.cacheBytes;
  return cache(older) === cache(newer) ? undefined : "the two runs count misses of different caches";
}

export const WORKING_SET_MEASURES: readonly Measure[] = [
  {
    word: "workingset",
    tool: "workingset",
    unit: "bytes",
    what: "bytes of the cache lines that the largest interval touched",
    partOf: "touched",
    needs: WORKING_SET,
    needsForPlaces: WHO,
    differs: intervalsDiffer,
    measure: largestInterval,
  },
  {
    word: "touched",
    tool: "workingset",
    unit: "bytes",
    what: "bytes of all cache lines that the run touched; of a place, of those that it touched first",
    partOf: "touched",
    needs: WORKING_SET,
    needsForPlaces: WHO,
    measure: touched,
  },
  {
    word: "misses",
    tool: "workingset",
    unit: "misses",
    what: "misses of the cache that the run was recorded for",
    partOf: "misses",
    needs: `${WORKING_SET} and --locality`,
    differs: cachesDiffer,
    measure: ofLocality(
      ({ misses }) => misses,
      ({ otherSites }) => otherSites.misses,
    ),
  },
];
