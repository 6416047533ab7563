import { lifetimeHistogram, sizeHistogram } from "../../../../explain/analyses/block-histograms.ts";
import {
  equalStretches,
  liveAt,
  objectIntervals,
  objectPhases,
} from "../../../../explain/analyses/objects.ts";
import type { RecordedTools } from "../../../../explain/analyses/recorded-tools.ts";
import type { StaticsReport } from "../../../../explain/analyses/statics.ts";
import type { PlaceFrame } from "../../../../explain/findings/finding-kind.ts";
import { adviceOf, type Finding, kindOf, weightOf, wholeOfPart } from "../../../../explain/findings/index.ts";
import { MEASURED_TOOLS, stacksOf } from "../../../../explain/measures/index.ts";
import { firstRowOf } from "../../../../explain/measures/waste.ts";
import { firstRowOf as firstRowOfInstance } from "../../../../explain/measures/working-set.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { ModuleObjects, ObjectsProfile } from "../../../../profile/model/objects.ts";
import type { Presence } from "../../../../profile/model/run.ts";
import { MODULE_SPAN, type WasteFile } from "../../../../profile/model/waste.ts";
import type { WorkingSetProfile } from "../../../../profile/model/working-set/working-set.ts";
import { findingInWords } from "../../findings.ts";
import { localityJson } from "../../json/locality.ts";
import { headOfRun } from "./head.ts";
import {
  type BuiltObject,
  builtObjects,
  collectedObjects,
  type PageObjects,
  type PageRowsOfContexts,
  type WasteContexts,
} from "./objects.ts";
import { type BuiltTables, MOST_CONTEXTS, PageBuilder } from "./page-builder.ts";
import {
  PAGE_SCHEMA,
  PAGE_VERSION,
  type PageAccess,
  type PageCache,
  type PageCode,
  type PageData,
  type PageDeltas,
  type PageFinding,
  type PageHistogram,
  type PageLane,
  type PageObject,
  type PageTimeline,
  type PageVariable,
} from "./page-data.ts";
import {
  addSamples,
  Deltas,
  heapTimeline,
  pagePhases,
  type RowOf,
  samplesTimeline,
  type WorkingSetContexts,
  workingSetTimeline,
} from "./sample-page.ts";
import {
  type MeasuredLine,
  measuredLines,
  pageSources,
  type ReadSource,
  type SourcesKept,
} from "./sources.ts";
import { addStacks, ratiosOf } from "./stacks.ts";

export interface RunPageOptions {
  /** Name of the run as the user typed it. */
  readonly input: string;
  readonly findings: readonly Finding[];
  readonly presence?: Presence | undefined;
  readonly sources: SourcesKept;
  readonly read: ReadSource;
  readonly instructions?: ReadInstructions | undefined;
  readonly mostContexts?: number | undefined;
}

/** Builds the page of a recorded run or of a MemProf profile. */
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
  // Weights that are zero everywhere are left out, except those that every heap has.
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

