import type { GroupBy } from "../../analyses/groups.ts";
import { type ObjectKey, rankObjects } from "../../analyses/objects/rank.ts";
import type { ObjectsProfile } from "../../model/objects/objects.ts";
import { jsonText } from "./text.ts";

/** A ranking of places that make garbage-collected objects as JSON (docs/report-json.md). */
export function objectsTopJson(
  profile: ObjectsProfile,
  options: {
    readonly input: string;
    readonly by: ObjectKey;
    readonly order: "largest" | "smallest";
    readonly rows: number;
    readonly group: GroupBy;
  },
): string {
  const { input, by, order, rows, group } = options;
  const places = rankObjects(profile, by, order, group);
  return jsonText({
    schema: "memshade-objects-top",
    version: 1,
    ...{ input, by, group, order },
    unit: by === "objects" ? "objects" : "bytes",
    sizes: profile.sizes,
    notTracked: profile.notTracked,
    rows: places.slice(0, rows).map(({ frame, callers, type, values }) => ({
      bytes: Math.round(values["object-bytes"]),
      objects: Math.round(values.objects),
      inUse: profile.sampleBytes > 0 ? Math.round(values["in-use"]) : null,
      type: type ?? null,
      function: frame?.function ?? null,
      module: frame?.module ?? null,
      file: frame?.file ?? null,
      line: frame?.line ?? null,
      ...(group === "path" ? { callers } : {}),
    })),
    rowsOmitted: Math.max(0, places.length - rows),
  });
}
