import type { FrameRules } from "../../../../explain/analyses/frames/frame-rules.ts";
import { ownDepth } from "../../../../explain/analyses/frames/own-place.ts";
import { bareName } from "../../../../explain/analyses/frames/place-names.ts";
import { heapPhases, rowsOfContexts } from "../../../../explain/analyses/over-time.ts";
import { findPhases } from "../../../../explain/analyses/working-set.ts";
import { formatCount, formatPercent } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { InstanceHeap } from "../../../../profile/model/over-time/heap-intervals.ts";
import {
  type SampleModule,
  type SampleProfile,
  sumByStack,
  type ValueType,
} from "../../../../profile/model/sample-profile.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import { MEMSHADE_VERSION } from "../../../../profile/model/version.ts";
import type {
  Attribution,
  InstanceWorkingSet,
  WorkingSetProfile,
} from "../../../../profile/model/working-set/working-set.ts";
import { MOST_CONTEXTS, PageBuilder } from "./page-builder.ts";
import {
  FRAME_FLAGS,
  PAGE_SCHEMA,
  PAGE_VERSION,
  type PageData,
  type PageDeltas,
  type PageLane,
  type PagePhase,
  type PageTimeline,
  type PageUnit,
} from "./page-data.ts";
import { measuredLines, pageSources, type ReadSource, type SourcesKept } from "./sources.ts";

export interface SamplePageOptions {
  readonly rules: FrameRules;
  readonly sources: SourcesKept;
  readonly read: ReadSource;
  /** Sentences about data that was not recorded. */
  readonly gaps?: readonly string[] | undefined;
  /** Command of the recording; empty if unknown. */
  readonly command: readonly string[];
}

