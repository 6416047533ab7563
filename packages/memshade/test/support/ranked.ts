import type { GroupBy } from "../../src/explain/analyses/groups.ts";
import { findMeasure, stacksOf } from "../../src/explain/measures/index.ts";
import type { Measure, MeasuredProfiles } from "../../src/explain/measures/measure.ts";
import { insidePlace, placePath } from "../../src/explain/measures/measured-stacks.ts";
import { type Order, type Ranking, rankMeasure } from "../../src/explain/measures/ranking.ts";
import { topJson } from "../../src/show/report/json/top.ts";
import { createPaint } from "../../src/show/report/terminal/common/paint.ts";
import { topTable } from "../../src/show/report/terminal/common/top-table.ts";

export interface Asked {
  readonly by: string;
  readonly group?: GroupBy;
  readonly order?: Order;
  readonly rows?: number;
  readonly isWide?: boolean;
}

function rankingOf(profiles: MeasuredProfiles, { by, group, order }: Asked): Ranking | undefined {
  return rankMeasure(findMeasure(by, "top") as Measure, profiles, group, order);
}

/** The table that `memshade top` prints; undefined if the run does not have the measure. */
export function topOf(profiles: MeasuredProfiles, asked: Asked): string | undefined {
  const { rows = 20, isWide = false } = asked;
  const ranking = rankingOf(profiles, asked);
  return ranking && topTable(ranking, profiles, { paint: createPaint(false), width: 80, isWide, rows });
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
export function topJsonOf(profiles: MeasuredProfiles, asked: Asked): any {
  const ranking = rankingOf(profiles, asked);
  return ranking && JSON.parse(topJson(ranking, profiles, { input: "run", rows: asked.rows ?? 20 }));
}

/** `f1 < f2`, 4: sites with their amounts, and with their callers where these distinguish them. */
export function ranked(
  profiles: MeasuredProfiles,
  asked: Asked,
): [place: string, amount: number][] | undefined {
  const ranking = rankingOf(profiles, asked);
  if (ranking === undefined) return undefined;
  const stacks = stacksOf(ranking.measure.tool, profiles)!;
  return ranking.ranked.map((group) => {
    const row = ranking.groups.rows[group]![0]!;
    const path = placePath(stacks, row).slice(0, asked.group === "path" ? undefined : 1);
    const via = insidePlace(stacks, row).at(-1)?.function;
    const words = path.map((frame) => (frame.isWord ? `[${frame.function}]` : frame.function));
    return [`${words.join(" < ") || "?"}${via === undefined ? "" : ` via ${via}`}`, ranking.values[group]!];
  });
}
