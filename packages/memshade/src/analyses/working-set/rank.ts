import type { LocalityRecord, StackFrame, WorkingSetProfile } from "../../model/working-set.ts";

/** What places are ranked by. */
export const WORKING_SET_KEYS = ["lines", "misses", "cold"] as const;
export type WorkingSetKey = (typeof WORKING_SET_KEYS)[number];

/** A function whose intervals are large, or an instruction that misses. */
export interface RankedPlace {
  /** Index of the module. */
  module: number;
  /** Undefined: not known, or bulk instructions. */
  frame: StackFrame | undefined;
  file: string | undefined;
  line: number | undefined;
  /** Lines of the largest interval, or misses of the whole run. */
  value: number;
  /** Lines: intervals that ended in the function, and their mean. */
  intervals?: number;
  mean?: number;
  /** Misses: references that were followed, as an estimate for the whole run. */
  references?: number;
}

export interface WorkingSetRanking {
  places: RankedPlace[];
  /** Sum over all places, where they add up. */
  total: number | undefined;
  /** Misses: size of the cache. */
  cacheBytes: number | undefined;
}

/**
 * Places by the working sets of intervals that ended in them (`lines`), by misses of a cache, or by first references.
 * Undefined where the run has no locality and the key needs it.
 */
export function rankWorkingSet(
  profile: WorkingSetProfile,
  by: WorkingSetKey,
  order: "largest" | "smallest",
): WorkingSetRanking | undefined {
  const ranking = by === "lines" ? rankFunctions(profile) : rankInstructions(profile, by);
  if (ranking === undefined) return undefined;
  const sign = order === "largest" ? 1 : -1;
  const places = ranking.places
    .filter(({ value }) => value > 0)
    .sort((a, b) => sign * (b.value - a.value) || (a.frame?.offset ?? -1) - (b.frame?.offset ?? -1));
  return { ...ranking, places };
}

function rankFunctions({ instances }: WorkingSetProfile): WorkingSetRanking {
  const byFunction = new Map<string, RankedPlace & { intervals: number; mean: number }>();
  for (const { module, levels, stackOf, stacks } of instances)
    levels[0].counts.lines?.forEach((lines, interval) => {
      const frame = stacks[stackOf[interval]]?.[0];
      const key = `${module} ${frame?.function ?? ""}`;
      const place = byFunction.get(key) ?? {
        module,
        frame,
        file: undefined,
        line: undefined,
        value: 0,
        intervals: 0,
        mean: 0,
      };
      byFunction.set(key, place);
      place.value = Math.max(place.value, lines);
      place.intervals++;
      place.mean += (lines - place.mean) / place.intervals;
    });
  return { places: [...byFunction.values()], total: undefined, cacheBytes: undefined };
}

function rankInstructions(
  { instances, lineBytes }: WorkingSetProfile,
  by: "misses" | "cold",
): WorkingSetRanking | undefined {
  const bySite = new Map<string, RankedPlace & { references: number }>();
  let total = 0;
  let known: LocalityRecord | undefined;
  for (const { module, locality } of instances) {
    if (locality === undefined) continue;
    known = locality;
    const { rate, sites, otherSites, cold } = locality;
    total +=
      (by === "cold" ? cold : sites.reduce((sum, { misses }) => sum + misses, otherSites.misses)) / rate;
    for (const { frame, file, line, ...counts } of sites) {
      const key = `${module} ${frame?.offset ?? ""}`;
      const place = bySite.get(key) ?? { module, frame, file, line, value: 0, references: 0 };
      bySite.set(key, place);
      place.value += counts[by] / rate;
      place.references += counts.references / rate;
    }
  }
  if (known === undefined) return undefined;
  return { places: [...bySite.values()], total, cacheBytes: known.sitesAtLines * lineBytes };
}
