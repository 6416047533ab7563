import { rowsOfContexts } from "../analyses/over-time/heap-phases.ts";
import type { HeapProfile } from "../model/heap-profile.ts";
import { type InstanceHeap, liveBytesOf } from "../model/over-time/heap-intervals.ts";
import type { CounterTrack } from "../model/sample-profile.ts";
import { siteFrameOfContext } from "../model/site-frame.ts";
import { describeFrame, shortPlace } from "../report/frames.ts";
import type { History } from "./exported.ts";

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
    ...{ group, name, unit, clock: "allocation", times, values },
  });
}
