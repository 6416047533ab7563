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
import type { Clock } from "../../../profile/model/run.ts";
import type { WasteValue } from "../../../profile/model/waste.ts";
import { createSiteWriter } from "./sites.ts";
import { staticObjectJson } from "./static-data.ts";
import { jsonText } from "./text.ts";

export const TOP_SCHEMA = "memshade-top";
export const TOP_VERSION = 2;

/** Ranking of call paths, sites or functions. */
interface TopJson {
  /** Name and version of the format. */
  schema: typeof TOP_SCHEMA;
  version: typeof TOP_VERSION;
  /** Run, as named on the command line. */
  input: string;
  /** Tool: "heap", "waste", "workingset", "objects", or "statics" for static data. */
  tool: MeasuredTool;
  /** Word of the [measure](glossary.md#measures), also if it was requested by another word; or "dead-pairs", "silent-pairs", "redundant-pairs". */
  by: string;
  /** Unit of `value`: "bytes", "blocks", "accesses", …, "accessesPerByte", "part" (0…1), or the clock's unit. */
  unit: string | undefined;
  /** Kind of the rows. "pair": two locations. */
  group: "path" | "site" | "function" | "pair";
  /** Order of the rows; "smallest" with `--reverse`. */
  order: "largest" | "smallest";
  /** Clock of the heap. */
  clock?: Clock | undefined;
  /** Sentences about everything that the profile does not cover. */
  notTracked: readonly string[];
  /** Sentence about the amounts of this run. */
  remark?: string | undefined;
  /** Amount of the whole run; null if values do not add up. */
  total: number | null;
  /** Part of the total that no row has. */
  rest: number | null;
  /** True if values are estimates. */
  isEstimate?: true;
  /** True if the true values may be larger. */
  atLeast?: true;
  /** Rows. Rows without any of the measure are left out. */
  rows: readonly (TopRowJson | PairJson)[];
  /** Number of rows left out by `-n`. */
  rowsOmitted: number;
}

/**
 * Row of a ranking. Rows of the heap also have the fields of a site. A path has its full `stack`. A site or a function has
 * the frames of the allocating location alone, including functions inlined there; its fields combine those of its call
 * paths as sums, minima and maxima; the four fields of the last block are those of the last call path. Rows of static data
 * also have the fields of a static object.
 */
interface TopRowJson {
  /** Amount, and its part of `total`, 0…1. */
  value: number;
  part: number | null;
  /** Other measures of the row, by their words: `dead-part`, `density` … */
  beside: { [word: string]: number };
  /** Program's own frame; null if unknown. */
  place: TopFrameJson | null;
  /** Frame of the library that it called, if there is one. */
  via?: TopFrameJson;
  /** Callers of a path, innermost first. */
  callers?: readonly TopFrameJson[];
  /** Type of objects. */
  type?: string;
  /** Values that redundant loads find, as in waste.json. */
  values?: readonly WasteValue[];
}

interface TopFrameJson
  extends Partial<Pick<MeasuredFrame, "module" | "file" | "line" | "column" | "address" | "library">> {
  /** Name of the function. */
  function?: string | undefined;
  /** Replaces the function for rows that are no code. */
  word?: string | undefined;
}

/** Row of two locations, the innermost call first. */
interface PairJson extends Omit<PairRow, "bytes" | "share"> {
  /** Bytes of the pair, and their part of all bytes of this kind of pairs, 0…1. */
  value: number;
  part: number;
}

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
  const document: TopJson = {
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
  };
  return jsonText(document);
}

function frameJson(frame: MeasuredFrame, isFunction: boolean): TopFrameJson {
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
  const document: TopJson = {
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
  };
  return jsonText(document);
}
