import {
  type BlockHistogram,
  lifetimeHistogram,
  sizeHistogram,
} from "../../../explain/analyses/block-histograms.ts";
import type { BlockMeasure } from "../../../explain/analyses/block-measure.ts";
import { draggedBlocks } from "../../../explain/analyses/dragged-blocks.ts";
import { areAccessesCut } from "../../../explain/analyses/granule-accesses.ts";
import { groupContexts, sumByGroup } from "../../../explain/analyses/groups.ts";
import { leaks } from "../../../explain/analyses/heap.ts";
import { type ClassifiedSite, classifySites, type TypeTotals } from "../../../explain/analyses/hot-cold.ts";
import { liveByKind, reachOf } from "../../../explain/analyses/live-blocks.ts";
import { heapPhases } from "../../../explain/analyses/over-time.ts";
import type { StaticsReport } from "../../../explain/analyses/statics.ts";
import { temporaryBlocks } from "../../../explain/analyses/temporary.ts";
import { heapTotals } from "../../../explain/analyses/totals.ts";
import { neverAccessed, writtenNeverRead } from "../../../explain/analyses/unused-blocks.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import { gapsOf } from "../../../explain/measures/gaps.ts";
import { measure } from "../../../explain/measures/index.ts";
import { amountsOf, rank } from "../../../explain/measures/ranking.ts";
import type { BlockCapacity, BlockGrowth } from "../../../profile/model/growth.ts";
import type { HeapProfile, ModuleKnowledge } from "../../../profile/model/heap-profile.ts";
import { knowsField } from "../../../profile/model/known-fields.ts";
import {
  type AllocationType,
  type HotColdThresholds,
  LLVM_THRESHOLDS,
} from "../../../profile/model/memprof/hot-cold.ts";
import type { BlockDrag } from "../../../profile/model/over-time/drag.ts";
import type { HeapIntervals, InstanceHeap } from "../../../profile/model/over-time/heap-intervals.ts";
import type {
  Clock,
  CounterMode,
  RunAllocator,
  RunChild,
  RunEnd,
  RunHeap,
  RunHost,
  RunThreads,
} from "../../../profile/model/run.ts";
import { describeFrame, type FrameDescription } from "../frames.ts";
import { type FindingJson, findingsJson } from "./findings.ts";
import { type PresenceJson, presenceJson } from "./presence.ts";
import { createSiteWriter, type JsonSite } from "./sites.ts";
import { type StaticDataJson, staticDataJson } from "./static-data.ts";
import { type CutJson, RankedList } from "./text.ts";

export const REPORT_SCHEMA = "memshade-report";
export const REPORT_VERSION = 2;

export interface HeapReportJsonOptions {
  readonly input: string;
  /** Limits of the hot/cold classification; undefined for LLVM's. */
  readonly thresholds?: HotColdThresholds | undefined;
  /** Findings of the run; undefined if they are not written here. */
  readonly findings?: readonly Finding[] | undefined;
  readonly statics?: StaticsReport | undefined;
}

export interface HeapReportJson extends CutJson {
  /** Name and version of the format. */
  schema: typeof REPORT_SCHEMA;
  version: typeof REPORT_VERSION;
  /** Run, as named on the command line. */
  input: string;
  /** Short name of the program, and its command; null for a raw file alone. */
  program: string | null;
  command: readonly string[] | null;
  /** Version of memshade that recorded the run, if known. */
  recordedBy: string | null;
  /** [Tool](importing.md) that wrote the file: "DHAT", "pprof" or "heaptrack"; absent for memshade's own. */
  importedFrom?: string;
  /** End of the program, if known. */
  end: RunEnd | null;
  /** Child processes with runs of their own, with `--trace-children`. */
  children?: readonly RunChild[];
  /** Clock of all times. */
  clock: Clock;
  /** Precision of access counts: exact per block ("merged"), exact per granule ("exact"). */
  counters: CounterMode | null;
  /** Bytes of a granule. */
  granuleBytes: number;
  /** Version of the raw profile. */
  rawVersion: number;
  /** Memory of the profiler, as far as known. */
  presence: PresenceJson | null;
  /**
   * Call paths that continue [in JavaScript](javascript-callers.md): calls with allocations whose callers were recorded
   * (`asked`), and the others (`leftOut`). null: callers were not recorded.
   */
  hostStacks: { readonly mode: RunHost["mode"]; readonly asked: number; readonly leftOut: number } | null;
  /** Sentences about everything that the profile does not cover. Read these first. */
  notTracked: readonly string[];
  /** Amounts removed by each suppression; null without suppressions. */
  suppressed: readonly SuppressedJson[] | null;
  /** Modules or objects whose code ran. */
  modules: readonly ModuleJson[];
  /** Figures of the whole run. The sums over all `sites` equal them, unless `notTracked` says otherwise. */
  totals: HeapTotalsJson;
  /** Findings; absent within the report of several tools. */
  summary?: readonly FindingJson[] | undefined;
  /** All blocks of some kinds. */
  findings: {
    /** Blocks live at the end. */
    leaks: BlocksJson | null;
    /** Blocks neither read nor written. */
    neverAccessed: BlocksJson | null;
    /** Blocks written but never read. */
    writtenNeverRead: BlocksJson | null;
    /** Temporary blocks; their bytes are the mean size of their site times their number. */
    temporary: BlocksJson | null;
    /** Blocks kept too long after their [last access](concepts.md#drag). */
    dragged: BlocksJson | null;
  };
  /** Heap over time; null if it was not recorded. */
  overTime: HeapOverTimeJson | null;
  /** Static data; absent if it was not recorded. */
  staticData?: StaticDataJson | undefined;
  /** Blocks by size (bytes) and by lifetime (units of the clock); null if unknown. */
  histograms: { size: BlockHistogram | null; lifetime: BlockHistogram | null };
  /** LLVM's classification of the allocation calls; null if lifetimes are not in milliseconds. */
  hotCold: HotColdJson | null;
  /** Call paths, most allocated bytes first. */
  sites: RankedList<JsonSite>;
}

