import type { LocalityRecord, WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import type { GroupBy } from "../groups.ts";
import { type AttributedPlace, attributedPlaces } from "./attributed-places.ts";
import { INTERVAL_KEYS, type IntervalKey, rankIntervals } from "./rank-intervals.ts";
import type { RankedPlace, WorkingSetRanking } from "./ranked-place.ts";

/** What places are ranked by. */
export const WORKING_SET_KEYS = [...INTERVAL_KEYS, "first-touch", "share", "misses", "cold"] as const;
export type WorkingSetKey = (typeof WORKING_SET_KEYS)[number];

/**
 * Places by the working sets of intervals that ended in them, by the lines that they touched first or whose
 * blocks they allocated, by misses of a cache, or by first references. Undefined where the run has not what the key needs.
 *
 * `group`: places are functions, instructions and calls that allocate, or these with the calls that led there; misses are
 * not told apart by calls.
 */
export function rankWorkingSet(
  profile: WorkingSetProfile,
  by: WorkingSetKey,
  order: "largest" | "smallest",
  group: GroupBy = "site",
): WorkingSetRanking | undefined {
  const ranking = isIntervalKey(by)
    ? rankIntervals(profile, by, group)
    : by === "first-touch" || by === "share"
      ? rankAttributed(profile, by, group)
      : rankInstructions(profile, by, group);
  if (ranking === undefined) return undefined;
  const sign = order === "largest" ? 1 : -1;
  const places = ranking.places
    .filter(({ value }) => value > 0)
    .sort((a, b) => sign * (b.value - a.value) || (a.frame?.offset ?? -1) - (b.frame?.offset ?? -1));
  return { ...ranking, places };
}

function isIntervalKey(key: WorkingSetKey): key is IntervalKey {
  return (INTERVAL_KEYS as readonly string[]).includes(key);
}

function rankAttributed(
  { instances }: WorkingSetProfile,
  by: "first-touch" | "share",
  group: GroupBy,
): WorkingSetRanking | undefined {
  const measure = by === "share" ? "mean" : "total";
  const places: RankedPlace[] = [];
  let isKnown = false;
  for (const { module, firstTouch, owners } of instances) {
    const attribution = by === "share" ? owners : firstTouch;
    if (attribution === undefined) continue;
    isKnown = true;
    const all: AttributedPlace[] =
      group === "path"
        ? attribution.contexts
        : group === "function"
          ? byFunction(attribution.contexts)
          : attributedPlaces(attribution, by === "share" ? "owners" : "firstTouch");
    for (const place of all) {
      const { kind, of, stack, total, mean } = place;
      const own = fromOwn(stack);
      const [frame, ...callers] = own.stack;
      const { file, line } = frame ?? {};
      const figures = by === "share" ? { total } : { mean };
      const path = group === "function" ? {} : { callers };
      places.push({
        module,
        frame,
        via: own.via,
        kind,
        ...(of === undefined ? {} : { of }),
        ...path,
        file,
        line,
        value: place[measure],
        ...figures,
      });
    }
  }
  if (!isKnown) return undefined;
  const total = places.reduce((sum, { value }) => sum + value, 0);
  return { places, total, cacheBytes: undefined };
}

/** Whatever calls led there. */
function byFunction(contexts: readonly AttributedPlace[]): AttributedPlace[] {
  const functions = new Map<string, AttributedPlace>();
  for (const { kind, of, stack, total, mean } of contexts) {
    const [frame] = fromOwn(stack).stack;
    const key = `${kind} ${of} ${frame?.function}`;
    const known = functions.get(key);
    if (known === undefined)
      functions.set(key, {
        ...{ kind, of },
        stack:
          frame === undefined ? [] : [{ function: frame.function, name: frame.name, library: frame.library }],
        total,
        mean,
      });
    else {
      known.total += total;
      known.mean += mean;
    }
  }
  return [...functions.values()];
}

function rankInstructions(
  { instances, lineBytes }: WorkingSetProfile,
  by: "misses" | "cold",
  group: GroupBy,
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
      const isWhole = group === "function" && frame !== undefined;
      const key = `${module} ${(isWhole ? frame.function : frame?.offset) ?? ""}`;
      const place = bySite.get(key) ?? {
        module,
        ...(isWhole
          ? { frame: { function: frame.function, name: frame.name }, file: undefined, line: undefined }
          : { frame, file, line }),
        value: 0,
        references: 0,
      };
      bySite.set(key, place);
      place.value += counts[by] / rate;
      place.references += counts.references / rate;
    }
  }
  if (known === undefined) return undefined;
  return { places: [...bySite.values()], total, cacheBytes: known.sitesAtLines * lineBytes };
}
