import { shortPlace } from "../../explain/analyses/frames/place-names.ts";
import { rowsOfContexts } from "../../explain/analyses/over-time/heap-phases.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type InstanceHeap, liveBytesOf } from "../../profile/model/over-time/heap-intervals.ts";
import type { CounterTrack } from "../../profile/model/sample-profile.ts";
import { siteFrameOfContext } from "../../profile/model/site-frame.ts";
import { MEASURES, type WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import { describeFrame } from "../report/frames.ts";

/** What rows did when; undefined as a row: those that nobody tells apart. */
export interface History {
  readonly name: string;
  readonly unit: "bytes" | "count";
  readonly events: readonly {
    readonly time: number;
    readonly row: number | undefined;
    readonly value: number;
  }[];
}

/** What is live over time, of each instance; empty where nobody recorded it. */
export function heapCounters(profile: HeapProfile): CounterTrack[] {
  return instancesOf(profile).flatMap(({ group, instance: { intervals, startBytes, startBlocks } }) => {
    const track = trackOf(group, [intervals.start[0] ?? 0, ...intervals.end]);
    return [
      track("live heap", "bytes", [startBytes, ...intervals.liveBytes]),
      track("live blocks", "count", [startBlocks, ...intervals.liveBlocks]),
    ];
  });
}

/** The same, with what happened in each interval and what was live of each site that matters. */
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
      const known = sites.get(name);
      sites.set(name, {
        values: known === undefined ? live : live.map((value, i) => value + known.values[i]!),
        start: context.startBytes + (known?.start ?? 0),
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

/** Who allocated in which interval; undefined where nobody recorded that. */
export function allocationHistory(profile: HeapProfile): History | undefined {
  const rows = rowsOfContexts(profile);
  const events = instancesOf(profile).flatMap(({ instance: { intervals, contexts } }) => {
    const others = [...intervals.allocatedBytes];
    const own = contexts.flatMap((context) =>
      context.intervals.map((interval, i) => {
        const value = context.allocatedBytes[i]!;
        others[interval]! -= value;
        return { time: intervals.end[interval]!, row: rows.get(context.stackId), value };
      }),
    );
    const rest = others.map((value, i) => ({
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

/** Lines and what they are of, over time at the finest scale: of each instance, in bytes. */
export function workingSetCounters(profile: WorkingSetProfile): CounterTrack[] {
  const { modules, instances, lineBytes, unit } = profile;
  return instances.flatMap(({ module, instance, levels }) => {
    const [finest] = levels;
    if (finest === undefined) return [];
    const number = instances.length > 1 ? `, instance ${instance}` : "";
    const group = `working set of ${modules[module]?.name ?? "a module"}${number}`;
    // What holds for an interval is written at its beginning, and once more at the end of the last one.
    const held = (values: readonly number[]) => [...values, ...values.slice(-1)];
    const isTime = unit !== "accesses";
    // Nanoseconds would be too fine for viewers: microseconds are the finest that they show.
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
