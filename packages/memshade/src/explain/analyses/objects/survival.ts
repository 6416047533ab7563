import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { ModuleObjects } from "../../../profile/model/objects.ts";

/** What is estimated of objects in use, by those that were followed. */
export interface Survival {
  readonly objects: number;
  readonly bytes: number;
  /** Standard error of the bytes. */
  readonly error: number;
  /** Objects that the estimate is made of. */
  readonly followed: number;
  /** Bytes by age: the part of them that is younger than each bound of {@link AGE_BOUNDS}, and not than the one before; the last is older. */
  readonly ages: readonly number[];
}

const MIB = 2 ** 20;

/** Ages are bytes that were allocated since. */
export const AGE_BOUNDS: readonly number[] = [MIB, 16 * MIB, 256 * MIB];

interface Sums {
  objects: number;
  bytes: number;
  variance: number;
  followed: number;
  ages: number[];
}

/** What is in use, by the key of each sample; undefined keys are left out. */
export function survivalBy<Key>(
  { samples }: ModuleObjects,
  keyOf: (sample: number) => Key | undefined,
): Map<Key, Survival> {
  const found = new Map<Key, Sums>();
  samples.site.forEach((_, sample) => {
    if (samples.death[sample]! >= 0 || samples.unknown[sample]!) return;
    const key = keyOf(sample);
    if (key === undefined) return;
    let sums = found.get(key);
    if (sums === undefined) {
      sums = { objects: 0, bytes: 0, variance: 0, followed: 0, ages: [...AGE_BOUNDS, 0].map(() => 0) };
      found.set(key, sums);
    }
    const [size, weight] = [samples.size[sample]!, samples.weight[sample]!];
    const age = samples.now[sample]! - samples.birth[sample]!;
    const bound = AGE_BOUNDS.findIndex((most) => age < most);
    sums.objects += weight;
    sums.bytes += weight * size;
    // Of an estimate that weighs what was chosen with one over its probability.
    sums.variance += weight * (weight - 1) * size * size;
    sums.followed++;
    sums.ages[bound < 0 ? AGE_BOUNDS.length : bound]! += weight * size;
  });
  return new Map(
    [...found].map(([key, { variance, ...sums }]) => [
      key,
      { ...sums, error: Math.sqrt(Math.max(0, variance)) },
    ]),
  );
}

/** With no object of those that were followed in use, no more than so many are missed but once in twenty times. */
const MOST_MISSED = 3;

/** What is in use of all of a module's objects; undefined where nothing was followed. */
export function wholeSurvival(part: ModuleObjects): Survival | undefined {
  const { size, weight } = part.samples;
  if (size.length === 0) return undefined;
  const found = survivalBy(part, () => 0).get(0);
  if (found !== undefined) return found;
  const largest = size.reduce((most, bytes, sample) => Math.max(most, bytes * weight[sample]!), 0);
  const ages = [...AGE_BOUNDS, 0].map(() => 0);
  return { objects: 0, bytes: 0, error: MOST_MISSED * largest, followed: 0, ages };
}

/** Deaths that are seen at the very end say nothing of when they were: most must be seen before. */
const LEAST_SEEN = 0.5;

/**
 * Estimated bytes in use at times in ascending order, which are bytes that were allocated. Undefined where the engine had no pause to tell what is
 * gone: it does between the tasks of a program, and not inside of one.
 */
export function liveAt({ samples }: ModuleObjects, times: readonly number[]): number[] | undefined {
  const dead = samples.death.filter((death) => death >= 0);
  if (dead.length === 0 && !samples.settled) return undefined;
  const isSeen = (death: number, sample: number) => death >= 0 && death < samples.now[sample]!;
  if (samples.site.length === 0 || samples.death.filter(isSeen).length < dead.length * LEAST_SEEN)
    return undefined;
  const changes = new Array<number>(times.length + 1).fill(0);
  const stepOf = (at: number): number => partitionPoint(0, times.length, (step) => times[step]! < at);
  samples.site.forEach((_, sample) => {
    const bytes = samples.size[sample]! * samples.weight[sample]!;
    changes[stepOf(samples.birth[sample]!)]! += bytes;
    if (samples.death[sample]! >= 0) changes[stepOf(samples.death[sample]!)]! -= bytes;
  });
  let live = 0;
  return changes.slice(0, times.length).map((change) => {
    live += change;
    return Math.max(0, live);
  });
}

/** The ends of equal stretches of all that was allocated. */
export function equalStretches({ samples }: ModuleObjects, count: number): number[] {
  const end = samples.now.reduce((most, now) => Math.max(most, now), 0);
  return Array.from({ length: count }, (_, step) => ((step + 1) * end) / count);
}
