import { lifetimeHistogram, sizeHistogram } from "../../../../explain/analyses/block-histograms.ts";
import type { RecordedTools } from "../../../../explain/analyses/recorded-tools.ts";
import type { StaticsReport } from "../../../../explain/analyses/statics/static-objects.ts";
import { type Finding, kindOf } from "../../../../explain/findings/index.ts";
import { MEASURED_TOOLS, stacksOf } from "../../../../explain/measures/index.ts";
import { firstRowOf } from "../../../../explain/measures/waste.ts";
import { firstRowOf as firstRowOfInstance } from "../../../../explain/measures/working-set.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { Presence } from "../../../../profile/model/run.ts";
import type { WasteFile } from "../../../../profile/model/waste/waste.ts";
import type { WorkingSetProfile } from "../../../../profile/model/working-set/working-set.ts";
import { localityJson } from "../../json/locality.ts";
import { collectedObjects } from "./collected-objects.ts";
import { type BuiltFinding, builtFindings } from "./findings.ts";
import { headOfRun } from "./head.ts";
import { pageInstructions, type ReadInstructions } from "./instructions.ts";
import { objectTimelines } from "./object-timelines.ts";
import { type BuiltObject, builtObjects, type WasteContexts } from "./objects.ts";
import { type BuiltTables, MOST_CONTEXTS, PageBuilder } from "./page-builder.ts";
import {
  PAGE_SCHEMA,
  PAGE_VERSION,
  type PageAccess,
  type PageCache,
  type PageData,
  type PageFinding,
  type PageHistogram,
  type PageObject,
  type PageVariable,
} from "./page-data.ts";
import { addSamples, samplesTimeline } from "./sample-page.ts";
import { measuredLines, pageSources, type ReadSource, type SourcesKept } from "./sources.ts";
import { addStacks, ratiosOf } from "./stacks.ts";
import { heapTimeline, type WorkingSetContexts, workingSetTimeline } from "./timelines.ts";

export interface RunPageOptions {
  /** How the user named the run. */
  readonly input: string;
  readonly findings: readonly Finding[];
  readonly presence?: Presence | undefined;
  readonly sources: SourcesKept;
  /** Reads a file of the program. */
  readonly read: ReadSource;
  readonly instructions?: ReadInstructions | undefined;
  readonly mostContexts?: number | undefined;
}

