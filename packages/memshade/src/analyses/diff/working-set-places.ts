import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { WORKING_SET_STACK_KEYS, workingSetPlaces } from "../call-tree/working-set-stacks.ts";
import type { GroupBy } from "../groups.ts";
import { type PlaceMetric, PlaceSums, type PlaceTable } from "./place-diff.ts";

const LINES: PlaceMetric = {
  ...{ key: "lines", title: "lines of the largest interval", head: "LINES", unit: "count" },
  combine: "most",
};

export const WORKING_SET_DIFF_KEYS = [LINES.key, ...WORKING_SET_STACK_KEYS];

/** The places of the working sets of runs. */
export function workingSetTables(profiles: readonly WorkingSetProfile[], group: GroupBy): PlaceTable[] {
  const areIntervalsAlike = new Set(profiles.map(lengths)).size === 1;
  const areCachesAlike = new Set(profiles.map(({ options }) => options.locality?.cacheBytes)).size === 1;
  const isComparable = (key: string) =>
    key === "misses" ? areCachesAlike : key !== "share" || areIntervalsAlike;
  return profiles.map((profile) => {
    const { metrics, places } = workingSetPlaces(profile, group);
    const sums = new PlaceSums(
      "workingset",
      [
        ...(areIntervalsAlike ? [LINES] : []),
        ...metrics
          .filter(({ key }) => isComparable(key))
          .map((metric): PlaceMetric => ({ ...metric, unit: "count", combine: "sum" })),
      ],
      group,
    );
    for (const { path, values } of places) sums.add(path, values);
    return sums.table();
  });
}

function lengths({ unit, instances }: WorkingSetProfile): string {
  return `${unit} ${instances.map(({ period }) => period).sort()}`;
}
