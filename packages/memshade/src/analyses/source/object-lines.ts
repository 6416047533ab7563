import type { ObjectsProfile } from "../../model/objects/objects.ts";
import { OBJECT_METRICS, objectPlaces } from "../call-tree/object-stacks.ts";
import { SourceSums, type SourceTable } from "./source-table.ts";

/** The source lines of the program's own that make objects. */
export function objectLines(profile: ObjectsProfile): SourceTable {
  const columns = OBJECT_METRICS.filter(({ key }) => key !== "in-use" || profile.sampleBytes > 0);
  const sums = new SourceSums(
    "objects",
    columns.map(({ key, head, unit }) => ({ key, head, unit: unit === "bytes" ? "bytes" : "count" })),
  );
  for (const { path, values } of objectPlaces(profile))
    sums.add(
      path[0] ?? {},
      Object.fromEntries(columns.map(({ key }, index) => [key, Math.round(values[index]!)])),
    );
  return sums.byPart();
}