/** What the tools recorded of a run, or a MemProf profile, as a page. */
export function pageOfRun(tools: RecordedTools, options: RunPageOptions): PageData {
  const { heap, waste: wasteFile, workingset, objects: collected, statics, cpu } = tools;
  const builder = new PageBuilder();
  const measured = MEASURED_TOOLS.flatMap((tool) => stacksOf(tool, tools) ?? []);
  const contextsOf = new Map(measured.map((stacks) => [stacks.tool, addStacks(builder, stacks, tools)]));
  const heapContexts = contextsOf.get("heap");
  const waste = wasteFile && {
    file: wasteFile,
    contexts: wasteContexts(wasteFile, contextsOf.get("waste")!),
  };
  const workingSetContexts = workingset && attributedContexts(workingset, contextsOf.get("workingset")!);
  const ofCollected = collected && collectedObjects(builder, collected, contextsOf.get("objects")!);
  const sampled =
    cpu &&
    addSamples(
      builder,
      cpu.samples,
      cpu.samples.frames.map(({ library }) => library),
    );
  const findings = builtFindings(builder, options.findings, {
    heap: heapContexts,
    waste,
    objects: ofCollected,
  });
  const objects = [
    ...builtObjects(builder, heap && { profile: heap, contexts: heapContexts! }, waste),
    ...(ofCollected?.objects ?? []),
  ];
  const bound = options.mostContexts ?? MOST_CONTEXTS;
  const tables = builder.build(bound);
  const { strings, modules, frames, contexts, mergedContexts } = tables;
  // What is nothing everywhere tells nothing, but for what every heap has.
  const weights = tables.weights.filter(({ id, total }) => total !== 0 || id === "bytes" || id === "blocks");
  const has = (id: string) => weights.some((weight) => weight.id === id);
  const ratios = measured.flatMap((stacks) => ratiosOf(stacks, tools));
  const timelines = [
    heap && heapTimeline(heap, (context) => tables.rowOf[heapContexts![context]!]!),
    workingset && workingSetTimeline(workingset, workingSetContexts!, (context) => tables.rowOf[context]!),
    ...(collected === undefined
      ? []
      : objectTimelines(collected, ofCollected!.rows, (context) => tables.rowOf[context]!)),
    cpu && samplesTimeline(cpu.samples, (stack) => tables.rowOf[sampled!(stack)]!),
  ];
  const head = headOfRun({ ...tools, input: options.input, presence: options.presence });
  const page: PageData = {
    schema: PAGE_SCHEMA,
    version: PAGE_VERSION,
    kind: "run",
    head: mergedContexts === 0 ? head : { ...head, merged: { contexts: mergedContexts, bound } },
    strings,
    modules,
    frames,
    contexts,
    throughMerged: tables.throughMerged,
    weights,
    ratios: ratios.filter(({ of, by }) => has(of) && has(by)),
    timelines: timelines.filter((timeline) => timeline !== undefined),
    findings: findings.map((finding) => pageFinding(finding, objects, tables, statics)),
    objects: objects.map((object) => pageObject(object, tables)),
    histograms: heap === undefined ? [] : histogramsOf(heap),
    statics: statics === undefined ? [] : variablesOf(statics),
    ...(workingset === undefined ? {} : cacheOf(workingset)),
    sources: [],
    sourcesKept: options.sources,
  };
  if (options.sources === "none") return page;
  const lines = measuredLines(page);
  const code = pageInstructions(page, lines, options.instructions ?? (() => []));
  const sources = pageSources(page, lines, builder.strings, options);
  return { ...page, ...sources, ...(code.length === 0 ? {} : { code }) };
}

/** The page's contexts of what the waste tool recorded, row by row. */
function wasteContexts(file: WasteFile, contexts: Int32Array): WasteContexts {
  const of = (part: keyof WasteContexts): Int32Array => {
    const first = firstRowOf(file, part);
    return contexts.subarray(first, first + (file[part]?.length ?? 0));
  };
  return {
    stores: of("stores"),
    loads: of("loads"),
    blocks: of("blocks"),
    objects: of("objects"),
    reallocations: of("reallocations"),
  };
}

function attributedContexts(profile: WorkingSetProfile, contexts: Int32Array): WorkingSetContexts[] {
  return profile.instances.map(({ owners, firstTouch }, instance) => {
    const of = (part: "owners" | "firstTouch", length = 0): Int32Array => {
      const first = firstRowOfInstance(profile, instance, part);
      return contexts.subarray(first, first + length);
    };
    return {
      owners: of("owners", owners?.contexts.length),
      firstTouch: of("firstTouch", firstTouch?.contexts.length),
    };
  });
}

function pageFinding(
  { contexts, ...finding }: BuiltFinding,
  objects: readonly BuiltObject[],
  tables: BuiltTables,
  statics: StaticsReport | undefined,
): PageFinding {
  const about = new Set(contexts);
  const of = objects.flatMap((object, index) =>
    object.contexts.some((context) => about.has(context)) ? [index] : [],
  );
  const variable = kindOf(finding).isOfVariable ? variableOf(finding, tables, statics) : -1;
  return {
    ...finding,
    contexts: rowsOf(contexts, tables),
    objects: of,
    ...(variable < 0 ? {} : { variable }),
  };
}

function variableOf(
  { path }: Pick<BuiltFinding, "path">,
  { strings, frames }: BuiltTables,
  statics: StaticsReport | undefined,
): number {
  const name = strings[frames.function[path[0]!]!];
  return (statics?.objects ?? []).findIndex((object) => object.kind === "variable" && object.name === name);
}

