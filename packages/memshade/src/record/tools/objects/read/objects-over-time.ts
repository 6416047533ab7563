import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { ContextOverTime, ObjectsOverTime } from "../../../../profile/model/objects.ts";
import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import { allocates, fixedLength } from "../instructions.ts";
import { COUNTER_BYTES } from "../layout.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import type { SizeModel } from "../size-model.ts";
import type { Counts, KnownObjects } from "./counts.ts";
import type { IntervalChanges } from "./read-intervals.ts";
import type { CountedInstance, SiteContexts } from "./site-contexts.ts";

/** Most contexts that are listed. The rest are only in the intervals' sums. */
const MOST_CONTEXTS = 256;

/** Effect of an increase of a counter by one. */
interface Meaning {
  readonly context: number;
  readonly objects: number;
  readonly bytes: number;
}

interface Sums {
  objects: number;
  bytes: number;
}

/** Returns the allocations of an instance over time since `before`; undefined if no interval has ended. */
export function objectsOverTime(
  instance: CountedInstance,
  before: Counts | undefined,
  knownObjects: KnownObjects,
  model: SizeModel,
  made: SiteContexts,
): ObjectsOverTime | undefined {
  const { tables, counts } = instance;
  const ended = changesSince(tables.intervals(), before, tables.layout);
  const open = without(valuesOf(counts, tables.layout), ended);
  const meanings = meaningsOf(instance, knownObjects, model, made);
  const intervals = [...ended, open].map((changes) => {
    const byContext = new Map<number, Sums>();
    for (const [address, amount] of changes)
      for (const { context, objects, bytes } of meanings.get(address) ?? [])
        if (amount > 0) add(byContext, context, { objects: objects * amount, bytes: bytes * amount });
    return byContext;
  });
  while (intervals.length > 0 && intervals[0].size === 0) intervals.shift();
  while (intervals.length > 0 && intervals.at(-1)!.size === 0) intervals.pop();
  if (intervals.length < 2) return undefined;
  let end = 0;
  const columns: ObjectsOverTime["intervals"] = { end: [], objects: [] };
  const contexts = new Map<number, ContextOverTime & { allBytes: number }>();
  intervals.forEach((byContext, interval) => {
    let allObjects = 0;
    for (const [context, { objects, bytes }] of byContext) {
      end += bytes;
      allObjects += objects;
      const row = entryOf(contexts, context, () => ({
        context,
        intervals: [],
        objects: [],
        bytes: [],
        allBytes: 0,
      }));
      row.intervals.push(interval);
      row.objects.push(objects);
      row.bytes.push(bytes);
      row.allBytes += bytes;
    }
    columns.end.push(end);
    columns.objects.push(allObjects);
  });
  return {
    intervals: columns,
    contexts: [...contexts.values()]
      .sort((a, b) => b.allBytes - a.allBytes || a.context - b.context)
      .slice(0, MOST_CONTEXTS)
      .map(({ allBytes: _, ...context }) => context),
  };
}

/** Returns the changes in the intervals, without those that were counted before. */
function changesSince(
  intervals: readonly IntervalChanges[],
  before: Counts | undefined,
  layout: ObjectsLayout,
): IntervalChanges[] {
  if (before === undefined) return [...intervals];
  const remaining = valuesOf(before, layout);
  return intervals.map((changes) => {
    const since = new Map<number, number>();
    for (const [address, amount] of changes) {
      const forgotten = Math.min(remaining.get(address) ?? 0, amount);
      remaining.set(address, (remaining.get(address) ?? 0) - forgotten);
      if (amount > forgotten) since.set(address, amount - forgotten);
    }
    return since;
  });
}

/** Returns counters by their addresses, minus the changes in the intervals. */
function without(values: Map<number, number>, intervals: readonly IntervalChanges[]): IntervalChanges {
  for (const changes of intervals)
    for (const [address, amount] of changes) values.set(address, (values.get(address) ?? 0) - amount);
  return values;
}

function valuesOf({ table, frames }: Counts, { contexts, counters }: ObjectsLayout): Map<number, number> {
  const values = new Map<number, number>();
  const add = (from: number, counts: Float64Array): void =>
    counts.forEach((value, number) => {
      values.set(from + number * COUNTER_BYTES, value);
    });
  if (!contexts) add(counters, table);
  for (const [address, { counts }] of frames) add(address + FRAME_HEADER_BYTES, counts);
  return values;
}

function meaningsOf(
  { tables, counts }: CountedInstance,
  { events, module }: KnownObjects,
  model: SizeModel,
  made: SiteContexts,
): Map<number, Meaning[]> {
  const meanings = new Map<number, Meaning[]>();
  const mean = (address: number, meaning: Meaning): void => {
    const existing = meanings.get(address);
    if (existing === undefined) meanings.set(address, [meaning]);
    else existing.push(meaning);
  };
  const framesOf = new Map<number, number[]>();
  for (const [address, { defined }] of counts.frames) {
    const frames = entryOf(framesOf, defined, () => []);
    frames.push(address);
  }
  events.forEach(({ op, first, second, defined, counter, elements }, event) => {
    if (!allocates(op)) return;
    const type = module.types[first];
    const elementBytes = model.elementBytes(type);
    const bytes = model.fixedBytes(type) + (elements === 0 ? fixedLength(op, second) * elementBytes : 0);
    const isInTable = (counter & 1) === 0;
    for (const frame of isInTable ? [0] : (framesOf.get(defined) ?? [])) {
      const context = made.indexOf(event, tables, frame);
      if (context === undefined) continue;
      const records = isInTable ? tables.layout.counters : frame + FRAME_HEADER_BYTES;
      mean(records + (counter >>> 1) * COUNTER_BYTES, { context, objects: 1, bytes });
      if (elements !== 0)
        mean(records + (elements >>> 1) * COUNTER_BYTES, { context, objects: 0, bytes: elementBytes });
    }
  });
  return meanings;
}

function add(sums: Map<number, Sums>, context: number, { objects, bytes }: Sums): void {
  const existing = sums.get(context);
  if (existing === undefined) sums.set(context, { objects, bytes });
  else {
    existing.objects += objects;
    existing.bytes += bytes;
  }
}
