import { dragOfContexts } from "../../../explain/analyses/dragged-blocks.ts";
import { areAccessesCut } from "../../../explain/analyses/granule-accesses.ts";
import { type ContextGroups, sumByGroup } from "../../../explain/analyses/groups.ts";
import { capacityOf, growthOf } from "../../../explain/analyses/growth.ts";
import { marginOf } from "../../../explain/analyses/host-stacks.ts";
import { reachOf } from "../../../explain/analyses/live-blocks.ts";
import { temporaryBlocks } from "../../../explain/analyses/temporary.ts";
import type { BlockCapacity, BlockGrowth } from "../../../profile/model/growth.ts";
import {
  type HeapProfile,
  type MibColumns,
  mibAt,
  SITE_FIELDS,
  type SiteField,
} from "../../../profile/model/heap-profile.ts";
import { siteColumn } from "../../../profile/model/known-fields.ts";
import { combineMibs, type Mib } from "../../../profile/model/mib.ts";
import type { BlockDrag } from "../../../profile/model/over-time/drag.ts";
import { REACH_FIELDS, type RunSite } from "../../../profile/model/run.ts";
import { placeFramesOfContext, siteFrameOfContext } from "../../../profile/model/site-frame.ts";
import { framesOfContext } from "../../../profile/model/stacks.ts";
import { describeFrame, type FrameDescription } from "../frames.ts";

const OF_REACH: ReadonlySet<SiteField> = new Set(REACH_FIELDS);

/**
 * All blocks of one call path, or of one row of a ranking. The first fields are those of MemProf's allocation block;
 * averages are a total divided by `allocCount`. null: the profile does not know.
 */
export type JsonSite = Omit<Mib, "accessHistogram" | "histogram"> & {
  [Field in keyof Pick<RunSite, SiteField>]-?: number | null;
} & {
  /** Keys of the combined contexts in the raw profile; without a run, numbers of call paths. */
  stackIds: string[];
  /** Blocks freed at most one clock unit after their allocation. A lower bound, unless the run counted them. */
  temporaryBlocks: number | null;
  /** Bytes read from the blocks and written to them; only in profiles of DHAT, which lack accesses. */
  readBytes?: number;
  writtenBytes?: number;
  /** [Drag](concepts.md#drag) of the blocks; absent if unknown. */
  drag?: BlockDrag;
  /** [Growth](concepts.md#growth) of the blocks; null if it was not followed. */
  growth: BlockGrowth | null;
  /** Use of large blocks; null if it was not followed. */
  capacity: BlockCapacity | null;
  /** Accesses per 8-byte granule of all blocks together, granule 0 first; only with exact counters. */
  accessHistogramValues?: bigint[];
  /** True if counters overflowed: numbers of accesses are lower bounds. */
  accessesAtLeast?: true;
  /** True if part of the figures was distributed over sampled [callers in JavaScript](javascript-callers.md). */
  isEstimated?: true;
  /** Margins of error of such figures at 95 % confidence, by name. Fields without a margin were counted. */
  margins?: { [field: string]: number };
  /** Call path, innermost first; empty if none was recorded. */
  stack: FrameDescription[];
  /** Index into `stack` of the frame that names the site: the first of the program's own code. */
  siteFrame: number;
};