/** Module of a program, or object of a native program. */
interface ModuleJson {
  /** Name of the module, and its file if known. */
  name: string;
  path: string | null;
  /** Build id, hexadecimal. */
  buildId: string;
  /** PC of the first code byte, hexadecimal. */
  start: string;
  /** Number of instances. */
  instances: number | null;
  /** Size of the file. */
  bytes: number | null;
  /** Some functions that the module exports, if no file is known to contain it. */
  exports: readonly string[] | null;
  /** Allocator of the module; null for a raw file alone. */
  allocator: RunAllocator | null;
  /** Debug information of an object of a native program, of raw files: functions and lines, functions alone, or none. */
  knows?: ModuleKnowledge;
}

/** Figures of the whole heap. null: the profile does not know. */
interface HeapTotalsJson {
  /** Allocated blocks, and their bytes. */
  allocations: number | null;
  allocatedBytes: number | bigint | null;
  /** Accesses to live blocks. */
  heapAccesses: number | bigint | null;
  /** True if counters may have overflowed: there may have been more accesses. */
  heapAccessesAtLeast?: true;
  /** Freed blocks. */
  frees: number | null;
  /** Live bytes and blocks at the moment of most bytes. */
  peakBytes: number | null;
  peakBlocks: number | null;
  /** Live bytes and blocks at the end. */
  liveBytes: number | null;
  liveBlocks: number | null;
  /** Counted accesses elsewhere in memory. */
  otherAccesses: number | null;
  /** Allocations by name of the thread, of native programs. */
  threads?: readonly RunThreads[];
  /** Part of `otherAccesses` between the first data segment and the heap; null if this range is unknown. */
  staticAccesses: number | null;
  /** Memory that the profiler itself touched. */
  profilerBytes: number | null;
  /** Drag, growth and capacity of all sites together. */
  drag: BlockDrag | null;
  /** Allocations without room in the bounded tables: of further call paths, and without a record. */
  overflow: RunHeap["overflow"] | null;
  /** Live blocks by reachability; null if lost blocks were not searched. */
  reach: ReachJson | null;
  /** Growth and capacity of all sites together. */
  growth: BlockGrowth | null;
  capacity: BlockCapacity | null;
}

/** Live blocks by [reachability](concepts.md#lost-or-still-reachable). Kinds that occur add up to all live blocks. */
interface ReachJson {
  /** True if the host may have addresses of lost blocks. */
  hostMayHold: boolean;
  /** Amount of each kind: lost, indirectly and possibly lost, still reachable, suppressed, not examined. */
  definite?: BlockAmountJson;
  indirect?: BlockAmountJson;
  possible?: BlockAmountJson;
  reachable?: BlockAmountJson;
  suppressed?: BlockAmountJson;
  unknown?: BlockAmountJson;
}

interface BlockAmountJson {
  /** Number and total size of the blocks. */
  bytes: number;
  blocks: number;
}

/** Blocks that an analysis found. */
interface BlocksJson {
  /** Number and total size of all blocks found. */
  blocks: number | null;
  bytes: number;
  /** True if the profile does not show all of them: there are at least so many. */
  atLeast: boolean;
  /** Call paths with such blocks, most bytes first. */
  sites: RankedList<{ stackIds: string[]; blocks: number | null; bytes: number }>;
}

/** Amounts removed by a suppression. */
interface SuppressedJson {
  /** Name of the suppression, and the reason given for it. */
  name: string;
  reason: string | null;
  /** Position of the suppression, such as `leaks.supp:3`. */
  place: string;
  /** Removed blocks, and their bytes. */
  blocks: number;
  bytes: number;
}