const UNITS: Readonly<Record<ValueType["unit"], PageUnit>> = {
  count: "samples",
  bytes: "bytes",
  nanoseconds: "ns",
};
/** Number of intervals that a recording is divided into. */
const MOST_INTERVALS = 512;
/** Matches paths of system libraries. */
const SYSTEM = /^(?:\/usr)?\/lib(?:32|64|x32|exec)?\/|^\[|^\/System\/|^[A-Z]:\\Windows\\/i;

/** Builds the page of weighted stacks: of a recording, or of the threads of a dump. */
export function pageOfSamples(profile: SampleProfile, options: SamplePageOptions): PageData {
  const { name, threads, samples, notes } = profile;
  const builder = new PageBuilder();
  const contextOf = addSamples(builder, profile, librariesOf(profile, options.rules));
  const tables = builder.build(MOST_CONTEXTS);
  const { strings, frames, weights, mergedContexts } = tables;
  const timeline = samplesTimeline(profile, (stack) => tables.rowOf[contextOf(stack)]!);
  const page: PageData = {
    schema: PAGE_SCHEMA,
    version: PAGE_VERSION,
    kind: "samples",
    head: {
      writtenBy: MEMSHADE_VERSION,
      program: name,
      ...(options.command.length === 0 ? {} : { command: commandLine(options.command) }),
      facts: [
        { label: "Samples", value: formatCount(samples.length) },
        { label: "Threads", value: formatCount(threads.length) },
      ],
      keys: weights.map(({ id, label, total, unit }) => ({
        label,
        word: "call path",
        value: total,
        unit,
        weight: id,
      })),
      notTracked: [...notes, ...(options.gaps ?? [])],
      hints: hintsOf(profile),
      ...(mergedContexts === 0 ? {} : { merged: { contexts: mergedContexts, bound: MOST_CONTEXTS } }),
    },
    strings,
    modules: tables.modules,
    frames,
    contexts: tables.contexts,
    throughMerged: tables.throughMerged,
    weights,
    timelines: timeline === undefined ? [] : [timeline],
    ratios: [],
    findings: [],
    objects: [],
    histograms: [],
    statics: [],
    sources: [],
    sourcesKept: options.sources,
  };
  if (options.sources === "none") return page;
  return { ...page, ...pageSources(page, measuredLines(page), builder.strings, options) };
}

/**
 * Adds frames, contexts and weights of weighted stacks to a page.
 *
 * @param libraries library of each frame
 * @returns the page context of a stack
 */
export function addSamples(
  builder: PageBuilder,
  profile: SampleProfile,
  libraries: readonly (string | undefined)[],
): (stack: number) => number {
  const { valueTypes, modules } = profile;
  modules.forEach(({ name: module, path, buildId }, index) => {
    builder.module(index, {
      name: module,
      ...(path === undefined ? {} : { path }),
      ...(buildId === undefined ? {} : { buildId }),
    });
  });
  const contexts = contextsOf(builder, profile, libraries);
  const noStack = () =>
    builder.context(-1, builder.frame({ function: "[no stack]", flags: FRAME_FLAGS.notCode }));
  const rows = sumByStack(profile);
  const contextOf = (stack: number) => (stack < 0 ? noStack() : contexts[stack]!);
  const ofRows = rows.map(({ stack }) => contextOf(stack));
  const order = [...valueTypes.keys()].reverse();
  for (const index of order) {
    const { type, unit } = valueTypes[index]!;
    builder.addWeight(
      { id: type, label: type, word: "call path", unit: UNITS[unit], tool: "samples" },
      ofRows,
      rows.map(({ values }) => values[index]!),
    );
  }
  return contextOf;
}

function librariesOf({ frames, modules }: SampleProfile, rules: FrameRules): (string | undefined)[] {
  return frames.map(
    ({ function: name, file, module }) =>
      rules.libraryOf({
        function: name,
        file,
        module: pathOf(module === undefined ? undefined : modules[module]),
      }) ?? (module === undefined || file !== undefined ? undefined : systemLibrary(modules[module])),
  );
}

/** Returns the context of each stack and sets its site. */
function contextsOf(
  builder: PageBuilder,
  { frames, stackPrefix, stackFrame }: SampleProfile,
  libraries: readonly (string | undefined)[],
): Int32Array {
  const numbers = frames.map(({ function: name, file, line, column, address, module, inlined }, index) =>
    builder.frame({
      function: name,
      module,
      address,
      file,
      line,
      column,
      library: libraries[index],
      flags: inlined ? FRAME_FLAGS.inlined : 0,
    }),
  );
  const contexts = new Int32Array(stackFrame.length);
  const sites = new Int32Array(stackFrame.length);
  stackFrame.forEach((frame, stack) => {
    const caller = stackPrefix[stack]!;
    const context = builder.context(caller < 0 ? -1 : contexts[caller]!, numbers[frame]!);
    contexts[stack] = context;
    const isOwn = ownDepth([libraries[frame]]) === 0;
    sites[stack] = isOwn ? context : caller < 0 ? -1 : sites[caller]!;
    if (sites[stack] !== -1) builder.setSite(context, sites[stack]!);
  });
  return contexts;
}

/**
 * Returns the name of a system library; undefined for other modules. Lines of system libraries are of no use
 * without their source.
 */
function systemLibrary(module: SampleModule | undefined): string | undefined {
  const place = pathOf(module);
  return place !== undefined && SYSTEM.test(place) ? module!.name : undefined;
}

function pathOf(module: SampleModule | undefined): string | undefined {
  return module?.path ?? module?.name;
}

/** Returns advice on names if most of the program's own code has none. */
function hintsOf({ frames, modules }: SampleProfile): string[] {
  const own = frames.filter(
    ({ module }) => module !== undefined && systemLibrary(modules[module]) === undefined,
  );
  const nameless = own.filter(({ function: name, file }) => file === undefined && /^0x[\da-f]+/.test(name));
  if (nameless.length <= own.length / 2) return [];
  const [first] = nameless.map(({ module }) => modules[module!]!.name);
  return [
    `${formatPercent(nameless.length, own.length)} of the program's frames have no name: ${first} has no symbols. ` +
      "--binary-path FOLDER gives the file as it was before they were stripped, or build it with -g.",
  ];
}

/** Returns samples over time; undefined if samples have no times. */
export function samplesTimeline(
  { samples, valueTypes }: SampleProfile,
  rowOf: (stack: number) => number,
): PageTimeline | undefined {
  const { timeMs, length, stack, values } = samples;
  if (timeMs === undefined || length < 2) return undefined;
  const last = timeMs.reduce((most, time) => Math.max(most, time), 0);
  if (last === 0) return undefined;
  const intervals = Math.min(MOST_INTERVALS, length);
  const deltas = new Deltas(
    valueTypes.map(({ type }) => type),
    intervals,
  );
  const counts = new Float64Array(intervals);
  for (let sample = 0; sample < length; sample++) {
    const interval = Math.min(intervals - 1, Math.max(0, Math.floor((timeMs[sample]! / last) * intervals)));
    counts[interval]!++;
    deltas.add(
      interval,
      rowOf(stack[sample]!),
      values.map((column) => column[sample]!),
    );
  }
  return {
    tool: "samples",
    unit: "ms",
    start: 0,
    ends: Float64Array.from({ length: intervals }, (_, interval) => ((interval + 1) * last) / intervals),
    lanes: [
      {
        id: "samples",
        label: "samples",
        word: "call path",
        unit: "samples",
        shape: "amount",
        values: counts,
      },
    ],
    phases: [],
    deltas: deltas.build(),
  };
}

/** Builder contexts of the attributions of an instance's lines. */
export interface WorkingSetContexts {
  readonly owners: Int32Array;
  readonly firstTouch: Int32Array;
}

/** Maps a context of a profile to its row on the page. */
export type RowOf = (context: number) => number;

/** Returns the heap over time, for the instance that allocates most; undefined if it was not recorded. */
export function heapTimeline(profile: HeapProfile, rowOf: RowOf): PageTimeline | undefined {
  const instances = (profile.overTime?.instances ?? []).filter(({ intervals }) => intervals.end.length > 0);
  const instance = largest(instances, ({ intervals }) => intervals.end.at(-1)! - intervals.start[0]!);
  if (instance === undefined) return undefined;
  const { intervals } = instance;
  const lane = (
    [id, label, word, unit, shape]: readonly [string, string, string, PageLane["unit"], PageLane["shape"]],
    values: readonly number[],
  ): PageLane => ({ id, label, word, unit, shape, values: Float64Array.from(values) });
  return {
    tool: "heap",
    unit: "allocations",
    start: intervals.start[0]!,
    ends: Float64Array.from(intervals.end),
    ...instanceOf(profile.modules[instance.module]?.name, instance.instance, instances.length),
    lanes: [
      lane(["live", "live heap", "live", "bytes", "level"], intervals.liveBytes),
      lane(["most", "most live in an interval", "peak", "bytes", "most"], intervals.maxBytes),
      lane(["liveBlocks", "live blocks", "live", "blocks", "level"], intervals.liveBlocks),
      lane(["bytes", "bytes allocated", "block", "bytes", "amount"], intervals.allocatedBytes),
      lane(["freed", "bytes released", "block", "bytes", "amount"], intervals.freedBytes),
    ],
    phases: pagePhases(heapPhases(profile, instance).phases),
    deltas: heapDeltas(profile, instance, rowOf),
  };
}

function heapDeltas(profile: HeapProfile, instance: InstanceHeap, rowOf: RowOf): PageDeltas {
  const rows = rowsOfContexts(profile);
  const deltas = new Deltas(["bytes", "blocks", "freed", "freedBlocks"], instance.intervals.end.length);
  const begin = new Map<number, { bytes: number; blocks: number }>();
  for (const context of instance.contexts) {
    const existing = rows.get(context.stackId);
    if (existing === undefined) continue;
    const row = rowOf(existing);
    context.intervals.forEach((interval, index) => {
      const { allocatedBytes, allocations, freedBytes, frees } = context;
      deltas.add(interval, row, [
        allocatedBytes[index]!,
        allocations[index]!,
        freedBytes[index]!,
        frees[index]!,
      ]);
    });
    if (context.startBlocks === 0) continue;
    const { bytes, blocks } = begin.get(row) ?? { bytes: 0, blocks: 0 };
    begin.set(row, { bytes: bytes + context.startBytes, blocks: blocks + context.startBlocks });
  }
  if (begin.size === 0) return deltas.build();
  const started = [...begin].sort(([a], [b]) => a - b);
  return {
    ...deltas.build(),
    begin: {
      context: Int32Array.from(started, ([row]) => row),
      bytes: Float64Array.from(started, ([, { bytes }]) => bytes),
      blocks: Float64Array.from(started, ([, { blocks }]) => blocks),
    },
  };
}

/**
 * Returns the working set over time at the finest scale, for the longest-running instance; undefined without
 * an instance.
 */
export function workingSetTimeline(
  profile: WorkingSetProfile,
  contexts: readonly WorkingSetContexts[],
  rowOf: RowOf,
): PageTimeline | undefined {
  const instances = profile.instances.filter(({ levels }) => levels[0]!.end.length > 0);
  const instance = largest(instances, ({ duration }) => duration);
  if (instance === undefined) return undefined;
  const { owners, firstTouch } = contexts[profile.instances.indexOf(instance)]!;
  const { start, end, counts, fresh } = instance.levels[0]!;
  const bytesOf = (id: string, label: string, values: readonly number[] | undefined): PageLane[] =>
    values === undefined
      ? []
      : [
          {
            id,
            label,
            word: "working set",
            unit: "bytes",
            shape: "used",
            values: Float64Array.from(values, (lines) => lines * profile.lineBytes),
          },
        ];
  return {
    tool: "workingset",
    unit: profile.unit === "accesses" ? "accesses" : "ns",
    start: start[0]!,
    ends: Float64Array.from(end),
    ...instanceOf(profile.modules[instance.module]?.name, instance.instance, instances.length),
    lanes: [
      ...bytesOf("lines", "working set", counts.lines),
      ...bytesOf("read", "lines read", counts.read),
      ...bytesOf("written", "lines written", counts.written),
      ...bytesOf("fresh", "new lines", fresh),
    ],
    phases: pagePhases(findPhases(instance)),
    ...workingSetDeltas(instance, { owners, firstTouch }, profile.lineBytes, rowOf),
  };
}

function workingSetDeltas(
  { owners, firstTouch, levels }: InstanceWorkingSet,
  contexts: WorkingSetContexts,
  lineBytes: number,
  rowOf: RowOf,
): { deltas?: PageDeltas } {
  if (owners === undefined && firstTouch === undefined) return {};
  const deltas = new Deltas(["owned", "first-touch"], levels[0]!.end.length);
  const addAll = (attribution: Attribution | undefined, rows: Int32Array, column: 0 | 1): void => {
    attribution?.levels[0]?.intervals.forEach((entries, interval) => {
      for (const [context, lines] of entries) {
        const bytes = lines * lineBytes;
        deltas.add(interval, rowOf(rows[context]!), column === 0 ? [bytes, 0] : [0, bytes]);
      }
    });
  };
  addAll(owners, contexts.owners, 0);
  addAll(firstTouch, contexts.firstTouch, 1);
  return { deltas: deltas.build() };
}

function largest<T>(rows: readonly T[], size: (row: T) => number): T | undefined {
  return rows.reduce<T | undefined>(
    (most, row) => (most !== undefined && size(most) >= size(row) ? most : row),
    undefined,
  );
}

function instanceOf(module = "module", instance: number, count: number): { of?: string } {
  if (count < 2) return {};
  const othersText = count === 2 ? "another one is" : `${count - 1} others are`;
  return { of: `${module}, instance ${instance}; ${othersText} not shown` };
}

/** Names phases. Adjacent phases of one function are merged, because the page shows their sizes anyway. */
export function pagePhases(
  phases: readonly { readonly first: number; readonly last: number; readonly name: string | undefined }[],
): PagePhase[] {
  const named: PagePhase[] = [];
  for (const [index, { first, last, name }] of phases.entries()) {
    const before = named.at(-1);
    const own = name === undefined ? `${index + 1}` : bareName(name);
    if (before?.name === own) named.splice(-1, 1, { ...before, to: last + 1 });
    else named.push({ name: own, from: first, to: last + 1 });
  }
  return named;
}

/** Collects amounts of contexts by interval. Amounts added twice for one interval and row are summed. */
export class Deltas {
  readonly #weights: readonly string[];
  readonly #intervals: number;
  readonly #interval: number[] = [];
  readonly #row: number[] = [];
  /** Values of each weight, in the order of `add`. */
  readonly #values: readonly number[][];

  constructor(weights: readonly string[], intervals: number) {
    this.#weights = weights;
    this.#intervals = intervals;
    this.#values = weights.map(() => []);
  }

  add(interval: number, row: number, values: readonly number[]): void {
    if (interval >= this.#intervals || row < 0) return;
    this.#interval.push(interval);
    this.#row.push(row);
    for (let index = 0; index < values.length; index++) this.#values[index]!.push(values[index]!);
  }

  build(): PageDeltas {
    const order = this.#sorted();
    const [interval, row] = [this.#interval, this.#row];
    const offset = new Int32Array(this.#intervals + 1);
    const context = new Int32Array(order.length);
    const sums = this.#weights.map(() => new Float64Array(order.length));
    let rows = 0;
    for (let at = 0; at < order.length; at++) {
      const added = order[at]!;
      const before = order[at - 1];
      const isNew =
        before === undefined || interval[before] !== interval[added] || row[before] !== row[added];
      if (isNew) {
        context[rows++] = row[added]!;
        offset[interval[added]! + 1]!++;
      }
      for (let index = 0; index < sums.length; index++)
        sums[index]![rows - 1]! += this.#values[index]![added]!;
    }
    for (let at = 0; at < this.#intervals; at++) offset[at + 1]! += offset[at]!;
    const columns = sums.map((values, index) => ({
      weight: this.#weights[index]!,
      values: values.slice(0, rows),
    }));
    return {
      offset,
      context: context.slice(0, rows),
      columns: columns.filter(({ values }) => values.some((value) => value !== 0)),
    };
  }

  /**
   * Returns indices sorted by interval and row. Sorting numbers that combine interval, row and index is much
   * faster than a comparison function.
   */
  #sorted(): Int32Array {
    const count = this.#row.length;
    const span = this.#row.reduce((most, row) => Math.max(most, row), 0) + 1;
    const keys = Float64Array.from(
      this.#row,
      (row, added) => (this.#interval[added]! * span + row) * count + added,
    ).sort();
    return Int32Array.from(keys, (key) => key % count);
  }
}
