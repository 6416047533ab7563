import type { FrameRules } from "../../../../explain/analyses/frames/frame-rules.ts";
import { ownDepth } from "../../../../explain/analyses/frames/own-place.ts";
import { formatCount, formatPercent } from "../../../../profile/model/format.ts";
import {
  type SampleModule,
  type SampleProfile,
  sumByStack,
  type ValueType,
} from "../../../../profile/model/sample-profile.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import { MEMSHADE_VERSION } from "../../../../profile/model/version.ts";
import { MOST_CONTEXTS, PageBuilder } from "./page-builder.ts";
import {
  FRAME_FLAGS,
  PAGE_SCHEMA,
  PAGE_VERSION,
  type PageData,
  type PageTimeline,
  type PageUnit,
} from "./page-data.ts";
import { measuredLines, pageSources, type ReadSource, type SourcesKept } from "./sources.ts";
import { Deltas } from "./timelines.ts";

export interface SamplePageOptions {
  readonly rules: FrameRules;
  readonly sources: SourcesKept;
  readonly read: ReadSource;
  /** Sentences: what was not followed. */
  readonly gaps?: readonly string[] | undefined;
  /** Of the recording; empty: it is not known. */
  readonly command: readonly string[];
}

const UNITS: Readonly<Record<ValueType["unit"], PageUnit>> = {
  count: "samples",
  bytes: "bytes",
  nanoseconds: "ns",
};
/** Intervals that the time of a recording is cut into. */
const MOST_INTERVALS = 512;
/** Where systems keep their own objects. */
const SYSTEM = /^(?:\/usr)?\/lib(?:32|64|x32|exec)?\/|^\[|^\/System\/|^[A-Z]:\\Windows\\/i;

/** Weighted stacks, of a recording or of the threads of a dump, as a page. */
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
 * Gives a page what weighted stacks have of frames, contexts and weights.
 *
 * @param libraries of each frame, in words
 * @returns the page's context of a stack
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

/** The context of each stack, with the site that names it. */
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

/** What an object is that the system brings along, without whose source nobody asks for its lines. */
function systemLibrary(module: SampleModule | undefined): string | undefined {
  const place = pathOf(module);
  return place !== undefined && SYSTEM.test(place) ? module!.name : undefined;
}

function pathOf(module: SampleModule | undefined): string | undefined {
  return module?.path ?? module?.name;
}

/** What brings names where most of the program's own code has none. */
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

/** Samples over time; undefined where they have no times. */
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
