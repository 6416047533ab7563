import type { GroupBy } from "../../analyses/groups.ts";
import { rankWorkingSet, type WorkingSetKey } from "../../analyses/working-set/rank.ts";
import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";

export interface WorkingSetTopOptions {
  readonly input: string;
  readonly by: WorkingSetKey;
  readonly order: "largest" | "smallest";
  readonly rows: number;
  readonly group?: GroupBy | undefined;
}

/**
 * A ranking of a working set or its locality as JSON (docs/report-json.md).
 *
 * @returns undefined where the run has not what the key needs
 */
export function workingSetTopJson(
  profile: WorkingSetProfile,
  options: WorkingSetTopOptions,
): string | undefined {
  const { input, by, order, rows, group = "site" } = options;
  const ranking = rankWorkingSet(profile, by, order, group);
  if (ranking === undefined) return undefined;
  const { places, total, cacheBytes } = ranking;
  const document = {
    schema: "memshade-working-set-top",
    version: 1,
    input,
    by,
    group,
    unit: by === "misses" || by === "cold" ? "references" : by === "fill" ? "bytes" : "lines",
    order,
    lineBytes: profile.lineBytes,
    cacheBytes: by === "misses" ? cacheBytes : null,
    notTracked: profile.notTracked,
    total: total ?? null,
    rows: places.slice(0, rows).map(({ module, frame, file, line, value, callers, ...counts }) => ({
      value,
      part: total === undefined || total === 0 ? null : value / total,
      module: profile.modules[module]?.name ?? null,
      function: frame?.name ?? null,
      index: frame?.function ?? null,
      offset: frame?.offset ?? null,
      file: file ?? null,
      line: line ?? null,
      ...(callers === undefined ? {} : { callers }),
      ...counts,
    })),
    rowsOmitted: Math.max(0, places.length - rows),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
