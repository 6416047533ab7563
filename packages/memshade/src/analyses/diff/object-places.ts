import type { ObjectsProfile } from "../../model/objects/objects.ts";
import { OBJECT_METRICS, objectPlaces } from "../call-tree/object-stacks.ts";
import type { GroupBy } from "../groups.ts";
import { type PlaceMetric, PlaceSums, type PlaceTable } from "./place-diff.ts";

export const OBJECT_DIFF_KEYS = OBJECT_METRICS.map(({ key }) => key);

/** The places of runs at which objects are made. Bytes are compared where the sizes of both come from one model. */
export function objectTables(profiles: readonly ObjectsProfile[], group: GroupBy): PlaceTable[] {
  const areSizesAlike = new Set(profiles.map(({ sizes }) => JSON.stringify(sizes))).size === 1;
  const areSampled = profiles.every(({ sampleBytes }) => sampleBytes > 0);
  const isComparable = ({ key }: { key: string }) =>
    key === "objects" || (areSizesAlike && (key !== "in-use" || areSampled));
  const metrics = OBJECT_METRICS.map(
    (metric): PlaceMetric => ({
      ...metric,
      unit: metric.unit === "bytes" ? "bytes" : "count",
      combine: "sum",
    }),
  );
  return profiles.map((profile) => {
    const sums = new PlaceSums("objects", metrics.filter(isComparable), group);
    for (const { path, values } of objectPlaces(profile))
      sums.add(path, Object.fromEntries(OBJECT_METRICS.map(({ key }, index) => [key, values[index]!])));
    const table = sums.table();
    // Call paths have parts of what their context made, which are whole numbers together alone.
    const places = table.places.map((place) => ({ ...place, values: place.values.map(Math.round) }));
    return { ...table, places };
  });
}
