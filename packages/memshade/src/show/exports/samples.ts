import { shortPlace } from "../../explain/analyses/frames/place-names.ts";
import { rowsOfContexts } from "../../explain/analyses/over-time.ts";
import {
  firstOfTool,
  gapsOfTool,
  isAdditive,
  measuresOfTool,
  placedMeasures,
  sampleUnit,
} from "../../explain/measures/index.ts";
import type { Measure, MeasuredProfiles, SampleType } from "../../explain/measures/measure.ts";
import {
  type Column,
  framesOf,
  type MeasuredFrame,
  type MeasuredStacks,
} from "../../explain/measures/measured-stacks.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type InstanceHeap, liveBytesOf } from "../../profile/model/over-time/heap-intervals.ts";
import {
  type CounterTrack,
  type SampleFrame,
  type SampleModule,
  type SampleProfile,
  SampleProfileBuilder,
  type ValueType,
} from "../../profile/model/sample-profile.ts";
import { siteFrameOfContext } from "../../profile/model/site-frame.ts";
import { MEASURES, type WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import { describeFrame } from "../report/frames.ts";

/** A weight of a tool's call stacks: a value type with its description. */
export interface Weight extends ValueType {
  /** Name on the command line: the id of a measure. */
  readonly key: string;
  readonly says: string;
  /** Operation on the bytes, and the count to store beside them, for formats that have both. */
  readonly with?: { readonly verb: string; readonly type: string; readonly counted: string } | undefined;
}

/** A weight of bytes with an operation. */
export type CountedWeight = Weight & { readonly with: NonNullable<Weight["with"]> };

/** A tool's record as weighted call stacks. */
export interface ExportedSamples {
  readonly profile: SampleProfile;
  /** Descriptions of the value types, in their order. */
  readonly weights: readonly Weight[];
  /** Index of the default weight. */
  readonly shown: number;
}

const NO_PATH: SampleFrame = { function: "[no call path]" };
const REST: SampleFrame = { function: "[in no context]" };
const OTHERS: SampleFrame = { function: "[others, not listed]" };

/** Returns the weights of a tool's stacks in file order. Readers show the last one first. */
export function weightsOfTool(tool: MeasuredStacks["tool"]): Weight[] {
  return measuresOfTool(tool).filter(isAdditive).map(weightOf).reverse();
}

function weightOf(measure: Measure): Weight {
  const { id: key, tool, meaning: says } = measure;
  const { type, done }: SampleType = measure.sample ?? { type: key.replaceAll("-", "_") };
  const counted = measuresOfTool(tool).find(({ id }) => id === done?.count)?.sample;
  return {
    key,
    type,
    unit: sampleUnit(measure),
    says,
    with: done && { verb: done.verb, type: counted?.type ?? done.count, counted: done.counted },
  };
}

/** Returns the call stacks of a tool with all additive measures, and its record over time. */
export function exportedSamples(
  measured: MeasuredStacks,
  profiles: MeasuredProfiles,
  { counters, history }: { counters?: CounterTrack[] | undefined; history?: History | undefined } = {},
): ExportedSamples {
  const { tool, name, stacks, rows, notes, gaps } = measured;
  const measures = placedMeasures(tool, profiles).reverse();
  const weights = measures.map(weightOf);
  const columns = measures.map((measure) => wholeNumbers(measure.column(profiles)!));
  const builder = new SampleProfileBuilder({
    name,
    valueTypes: weights.map(({ type, unit, says }) => ({ type, unit, says })),
    counters,
    notes: [
      ...notes,
      ...measures.flatMap(({ remark }) => remark?.(profiles) ?? []),
      ...gapsOfTool(tool, profiles),
      ...gaps,
    ],
  });
  for (const module of modulesOf(measured)) builder.addModule(module);
  const thread = builder.addThread({ pid: 0, tid: 0, name });
  const frames = stacks.frames.map(sampleFrame);
  const stackOf = (row: number): number => {
    const path = framesOf({ ...stacks, frames }, rows[row]!);
    return builder.stackOf(path.length === 0 ? [NO_PATH] : path);
  };
  for (let row = 0; row < rows.length; row++) {
    const values = columns.map(({ amounts }) => Number(amounts[row]));
    if (values.some((value) => value !== 0)) builder.addSample(thread, stackOf(row), values);
  }
  const rest = columns.map((column) => Math.max(0, column.rest ?? 0));
  if (rest.some((value) => value > 0)) builder.addSample(thread, builder.stackOf([REST]), rest);
  const profile = builder.finish(
    history && {
      name: history.name,
      unit: history.unit,
      times: history.events.map(({ time }) => time),
      stacks: history.events.map(({ row }) => (row === undefined ? builder.stackOf([OTHERS]) : stackOf(row))),
      values: history.events.map(({ value }) => value),
    },
  );
  const candidates = firstOfTool(tool)
    .map((id) => weights.findIndex(({ key }) => key === id))
    .filter((index) => index >= 0);
  const hasAny = (index: number) => profile.samples.values[index]!.some((value) => value > 0);
  return { profile, weights, shown: candidates.find(hasAny) ?? candidates[0] ?? 0 };
}

/** Addresses are offsets in the module's code, as in all reports. */
function modulesOf({ modules, stacks: { frames } }: MeasuredStacks): SampleModule[] {
  const ends = modules.map(({ bytes = 0 }) => bytes);
  for (const { moduleIndex, offset = 0 } of frames)
    if (moduleIndex !== undefined && moduleIndex < ends.length)
      ends[moduleIndex] = Math.max(ends[moduleIndex]!, offset + 1);
  return modules.map(({ name, buildId }, index) => ({ name, buildId, start: 0, end: ends[index]! }));
}

function sampleFrame(frame: MeasuredFrame): SampleFrame {
  const { file, line, column, isInlined, language, library, offset, moduleIndex } = frame;
  // JavaScript frames have no address.
  const place = moduleIndex === undefined ? {} : { address: offset, module: moduleIndex };
  return { function: nameOf(frame), file, line, column, inlined: isInlined, language, library, ...place };
}

/** Formats `parse of draw.wasm`, `[static data]`, `[unknown code]+0x1a2b`. */
export function nameOf({ function: name, module, isWord, offset }: MeasuredFrame): string {
  if (isWord === true) return `[${name}]`;
  if (name === undefined)
    return `[${module ?? "unknown code"}]${offset === undefined ? "" : `+0x${offset.toString(16)}`}`;
  return module === undefined ? name : `${name} of ${module}`;
}

/** Rounds a column to whole numbers with the same rounded sum. */
function wholeNumbers(column: Column): Column {
  const { amounts, rest = 0 } = column;
  let isWhole = Number.isInteger(rest);
  for (let row = 0; isWhole && row < amounts.length; row++)
    isWhole = typeof amounts[row] === "bigint" || Number.isInteger(amounts[row]);
  if (isWhole) return column;
  const rounded = wholeAmounts([...Array.from(amounts as ArrayLike<number>), rest]);
  return { ...column, amounts: rounded.slice(0, -1), rest: rounded.at(-1) };
}

/** Rounds amounts to whole numbers. Each prefix sum is rounded, so that the total is the rounded sum. */
export function wholeAmounts(amounts: readonly number[]): number[] {
  let exact = 0;
  let written = 0;
  return amounts.map((amount) => {
    exact += amount;
    const whole = Math.max(0, Math.round(exact) - written);
    written += whole;
    return whole;
  });
}

/** Values of rows over time; an undefined row holds values that were not recorded by row. */
export interface History {
  readonly name: string;
  readonly unit: "bytes" | "count";
  readonly events: readonly {
    readonly time: number;
    readonly row: number | undefined;
    readonly value: number;
  }[];
}

/** Returns live bytes and blocks over time per instance; empty if not recorded. */
export function heapCounters(profile: HeapProfile): CounterTrack[] {
  return instancesOf(profile).flatMap(({ group, instance: { intervals, startBytes, startBlocks } }) => {
    const track = trackOf(group, [intervals.start[0] ?? 0, ...intervals.end]);
    return [
      track("live heap", "bytes", [startBytes, ...intervals.liveBytes]),
      track("live blocks", "count", [startBlocks, ...intervals.liveBlocks]),
    ];
  });
}

/** Returns the same, with allocations and releases of each interval, and live bytes of the largest sites. */
export function detailedHeapCounters(profile: HeapProfile): CounterTrack[] {
  const rows = rowsOfContexts(profile);
  const details = instancesOf(profile).flatMap(({ group, instance }): CounterTrack[] => {
    const { intervals, contexts } = instance;
    const during = trackOf(group, [...intervals.start, ...intervals.end.slice(-1)]);
    const ended = trackOf(group, [intervals.start[0] ?? 0, ...intervals.end]);
    const sites = new Map<string, { values: Float64Array; start: number }>();
    for (const context of contexts) {
      const row = rows.get(context.stackId);
      const frame = row === undefined ? undefined : siteFrameOfContext(profile, row);
      const described = frame === undefined ? undefined : describeFrame(profile, frame);
      const place = described && shortPlace(described);
      const name = `${described?.function ?? "[no call path]"}${place === undefined ? "" : ` (${place})`}`;
      const live = liveBytesOf(context, intervals.start.length);
      const ofSite = sites.get(name);
      sites.set(name, {
        values: ofSite === undefined ? live : live.map((value, i) => value + ofSite.values[i]!),
        start: context.startBytes + (ofSite?.start ?? 0),
      });
    }
    const held = (values: readonly number[]) => [...values, ...values.slice(-1)];
    return [
      during("most live in an interval", "bytes", held(intervals.maxBytes)),
      during("allocated in an interval", "bytes", held(intervals.allocatedBytes)),
      during("freed in an interval", "bytes", held(intervals.freedBytes)),
      ...[...sites].map(([name, { values, start }]) => ended(`live of ${name}`, "bytes", [start, ...values])),
    ];
  });
  return [...heapCounters(profile), ...details];
}

/** Returns allocations by row and interval; undefined if not recorded. */
export function allocationHistory(profile: HeapProfile): History | undefined {
  const rows = rowsOfContexts(profile);
  const events = instancesOf(profile).flatMap(({ instance: { intervals, contexts } }) => {
    const otherBytes = [...intervals.allocatedBytes];
    const own = contexts.flatMap((context) =>
      context.intervals.map((interval, i) => {
        const value = context.allocatedBytes[i]!;
        otherBytes[interval]! -= value;
        return { time: intervals.end[interval]!, row: rows.get(context.stackId), value };
      }),
    );
    const rest = otherBytes.map((value, i) => ({
      time: intervals.end[i]!,
      row: undefined,
      value: Math.max(0, value),
    }));
    return [...own, ...rest].filter(({ value }) => value > 0);
  });
  if (events.length === 0) return undefined;
  return { name: "alloc_space over time", unit: "bytes", events: events.sort((a, b) => a.time - b.time) };
}

function instancesOf(profile: HeapProfile): { group: string; instance: InstanceHeap }[] {
  const { instances = [] } = profile.overTime ?? {};
  return instances.map((instance) => {
    const name = profile.modules[instance.module]?.name ?? "a module";
    const number = instances.length > 1 ? `, instance ${instance.instance}` : "";
    return { group: `heap of ${name}${number}`, instance };
  });
}

function trackOf(group: string, times: readonly number[]) {
  return (name: string, unit: CounterTrack["unit"], values: readonly number[]): CounterTrack => ({
    group,
    name,
    unit,
    clock: "allocation",
    times,
    values,
  });
}

/** Returns the working set over time at the finest scale, by kind, per instance. Bytes. */
export function workingSetCounters(profile: WorkingSetProfile): CounterTrack[] {
  const { modules, instances, lineBytes, unit } = profile;
  return instances.flatMap(({ module, instance, levels }) => {
    const [finest] = levels;
    if (finest === undefined) return [];
    const number = instances.length > 1 ? `, instance ${instance}` : "";
    const group = `working set of ${modules[module]?.name ?? "a module"}${number}`;
    // A value that applies to an interval is written at its begin, and again at the end of the last one.
    const held = (values: readonly number[]) => [...values, ...values.slice(-1)];
    const isTime = unit !== "accesses";
    // Viewers show microseconds at the finest, so nanoseconds are converted.
    const times = held(finest.start).map(
      (_, row) => (finest.start[row] ?? finest.end.at(-1)!) / (isTime ? 1000 : 1),
    );
    const track = (name: string, values: readonly number[]): CounterTrack => ({
      group,
      name,
      unit: "bytes",
      clock: isTime ? `µs (${unit})` : "access",
      times,
      values: held(values),
    });
    const measured = MEASURES.flatMap((measure) => {
      const lines = finest.counts[measure];
      if (lines === undefined || measure.startsWith("pages")) return [];
      const name = measure === "lines" ? "working set" : `working set: ${measure}`;
      return [
        track(
          name,
          lines.map((count) => count * lineBytes),
        ),
      ];
    });
    return [
      ...measured,
      track(
        "new lines",
        finest.fresh.map((count) => count * lineBytes),
      ),
    ];
  });
}