/** Heap over time: the record of heapintervals.json, with phases. */
interface HeapOverTimeJson extends Pick<HeapIntervals, "unit" | "otherInstances"> {
  /** Instances that allocated most. */
  instances: readonly HeapInstanceJson[];
}

interface HeapInstanceJson extends InstanceHeap {
  /** Phases of the instance. */
  phases: readonly HeapPhaseJson[];
}

/** Consecutive intervals in which the same part of the program works. */
interface HeapPhaseJson {
  /** First and last interval. */
  first: number;
  last: number;
  /** Allocations before the phase, and up to its end. */
  start: number;
  end: number;
  /** Live bytes: mean and largest. */
  meanBytes: number;
  peakBytes: number;
  /** Function that works; null if unknown. */
  name: string | null;
  /** Part of the intervals that end in the function, 0…1. */
  agreement: number;
  /** Key of the most frequent allocation; null if unknown. */
  stackId: string | null;
}

/** Classification of all allocation calls by LLVM's rule. */
interface HotColdJson {
  /** Limits of the classification. */
  thresholds: HotColdThresholds;
  /** Allocation calls, most bytes first. */
  sites: RankedList<HotColdSiteJson>;
}

interface HotColdSiteJson extends TypeTotals {
  /** Type of the call; "ambiguous" if its call paths differ. */
  type: AllocationType | "ambiguous";
  /** Frame of the call. */
  frame: FrameDescription;
  /** Contexts, blocks and bytes of each type. */
  byType: { [type: string]: TypeTotals };
  /** Shortest ends of call paths that distinguish the types, each with its type and figures. */
  deciding: readonly DecidingPathJson[];
}

interface DecidingPathJson extends TypeTotals {
  /** Type of the contexts. */
  type: AllocationType;
  /** Frames, innermost first. */
  frames: readonly FrameDescription[];
}

/** Returns the report of a heap profile for JSON (docs/report-json.md). */
export function heapReportJson(
  profile: HeapProfile,
  { input, thresholds = LLVM_THRESHOLDS, findings, statics }: HeapReportJsonOptions,
): HeapReportJson {
  const { description, modules } = profile;
  const isCounted = description.counters !== "none";
  const groups = groupContexts(profile, "path");
  const order =
    amountsOf(measure("bytes"), { heap: profile }, groups) ??
    amountsOf(measure("left"), { heap: profile }, groups);
  const ranking = rankAll(order?.values ?? new Float64Array(groups.length));
  return {
    schema: REPORT_SCHEMA,
    version: REPORT_VERSION,
    input,
    program: description.program ?? null,
    command: description.command ?? null,
    recordedBy: description.recordedBy ?? null,
    ...(description.importedFrom === undefined ? {} : { importedFrom: description.importedFrom }),
    end: description.end ?? null,
    ...(description.children === undefined ? {} : { children: description.children }),
    clock: description.clock,
    counters: description.counters ?? null,
    granuleBytes: description.granuleBytes,
    rawVersion: description.rawVersion,
    presence: presenceJson(description.presence),
    hostStacks: description.host ?? null,
    notTracked: gapsOf(profile),
    suppressed: suppressedJson(profile),
    modules: modules.map(({ name, path, buildId, start, instances, bytes, exports, allocator, knows }) => ({
      name,
      path: path ?? null,
      buildId,
      start: `0x${start.toString(16)}`,
      instances: instances ?? null,
      bytes: bytes ?? null,
      exports: exports ?? null,
      allocator: allocator ?? null,
      ...(knows === undefined ? {} : { knows }),
    })),
    totals: totalsOf(profile),
    summary: findings && findingsJson(findings),
    findings: {
      leaks: findingOf(profile, leaks(profile)),
      neverAccessed: isCounted ? findingOf(profile, neverAccessed(profile)) : null,
      writtenNeverRead: isCounted ? findingOf(profile, writtenNeverRead(profile)) : null,
      temporary: findingOf(profile, temporaryBlocks(profile)),
      dragged: findingOf(profile, draggedBlocks(profile)),
    },
    overTime: overTimeJson(profile),
    staticData: statics && staticDataJson(statics),
    histograms: { size: sizeHistogram(profile) ?? null, lifetime: lifetimeHistogram(profile) ?? null },
    hotCold:
      description.clock.unit === "ms" && knowsField(profile, "totalLifetime")
        ? hotColdJson(profile, thresholds)
        : null,
    sites: RankedList.of(ranking, createSiteWriter(profile, groups)),
  };
}

