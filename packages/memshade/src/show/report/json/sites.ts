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
import { REACH_FIELDS } from "../../../profile/model/reach-fields.ts";
import { placeFramesOfContext, siteFrameOfContext } from "../../../profile/model/site-frame.ts";
import { framesOfContext } from "../../../profile/model/stacks.ts";
import { describeFrame, type FrameDescription } from "../frames.ts";

const OF_REACH: ReadonlySet<SiteField> = new Set(REACH_FIELDS);

/** MemProf's fields of the blocks, what the run counted beside them, and where they were allocated. */
export type JsonSite = Omit<Mib, "accessHistogram" | "histogram"> & {
  [Field in SiteField]: number | null;
} & {
  stackIds: string[];
  /** null: not recorded. */
  temporaryBlocks: number | null;
  /** Where a profile has those. */
  readBytes?: number;
  writtenBytes?: number;
  /** Absent where no block is known to have been kept after its last access. */
  drag?: BlockDrag;
  growth: BlockGrowth | null;
  capacity: BlockCapacity | null;
  accessHistogramValues?: bigint[];
  /** Counters were full: the numbers of accesses may be larger. */
  accessesAtLeast?: true;
  /** Part of the figures was spread over callers in JavaScript of which a sample was asked. */
  isEstimated?: true;
  /** By how much those figures may be off, 19 times of 20 by no more, by their names; absent where nothing was spread. */
  margins?: { [field: string]: number };
  stack: FrameDescription[];
  /** Which of `stack` names the site: the first of the program's own code. */
  siteFrame: number;
};

/** The groups of a profile as JSON values, made one by one. */
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

/** The sums of some rows, which may be larger than the fields of files are. */
/** What another tool's profile does not have of MemProf's fields. */
function unknownOfImport({ description }: HeapProfile): readonly (keyof Mib)[] {
  const { importedFrom, unknownFields = [] } = description;
  return importedFrom === undefined ? [] : unknownFields.filter((field) => field !== "accessHistogram");
}

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
