import type { InstanceWorkingSet, WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import type { GroupBy } from "../groups.ts";
import type { RankedPlace, WorkingSetRanking } from "./ranked-place.ts";

/** What functions are ranked by that intervals ended in. */
export const INTERVAL_KEYS = ["lines", "new", "fill"] as const;
export type IntervalKey = (typeof INTERVAL_KEYS)[number];

/** Lines and bytes of all intervals that ended in a place. */
interface Sums {
  place: RankedPlace;
  intervals: number;
  lines: number;
  largest: number;
  fresh: number;
  bytes: number;
}

/**
 * Functions that intervals ended in, or call paths: by their largest working set, by the lines that had never been touched
 * before, or by the bytes of their lines that were not touched. Undefined where the run has not what the key needs.
 */
export function rankIntervals(
  { instances, lineBytes }: WorkingSetProfile,
  by: IntervalKey,
  group: GroupBy,
): WorkingSetRanking | undefined {
  const known = by === "fill" ? instances.filter(({ fill }) => fill !== undefined) : instances;
  if (known.length === 0 && instances.length > 0) return undefined;
  const sums = [...sumsByPlace(known, group).values()];
  const places = sums.map(({ place, intervals, lines, largest, fresh, bytes }) => {
    const mean = lines / intervals;
    if (by === "lines") return { ...place, value: largest, intervals, mean };
    if (by === "new") return { ...place, value: fresh, intervals, mean };
    const fill = lines === 0 ? 1 : bytes / (lines * lineBytes);
    return { ...place, value: (lines * lineBytes - bytes) / intervals, intervals, fill };
  });
  const total = by === "new" ? sums.reduce((sum, { fresh }) => sum + fresh, 0) : undefined;
  return { places, total, cacheBytes: undefined };
}

function sumsByPlace(instances: readonly InstanceWorkingSet[], group: GroupBy): Map<string, Sums> {
  const byPlace = new Map<string, Sums>();
  for (const { module, levels, stackOf, stacks, fill } of instances)
    levels[0].counts.lines?.forEach((lines, interval) => {
      const stack = stacks[stackOf[interval]] ?? [];
      const own = fromOwn(stack);
      const [frame, ...callers] = own.stack;
      const path = stack.map(({ function: index, offset }) => `${index}+${offset}`);
      const key = `${module} ${group === "path" ? path.join(" ") : (frame?.function ?? "")}`;
      let sums = byPlace.get(key);
      if (sums === undefined) {
        const place = { module, frame, file: undefined, line: undefined, value: 0 };
        sums = {
          place: group === "path" ? { ...place, via: own.via, callers } : place,
          intervals: 0,
          lines: 0,
          largest: 0,
          fresh: 0,
          bytes: 0,
        };
        byPlace.set(key, sums);
      }
      sums.intervals++;
      sums.lines += lines;
      sums.largest = Math.max(sums.largest, lines);
      sums.fresh += levels[0].fresh[interval];
      sums.bytes += fill?.levels[0].bytes[interval] ?? 0;
    });
  return byPlace;
}