/** Returns the page contexts of the waste tool's records, row by row. */
function wasteContexts(file: WasteFile, contexts: Int32Array): WasteContexts {
  const rowsOfPart = (part: keyof WasteContexts): Int32Array => {
    const first = firstRowOf(file, part);
    return contexts.subarray(first, first + (file[part]?.length ?? 0));
  };
  return {
    stores: rowsOfPart("stores"),
    loads: rowsOfPart("loads"),
    blocks: rowsOfPart("blocks"),
    objects: rowsOfPart("objects"),
    reallocations: rowsOfPart("reallocations"),
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

/**
 * Returns the rows of contexts, ascending. A row of merged contexts is included only if all of them are among
 * `contexts`.
 */
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

/** Renumbers the contexts of an object. */
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
            label: isExact ? label : `${label} (call paths with differing values at their mean)`,
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

/** Returns the curve of the instance with most references. */
function cacheOf({ instances, lineBytes }: WorkingSetProfile): { cache?: PageCache } {
  const [locality] = instances
    .flatMap((instance) => instance.locality ?? [])
    .sort((a, b) => b.references - a.references);
  if (locality === undefined) return {};
  const { missRatio, caches, references, lines, rate } = localityJson(locality);
  return {
    cache: {
      lineBytes,
      references,
      lines,
      rate,
      bytes: Float64Array.from(missRatio, ({ bytes }) => bytes),
      missRatio: Float64Array.from(missRatio, (point) => point.missRatio),
      caches: caches.map(({ name, bytes, missRatio: ratio }) => ({ name, bytes, missRatio: ratio })),
      missesAt: locality.sitesAtLines * lineBytes,
    },
  };
}

/** Number of stretches of allocated bytes, if no intervals were recorded. */
const STRETCHES = 128;

/**
 * Returns timelines of each module's objects over allocated bytes. `rows`: the page contexts of each part,
 * before `rowOf`.
 */
function objectTimelines(
  { parts, modules }: ObjectsProfile,
  rows: readonly PageRowsOfContexts[],
  rowOf: RowOf,
): PageTimeline[] {
  return parts.flatMap((part, index): PageTimeline[] => {
    const name = modules[part.module]?.name;
    const of = parts.length < 2 || name === undefined ? {} : { of: name };
    return timelinesOf(part, rows[index]!, rowOf).map((timeline) => ({ ...timeline, ...of }));
  });
}

function timelinesOf(part: ModuleObjects, rows: PageRowsOfContexts, rowOf: RowOf): PageTimeline[] {
  const common = { tool: "objects", unit: "bytes", start: 0 } as const;
  const intervals = objectIntervals(part);
  const isOne = intervals !== undefined && part.instances === 1;
  const times = isOne ? intervals.end : equalStretches(part, STRETCHES);
  const inUse = laneInUse(part, times);
  const alone: PageTimeline[] =
    inUse.length === 0 || isOne
      ? []
      : [{ ...common, ends: Float64Array.from(times), lanes: inUse, phases: [] }];
  if (intervals === undefined) return alone;
  const amount = (
    id: string,
    label: string,
    unit: PageLane["unit"],
    values: readonly number[],
  ): PageLane => ({
    id,
    label,
    word: "object",
    unit,
    shape: "amount",
    values: Float64Array.from(values),
  });
  return [
    {
      ...common,
      ends: Float64Array.from(intervals.end),
      lanes: [
        amount("objects", "objects allocated", "count", intervals.objects),
        amount("object-bytes", "bytes of objects allocated", "bytes", intervals.bytes),
        ...(isOne ? inUse : []),
      ],
      phases: pagePhases(objectPhases(part)),
      deltas: deltasOf(part, rows, rowOf),
    },
    ...alone,
  ];
}

function laneInUse(part: ModuleObjects, times: readonly number[]): PageLane[] {
  const live = liveAt(part, times);
  if (live === undefined || times.at(-1) === 0) return [];
  return [
    {
      id: "inUse",
      label: "objects in use (estimated)",
      word: "in use",
      unit: "bytes",
      shape: "level",
      values: Float64Array.from(live),
    },
  ];
}

function deltasOf({ overTime }: ModuleObjects, rows: PageRowsOfContexts, rowOf: RowOf): PageDeltas {
  const deltas = new Deltas(["object-bytes", "objects"], overTime!.intervals.end.length);
  for (const { context, intervals, bytes, objects } of overTime!.contexts)
    for (const { row, part } of rows.get(context) ?? [])
      intervals.forEach((interval, index) => {
        deltas.add(interval, rowOf(row), [bytes[index]! * part, objects[index]! * part]);
      });
  return deltas.build();
}

/** An instruction by its offset in the code section, with its line (from 1; 0 for none). */
interface PlacedInstruction {
  readonly address: number;
  readonly text: string;
  readonly file: string | undefined;
  readonly line: number;
}

/** Returns the instructions of the function around an address of a page's module; empty if unknown. */
export type ReadInstructions = (module: number, address: number) => readonly PlacedInstruction[];

/**
 * Most lines whose instructions are stored: lines of findings first, then those with the largest share of any
 * weight.
 */
const MOST_LINES = 200;
/** Limit of instructions read, so that pages of large functions are written fast. */
const MOST_READ = 50_000;
/** Most instructions stored per line. */
const MOST_OF_LINE = 64;

/** Returns the instructions of measured lines, in the functions in which they were measured. */
function pageInstructions(
  page: PageData,
  measured: readonly MeasuredLine[],
  read: ReadInstructions,
): readonly PageCode[] {
  const { frames } = page;
  const lines = measured.slice(0, MOST_LINES);
  const wanted = new Map(lines.map((line) => [keyOf(line), [] as number[]]));
  for (let frame = 0; frame < frames.length; frame++) {
    const file = page.strings[frames.file[frame]!];
    if (file !== undefined && frames.address[frame]! >= 0 && frames.module[frame]! >= 0)
      wanted.get(keyOf({ file, line: frames.line[frame]! }))?.push(frame);
  }
  const found = new Map<string, Map<number, string>>();
  const seenFunctions = new Set<string>();
  let remaining = MOST_READ;
  for (const of of wanted.values())
    for (const frame of of) {
      if (remaining <= 0) break;
      const module = frames.module[frame]!;
      if (seenFunctions.has(`${module} ${frames.address[frame]}`)) continue;
      const instructions = read(module, frames.address[frame]!);
      remaining -= instructions.length;
      for (const { address, text, file, line } of instructions) {
        seenFunctions.add(`${module} ${address}`);
        const key = file === undefined ? undefined : keyOf({ file, line });
        if (key === undefined || !wanted.has(key)) continue;
        const byAddress = found.get(key) ?? new Map<number, string>();
        found.set(key, byAddress.set(address, text));
      }
    }
  return lines.flatMap(({ file, line }): PageCode[] => {
    const code = [...(found.get(keyOf({ file, line })) ?? [])].sort(([a], [b]) => a - b);
    if (code.length === 0) return [];
    const shown = code.slice(0, MOST_OF_LINE);
    return [
      {
        file: page.strings.indexOf(file),
        line,
        address: Int32Array.from(shown, ([address]) => address),
        text: shown.map(([, text]) => text),
        ...(shown.length < code.length ? { more: code.length - shown.length } : {}),
      },
    ];
  });
}

function keyOf({ file, line }: Pick<MeasuredLine, "file" | "line">): string {
  return `${line} ${file}`;
}

/** Page contexts of the tools' records, numbered by the builder. */
interface RecordedContexts {
  readonly heap?: Int32Array | undefined;
  /** Contexts by index of type, for all modules together. */
  readonly objects?: PageObjects | undefined;
  readonly waste?: { readonly file: WasteFile; readonly contexts: WasteContexts } | undefined;
}

/** A finding before contexts are merged: `contexts` are numbers of the builder. */
interface BuiltFinding extends Omit<PageFinding, "contexts" | "objects"> {
  readonly contexts: readonly number[];
}

/** Adds the frames and contexts of findings. */
function builtFindings(
  builder: PageBuilder,
  findings: readonly Finding[],
  recorded: RecordedContexts,
): BuiltFinding[] {
  const { heap, waste, objects } = recorded;
  const contextsOf: Readonly<Record<Finding["tool"], (of: Finding, own: number) => readonly number[]>> = {
    heap: (finding, own) =>
      kindOf(finding).isOfVariable
        ? []
        : [...(heap ?? [])].filter((context) => isAt(builder, context, own, false)),
    waste: (finding, own) =>
      (kindOf(finding).waste?.rows ?? []).flatMap((rows) =>
        [...waste!.contexts[rows]].filter((context) => isAt(builder, context, own, true)),
      ),
    objects: (finding) => objects?.contextsOf(finding) ?? [],
  };
  return findings.map((finding): BuiltFinding => {
    const { kind, tool, place, amount, unit, part, advice: _, ...details } = finding;
    const path = place.path.map((frame) => frameOf(builder, frame));
    const contexts = contextsOf[tool](finding, path[0]!);
    return {
      kind,
      tool,
      amount,
      unit,
      ...(place.isSampled === true ? { margin: marginOf(finding) } : {}),
      part,
      path,
      details,
      partOf: wholeOfPart(finding),
      says: findingInWords(finding, { isShort: true }),
      advice: adviceOf(finding),
      ...(place.via === undefined ? {} : { via: frameOf(builder, place.via) }),
      weight: weightOf(finding),
      contexts: [...new Set([...contexts, ...clearedBy(finding, contexts, recorded)])],
    };
  });
}

function marginOf({ unit, place: { margins } }: Finding): number {
  return (unit === "bytes" ? margins?.bytes : unit === "blocks" ? margins?.blocks : undefined) ?? 0;
}

/**
 * Returns the stores of allocating calls such as calloc, for kinds that attribute the cleared bytes to the
 * blocks.
 */
function clearedBy(finding: Finding, blocks: readonly number[], { waste }: RecordedContexts): number[] {
  const stores = kindOf(finding).waste?.storesOfBlocks;
  if (stores === undefined || waste === undefined) return [];
  const { file, contexts } = waste;
  const blockContexts = new Set(blocks);
  const calls = new Set(
    (file.blocks ?? []).flatMap(({ ips }, row) =>
      blockContexts.has(contexts.blocks[row]!) ? [ips[0]!.address] : [],
    ),
  );
  return file.stores.flatMap((store, row) =>
    store.class === stores && calls.has(store.ips[0]!.address) ? [contexts.stores[row]!] : [],
  );
}

/**
 * True if a context's site has the line of a frame. Without lines the frames are compared or, with
 * `functions`, their functions.
 */
function isAt(builder: PageBuilder, context: number, own: number, functions: boolean): boolean {
  const site = builder.siteOf(context);
  if (site < 0) return false;
  const at = builder.frameOf(site);
  if (at === own) return true;
  const [siteRow, ownRow] = [builder.frameRow(at), builder.frameRow(own)];
  const isSame =
    siteRow.function === ownRow.function && siteRow.file === ownRow.file && siteRow.module === ownRow.module;
  const { line = 0 } = ownRow;
  return isSame && (siteRow.line ?? 0) === line && (line > 0 || functions);
}

function frameOf(builder: PageBuilder, { function: name, file, line, address }: PlaceFrame): number {
  const module = address === undefined ? undefined : Math.floor(address / MODULE_SPAN);
  const offset = address === undefined ? undefined : address % MODULE_SPAN;
  return builder.knownFrame({ name, module, address: offset, file, line });
}
