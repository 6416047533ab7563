import { groupContexts } from "../../../explain/analyses/groups.ts";
import type { PairRow } from "../../../explain/analyses/waste.ts";
import { gapsOfTool, stacksOf } from "../../../explain/measures/index.ts";
import type { MeasuredProfiles } from "../../../explain/measures/measure.ts";
import {
  insidePlace,
  type MeasuredFrame,
  type MeasuredTool,
  placePath,
} from "../../../explain/measures/measured-stacks.ts";
import type { Ranking } from "../../../explain/measures/ranking.ts";
import { firstRowOf } from "../../../explain/measures/waste.ts";
import { createSiteWriter } from "./sites.ts";
import { staticObjectJson } from "./static-data.ts";
import { jsonText } from "./text.ts";

export const TOP_SCHEMA = "memshade-top";
export const TOP_VERSION = 2;

/** Formats a ranking as JSON (docs/report-json.md). */
export function topJson(
  { measure, order, groups, ranked, values, rest, total, beside }: Ranking,
  profiles: MeasuredProfiles,
  { input, rows }: { readonly input: string; readonly rows: number },
): string {
  const { id, tool, unit, isEstimate, combine, column } = measure;
  const stacks = stacksOf(tool, profiles)!;
  const { clock } = stacks;
  const shown = ranked.slice(0, rows);
  const moreOf = DETAILS[tool]?.(profiles, groups);
  return jsonText({
    schema: TOP_SCHEMA,
    version: TOP_VERSION,
    input,
    tool,
    by: id,
    unit: unit === "clock" ? clock?.unit : unit,
    group: groups.by,
    order,
    clock,
    notTracked: [...gapsOfTool(tool, profiles), ...stacks.gaps],
    remark: measure.remark?.(profiles),
    total: total ?? null,
    rest: total === undefined ? null : rest,
    ...(isEstimate === true ? { isEstimate } : {}),
    ...(typeof combine === "string" && column(profiles)?.isLowerBound === true ? { atLeast: true } : {}),
    rows: shown.map((group) => {
      const [row] = groups.rows[group]!;
      const [own, ...callers] = placePath(stacks, row!);
      const via = insidePlace(stacks, row!).at(-1);
      return {
        value: values[group]!,
        part: total !== undefined && total > 0 ? values[group]! / total : null,
        beside: Object.fromEntries(beside.map((column) => [column.measure.id, column.values[group]!])),
        place: own === undefined ? null : frameJson(own, groups.by === "function"),
        ...(via === undefined || groups.by === "function" ? {} : { via: frameJson(via, false) }),
        ...(groups.by === "path" ? { callers: callers.map((frame) => frameJson(frame, false)) } : {}),
        ...moreOf?.(group),
      };
    }),
    rowsOmitted: ranked.length - shown.length,
  });
}

function frameJson(frame: MeasuredFrame, isFunction: boolean): object {
  const { function: name, module, library, isWord, file, line, column, address } = frame;
  const place = isFunction ? {} : { file, line, column, address };
  return { ...(isWord === true ? { word: name } : { function: name }), module, ...place, library };
}

/** Members that only rows of one tool have. */
const DETAILS: Readonly<
  Partial<
    Record<MeasuredTool, (profiles: MeasuredProfiles, groups: Ranking["groups"]) => (group: number) => object>
  >
> = {
  heap: ({ heap }, { by }) => createSiteWriter(heap!, groupContexts(heap!, by)),
  waste({ waste }, { rows }) {
    const first = firstRowOf(waste!, "loads");
    return (group) => {
      const loads = rows[group]!.flatMap((row) => waste!.loads[row - first] ?? []);
      const values = loads.flatMap((load) => load.values ?? []);
      return values.length === 0 ? {} : { values };
    };
  },
  objects(profiles, { by, rows }) {
    const labels = stacksOf("objects", profiles)!.labels!;
    return (group) => (by === "function" ? {} : { type: labels[rows[group]![0]!] });
  },
  statics:
    ({ statics }, { rows }) =>
    (group) =>
      staticObjectJson(statics!.objects[rows[group]![0]!]!),
};

/** Formats pairs of locations as JSON: the members of a ranking, with two locations per row. */
export function pairsJson(
  pairs: readonly PairRow[],
  { input, by, rows, notTracked }: { input: string; by: string; rows: number; notTracked: readonly string[] },
): string {
  return jsonText({
    schema: TOP_SCHEMA,
    version: TOP_VERSION,
    input,
    tool: "waste",
    by,
    unit: "bytes",
    group: "pair",
    order: "largest",
    notTracked,
    total: pairs.reduce((sum, { bytes }) => sum + bytes, 0),
    rest: 0,
    rows: pairs.slice(0, rows).map(({ bytes, share, ...pair }) => ({ value: bytes, part: share, ...pair })),
    rowsOmitted: Math.max(0, pairs.length - rows),
  });
}
