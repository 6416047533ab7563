import type {
  Attribution,
  InstanceWorkingSet,
  WorkingSetProfile,
} from "../../profile/model/working-set/working-set.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { added, type Chosen, type Measured, type PlaceAmount } from "./measure.ts";
import { workingSetPlace } from "./measured-place.ts";

/** Bytes of the largest interval; of chosen places, of the interval in which their blocks have most. */
export function largestInterval({ workingset }: RecordedTools, chosen: Chosen): Measured | undefined {
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