/** Returns a function that creates the JSON value of a group. */
export function createSiteWriter(profile: HeapProfile, groups: ContextGroups): (group: number) => JsonSite {
  const { contexts } = profile;
  const isUnknown = (field: SiteField) =>
    (OF_REACH.has(field) && reachOf(profile) === undefined) || siteColumn(profile, field) === undefined;
  const notRecorded = Object.fromEntries(unknownOfImport(profile).map((field) => [field, null]));
  const accesses = (["readBytes", "writtenBytes"] as const).flatMap((field) => {
    const column = contexts.site?.[field];
    return column === undefined ? [] : [[field, sumByGroup(groups, column)] as const];
  });
  const sums = SITE_FIELDS.map(
    (field) =>
      [
        field,
        isUnknown(field) ? undefined : contexts.site && sumByGroup(groups, contexts.site[field]),
      ] as const,
  );
  const found = temporaryBlocks(profile);
  const temporary = found && sumByGroup(groups, found.blocks);
  return (group) => {
    const rows = groups.contexts[group]!;
    const {
      accessHistogram: _,
      histogram,
      ...mib
    } = rows.map((context) => mibAt(contexts.mibs, context)).reduce(combineMibs);
    return {
      stackIds: rows.map((context) => `${contexts.stackId[context]}`),
      ...mib,
      ...totalsOf(contexts.mibs, rows),
      ...(Object.fromEntries(sums.map(([field, column]) => [field, column?.[group] ?? null])) as {
        [Field in SiteField]: number | null;
      }),
      temporaryBlocks: temporary?.[group] ?? null,
      ...notRecorded,
      ...Object.fromEntries(accesses.map(([field, column]) => [field, column[group]!])),
      ...(rows.some((row) => contexts.site?.keptAfterUse[row] !== undefined)
        ? { drag: dragOfContexts(profile, rows) }
        : {}),
      growth: growthOf(profile, rows) ?? null,
      capacity: capacityOf(profile, rows) ?? null,
      ...(histogram === undefined ? {} : { accessHistogramValues: histogram }),
      ...(areAccessesCut(profile, rows) ? { accessesAtLeast: true as const } : {}),
      ...(rows.some((row) => contexts.isEstimated?.[row] === 1) ? { isEstimated: true as const } : {}),
      ...marginsOf(profile, rows),
      ...stackOfGroup(profile, groups, group),
    };
  };
}

function marginsOf(profile: HeapProfile, rows: readonly number[]): Pick<JsonSite, "margins"> {
  const { mibs, site, variances } = profile.contexts;
  if (variances === undefined || site === undefined) return {};
  const margins = (["allocCount", "totalSize", "temporary", ...SITE_FIELDS] as const).flatMap((field) => {
    const column = field === "allocCount" || field === "totalSize" ? mibs[field] : site[field];
    const margin = column === undefined ? undefined : marginOf(profile, column, rows);
    const name = field === "temporary" ? "temporaryBlocks" : field;
    return margin === undefined ? [] : [[name, Math.ceil(margin)] as const];
  });
  return margins.length === 0 ? {} : { margins: Object.fromEntries(margins) };
}

/** Returns the MemProf fields that another tool's profile lacks. */
function unknownOfImport({ description }: HeapProfile): readonly (keyof Mib)[] {
  const { importedFrom, unknownFields = [] } = description;
  return importedFrom === undefined ? [] : unknownFields.filter((field) => field !== "accessHistogram");
}

/** Returns sums, which may exceed the fields of MemProf's files. */
function totalsOf(mibs: MibColumns, rows: readonly number[]) {
  const sumOf = (column: BigUint64Array) => rows.reduce((sum, row) => sum + column[row]!, 0n);
  return {
    allocCount: rows.reduce((sum, row) => sum + mibs.allocCount[row]!, 0),
    totalSize: sumOf(mibs.totalSize),
    totalAccessCount: sumOf(mibs.totalAccessCount),
    totalLifetime: sumOf(mibs.totalLifetime),
  };
}

function stackOfGroup(
  profile: HeapProfile,
  groups: ContextGroups,
  group: number,
): Pick<JsonSite, "stack" | "siteFrame"> {
  const context = groups.contexts[group]![0]!;
  const frames =
    groups.by === "path" ? framesOfContext(profile, context) : placeFramesOfContext(profile, context);
  const site = siteFrameOfContext(profile, context);
  return {
    stack: frames.map((frame) => describeFrame(profile, frame)),
    siteFrame: site === undefined ? 0 : frames.indexOf(site),
  };
}