/** Rows of contexts, rising. One that stands for merged contexts is among them only where it stands for no others. */
function rowsOf(contexts: readonly number[], { rowOf, isMerged, ownMerged }: BuiltTables): Int32Array {
  const rows = new Set<number>();
  const merged = new Map<number, number>();
  for (const context of contexts) {
    const row = rowOf[context]!;
    if (isMerged[context] === 0) rows.add(row);
    else merged.set(row, (merged.get(row) ?? 0) + 1);
  }
  for (const [row, count] of merged) if (count === ownMerged[row]) rows.add(row);
  return Int32Array.from(rows).sort();
}

function pageObject({ contexts, ...object }: BuiltObject, { rowOf }: BuiltTables): PageObject {
  return {
    ...withContexts(object, rowOf),
    contexts: Int32Array.from(new Set(contexts.map((context) => rowOf[context]!))).sort(),
  };
}

/** An object whose contexts have other numbers. */
export function withContexts<Accessed extends Pick<PageObject, "deadBy" | "writtenBy" | "readBy">>(
  object: Accessed,
  rowOf: Int32Array,
): Accessed {
  const moved = (accesses: readonly PageAccess[]) =>
    accesses.map(({ context, bytes }) => ({ context: rowOf[context]!, bytes }));
  return {
    ...object,
    deadBy: moved(object.deadBy),
    ...(object.writtenBy === undefined ? {} : { writtenBy: moved(object.writtenBy) }),
    ...(object.readBy === undefined ? {} : { readBy: moved(object.readBy) }),
  };
}

function histogramsOf(heap: HeapProfile): PageHistogram[] {
  const { unit: clock } = heap.description.clock;
  const kinds = [
    { id: "size", label: "blocks by size", unit: "bytes", histogram: sizeHistogram(heap) },
    { id: "lifetime", label: "blocks by lifetime", unit: "clock", clock, histogram: lifetimeHistogram(heap) },
  ] as const;
  return kinds.flatMap(({ histogram, label, ...kind }): PageHistogram[] => {
    const { bins = [], isExact = true } = histogram ?? {};
    return bins.length === 0
      ? []
      : [
          {
            ...kind,
            label: isExact ? label : `${label}, those of a call path whose values differ at its mean`,
            from: Float64Array.from(bins, ({ from }) => from),
            blocks: Float64Array.from(bins, ({ blocks }) => blocks),
            bytes: Float64Array.from(bins, ({ bytes }) => bytes),
          },
        ];
  });
}

function variablesOf({ objects }: StaticsReport): PageVariable[] {
  return objects.map(({ name, module, file, line, bytes, accesses, untouchedBytes, unreadBytes, use }) => ({
    name,
    module,
    bytes,
    ...(file === undefined ? {} : { file }),
    ...(line === 0 ? {} : { line }),
    ...(use === "uncounted" ? {} : { accesses, untouched: untouchedBytes, unread: unreadBytes }),
  }));
}

/** The curve of the instance with most references. */
function cacheOf({ instances, lineBytes }: WorkingSetProfile): { cache?: PageCache } {
  const [locality] = instances
    .flatMap((instance) => instance.locality ?? [])
    .sort((a, b) => b.references - a.references);
  if (locality === undefined) return {};
  const { missRatio, caches, references, lines, rate, method } = localityJson(locality);
  return {
    cache: {
      lineBytes,
      references,
      lines,
      rate,
      method: method as PageCache["method"],
      bytes: Float64Array.from(missRatio, ({ bytes }) => bytes),
      missRatio: Float64Array.from(missRatio, (point) => point.missRatio),
      caches: caches.map(({ name, bytes, missRatio: ratio }) => ({ name, bytes, missRatio: ratio })),
      missesAt: locality.sitesAtLines * lineBytes,
    },
  };
}
