import { lifetimeHistogram, sizeHistogram } from "../../../explain/analyses/block-histograms.ts";
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
import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { knowsField } from "../../../profile/model/known-fields.ts";
import { type HotColdThresholds, LLVM_THRESHOLDS } from "../../../profile/model/memprof/hot-cold.ts";
import { describeFrame } from "../frames.ts";
import { findingsJson } from "./findings.ts";
import { presenceJson } from "./presence.ts";
import { createSiteWriter } from "./sites.ts";
import { staticDataJson } from "./static-data.ts";
import { jsonTextPieces, LazyArray } from "./text.ts";

export const REPORT_SCHEMA = "memshade-report";
export const REPORT_VERSION = 1;

export interface HeapReportJsonOptions {
  readonly input: string;
  /** Sites to write; undefined for all. */
  readonly rows?: number | undefined;
  /** Limits of the hot/cold classification; undefined for LLVM's. */
  readonly thresholds?: HotColdThresholds | undefined;
  /** Findings of the run; undefined if they are not written here. */
  readonly findings?: readonly Finding[] | undefined;
  readonly statics?: StaticsReport | undefined;
}

/** Yields the report of a heap profile as JSON (docs/report-json.md), in pieces. */
export function heapReportJsonPieces(
  profile: HeapProfile,
  { input, rows, thresholds = LLVM_THRESHOLDS, findings, statics }: HeapReportJsonOptions,
): Generator<string, void, undefined> {
  const { description, modules } = profile;
  const isCounted = description.counters !== "none";
  const groups = groupContexts(profile, "path");
  const order =
    amountsOf(measure("bytes"), { heap: profile }, groups) ??
    amountsOf(measure("left"), { heap: profile }, groups);
  const ranking = rankAll(order?.values ?? new Float64Array(groups.length));
  const shown = ranking.slice(0, rows);
  return jsonTextPieces({
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
    staticData: statics && staticDataJson(statics, rows),
    histograms: { size: sizeHistogram(profile) ?? null, lifetime: lifetimeHistogram(profile) ?? null },
    hotCold:
      description.clock.unit === "ms" && knowsField(profile, "totalLifetime")
        ? hotColdJson(profile, thresholds)
        : null,
    sites: mapped(shown, createSiteWriter(profile, groups)),
    sitesOmitted: ranking.length - shown.length,
  });
}

function totalsOf(profile: HeapProfile): object {
  const { description } = profile;
  const { totals } = description;
  const { allocations, allocatedBytes, heapAccesses } = heapTotals(profile);
  return {
    allocations: knowsField(profile, "allocCount") ? allocations : null,
    allocatedBytes: knowsField(profile, "totalSize") ? allocatedBytes : null,
    heapAccesses:
      knowsField(profile, "totalAccessCount") || description.importedFrom === undefined ? heapAccesses : null,
    ...(areAccessesCut(profile) ? { heapAccessesAtLeast: true } : {}),
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
function findingOf(profile: HeapProfile, finding: BlockMeasure | undefined): object | null {
  if (finding === undefined) return null;
  const groups = groupContexts(profile, "path");
  const bytes = sumByGroup(groups, finding.bytes);
  const blocks = sumByGroup(groups, finding.blocks);
  return {
    blocks: finding.lacksBlocks ? null : finding.totalBlocks,
    bytes: Math.round(finding.totalBytes),
    atLeast: finding.isLowerBound,
    sites: mapped(rank(bytes), (group) => ({
      stackIds: groups.contexts[group]!.map((context) => `${profile.contexts.stackId[context]}`),
      blocks: finding.lacksBlocks ? null : blocks[group]!,
      bytes: Math.round(bytes[group]!),
    })),
  };
}

function mapped(groups: readonly number[], make: (group: number) => object): LazyArray {
  function* values() {
    for (const group of groups) yield make(group);
  }
  return new LazyArray(values());
}

/** Includes zeros, because the sum over all sites must be the total. */
function rankAll(values: Float64Array): number[] {
  return Array.from(values.keys()).sort((a, b) => values[b]! - values[a]!);
}

/** Returns live amounts by kind; null if lost blocks were not searched. */
function reachJson(profile: HeapProfile): object | null {
  const amounts = liveByKind(profile);
  if (amounts === undefined) return null;
  return {
    hostMayHold: reachOf(profile)!.hostMayHold,
    ...Object.fromEntries(amounts.map(({ kind, bytes, blocks }) => [kind, { bytes, blocks }])),
  };
}

/** Returns the amounts removed by each suppression; null without suppressions. */
function suppressedJson({ description: { suppressed } }: HeapProfile): object[] | null {
  if (suppressed === undefined) return null;
  return suppressed.map(({ suppression: { name, reason, place }, ...amounts }) => ({
    name,
    reason: reason ?? null,
    place,
    ...amounts,
  }));
}

/** Returns the classification of all allocation calls, with the limits used. */
export function hotColdJson(profile: HeapProfile, thresholds: HotColdThresholds): object {
  return {
    thresholds,
    sites: classifySites(profile, thresholds).map((site) => siteJson(profile, site)),
  };
}

function siteJson(profile: HeapProfile, { frame, type, totals, byType, deciding }: ClassifiedSite): object {
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
export function overTimeJson(profile: HeapProfile): object | null {
  const { overTime } = profile;
  if (overTime === undefined) return null;
  const { unit, instances, otherInstances } = overTime;
  return {
    unit,
    instances: instances.map((instance) => ({ ...instance, phases: phasesJson(profile, instance) })),
    otherInstances,
  };
}

function phasesJson(profile: HeapProfile, instance: Parameters<typeof heapPhases>[1]): object[] {
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
