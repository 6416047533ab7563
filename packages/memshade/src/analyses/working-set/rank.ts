import type {
  AttributionKind,
  LocalityRecord,
  StackFrame,
  WorkingSetProfile,
} from "../../model/working-set.ts";
import { attributedPlaces } from "./attributed-places.ts";

/** What places are ranked by. */
export const WORKING_SET_KEYS = ["lines", "first-touch", "share", "misses", "cold"] as const;
export type WorkingSetKey = (typeof WORKING_SET_KEYS)[number];

/** A function whose intervals are large, or an instruction that misses. */
export interface RankedPlace {
  /** Index of the module. */
  module: number;
  /** Undefined: no code, or bulk instructions. */
  frame: StackFrame | undefined;
  /** First touches and shares: what it is, and the calls that led there, innermost first. */
  kind?: AttributionKind;
  callers?: StackFrame[];
  file: string | undefined;
  line: number | undefined;
  /**
   * Lines of the largest interval, or that it was the first to touch in the whole run, or of blocks that it allocated in an
   * interval on average; misses of the whole run.
   */
  value: number;
  /** Lines: intervals that ended in the function, and their mean. */
  intervals?: number;
  /** Lines per interval on average. */
  mean?: number;
  /** Shares: lines of the whole run. */
  total?: number;
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
 * Places by the working sets of intervals that ended in them (`lines`), by the lines that they touched first or whose
 * blocks they allocated, by misses of a cache, or by first references. Undefined where the run has not what the key needs.
 */
export function rankWorkingSet(
  profile: WorkingSetProfile,
  by: WorkingSetKey,
  order: "largest" | "smallest",
): WorkingSetRanking | undefined {
  const ranking =
    by === "lines"
      ? rankFunctions(profile)
      : by === "first-touch" || by === "share"
        ? rankAttributed(profile, by)
        : rankInstructions(profile, by);
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

function rankAttributed(
  { instances }: WorkingSetProfile,
  by: "first-touch" | "share",
): WorkingSetRanking | undefined {
  const measure = by === "share" ? "mean" : "total";
  const places: RankedPlace[] = [];
  let isKnown = false;
  for (const { module, firstTouch, owners } of instances) {
    const attribution = by === "share" ? owners : firstTouch;
    if (attribution === undefined) continue;
    isKnown = true;
    for (const place of attributedPlaces(attribution, by === "share" ? "owners" : "firstTouch")) {
      const { kind, stack, total, mean } = place;
      const [frame, ...callers] = stack;
      const { file, line } = frame ?? {};
      const figures = by === "share" ? { total } : { mean };
      places.push({ module, frame, kind, callers, file, line, value: place[measure], ...figures });
    }
  }
  if (!isKnown) return undefined;
  const total = places.reduce((sum, { value }) => sum + value, 0);
  return { places, total, cacheBytes: undefined };
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