function totalsOf(profile: HeapProfile): HeapTotalsJson {
  const { description } = profile;
  const { totals } = description;
  const { allocations, allocatedBytes, heapAccesses } = heapTotals(profile);
  return {
    allocations: knowsField(profile, "allocCount") ? allocations : null,
    allocatedBytes: knowsField(profile, "totalSize") ? allocatedBytes : null,
    heapAccesses:
      knowsField(profile, "totalAccessCount") || description.importedFrom === undefined ? heapAccesses : null,
    ...(areAccessesCut(profile) ? { heapAccessesAtLeast: true as const } : {}),
    frees: totals?.frees ?? null,
    peakBytes: totals?.peakBytes ?? null,
    peakBlocks: totals?.peakBlocks ?? null,
    liveBytes: totals?.liveBytes ?? null,
    liveBlocks: totals?.liveBlocks ?? null,
    otherAccesses: totals?.otherAccesses ?? null,
    ...(totals?.threads === undefined ? {} : { threads: totals.threads }),
    staticAccesses: totals?.staticAccesses ?? null,
    profilerBytes: totals?.profilerBytes ?? null,
    drag: totals?.keptAfterUse ?? null,
    overflow: totals?.overflow ?? null,
    reach: reachJson(profile),
    growth: totals?.growth ?? null,
    capacity: totals?.capacity ?? null,
  };
}

/** Returns the blocks that an analysis found, per call path, most bytes first. */
function findingOf(profile: HeapProfile, finding: BlockMeasure | undefined): BlocksJson | null {
  if (finding === undefined) return null;
  const groups = groupContexts(profile, "path");
  const bytes = sumByGroup(groups, finding.bytes);
  const blocks = sumByGroup(groups, finding.blocks);
  return {
    blocks: finding.lacksBlocks ? null : finding.totalBlocks,
    bytes: Math.round(finding.totalBytes),
    atLeast: finding.isLowerBound,
    sites: RankedList.of(rank(bytes), (group) => ({
      stackIds: groups.contexts[group]!.map((context) => `${profile.contexts.stackId[context]}`),
      blocks: finding.lacksBlocks ? null : blocks[group]!,
      bytes: Math.round(bytes[group]!),
    })),
  };
}

/** Includes zeros, because the sum over all sites must be the total. */
function rankAll(values: Float64Array): number[] {
  return Array.from(values.keys()).sort((a, b) => values[b]! - values[a]!);
}

/** Returns live amounts by kind; null if lost blocks were not searched. */
function reachJson(profile: HeapProfile): ReachJson | null {
  const amounts = liveByKind(profile);
  if (amounts === undefined) return null;
  return {
    hostMayHold: reachOf(profile)!.hostMayHold,
    ...Object.fromEntries(amounts.map(({ kind, bytes, blocks }) => [kind, { bytes, blocks }])),
  };
}

/** Returns the amounts removed by each suppression; null without suppressions. */
function suppressedJson({ description: { suppressed } }: HeapProfile): SuppressedJson[] | null {
  if (suppressed === undefined) return null;
  return suppressed.map(({ suppression: { name, reason, place }, ...amounts }) => ({
    name,
    reason: reason ?? null,
    place,
    ...amounts,
  }));
}

/** Returns the classification of all allocation calls, with the limits used. */
export function hotColdJson(profile: HeapProfile, thresholds: HotColdThresholds): HotColdJson {
  return {
    thresholds,
    sites: RankedList.of(classifySites(profile, thresholds), (site) => siteJson(profile, site)),
  };
}

function siteJson(
  profile: HeapProfile,
  { frame, type, totals, byType, deciding }: ClassifiedSite,
): HotColdSiteJson {
  return {
    type,
    frame: describeFrame(profile, frame),
    ...totals,
    byType: Object.fromEntries(Array.from(byType, ([key, value]): [string, TypeTotals] => [key, value])),
    deciding: deciding.map((suffix) => ({
      type: suffix.type,
      ...suffix.totals,
      frames: suffix.frames.map((inner) => describeFrame(profile, inner)),
    })),
  };
}

/**
 * Returns the heap over time as JSON (docs/report-json.md): the run's record, with the phases of each
 * instance.
 */
export function overTimeJson(profile: HeapProfile): HeapOverTimeJson | null {
  const { overTime } = profile;
  if (overTime === undefined) return null;
  const { unit, instances, otherInstances } = overTime;
  return {
    unit,
    instances: instances.map((instance) => ({ ...instance, phases: phasesJson(profile, instance) })),
    otherInstances,
  };
}

function phasesJson(profile: HeapProfile, instance: Parameters<typeof heapPhases>[1]): HeapPhaseJson[] {
  const { phases, contexts } = heapPhases(profile, instance);
  return phases.map(({ first, last, start, end, mean, peak, name, agreement, stack }) => ({
    first,
    last,
    start,
    end,
    meanBytes: Math.round(mean),
    peakBytes: peak,
    name: name ?? null,
    agreement,
    stackId: stack < 0 ? null : `${profile.contexts.stackId[contexts[stack]!]}`,
  }));
}
