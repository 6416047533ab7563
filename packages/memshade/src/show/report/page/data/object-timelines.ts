import { objectIntervals, objectPhases } from "../../../../explain/analyses/objects/over-time.ts";
import { equalStretches, liveAt } from "../../../../explain/analyses/objects/survival.ts";
import type { ModuleObjects, ObjectsProfile } from "../../../../profile/model/objects/objects.ts";
import type { PageRowsOfContexts } from "./collected-objects.ts";
import type { PageDeltas, PageLane, PageTimeline } from "./page-data.ts";
import { Deltas, pagePhases, type RowOf } from "./timelines.ts";

/** Stretches of what was allocated, where nobody has told of intervals. */
const STRETCHES = 128;

/** What each module's objects were over what it allocated. `rows`: the page's contexts of those of each part, before `rowOf`. */
export function objectTimelines(
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
        amount("objects", "objects made", "count", intervals.objects),
        amount("object-bytes", "bytes of objects made", "bytes", intervals.bytes),
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
