import { bareName } from "../../../../explain/analyses/frames/place-names.ts";
import { heapPhases, rowsOfContexts } from "../../../../explain/analyses/over-time/heap-phases.ts";
import { findPhases } from "../../../../explain/analyses/working-set/phases.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { InstanceHeap } from "../../../../profile/model/over-time/heap-intervals.ts";
import type {
  Attribution,
  InstanceWorkingSet,
  WorkingSetProfile,
} from "../../../../profile/model/working-set/working-set.ts";
import type { PageDeltas, PageLane, PagePhase, PageTimeline } from "./page-data.ts";

/** The builder's contexts of what lines of an instance are attributed to. */
export interface WorkingSetContexts {
  readonly owners: Int32Array;
  readonly firstTouch: Int32Array;
}

/** Rows of the page's contexts: of one of a profile's, by its number there. */
export type RowOf = (context: number) => number;

/** The heap over time, of the instance that allocates most; undefined where nobody recorded it. */
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
    const known = rows.get(context.stackId);
    if (known === undefined) continue;
    const row = rowOf(known);
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

/** The working set over time at the finest scale, of the instance that goes on longest; undefined without one. */
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

function instanceOf(module = "module", instance: number, all: number): { of?: string } {
  if (all < 2) return {};
  const others = all === 2 ? "another one is" : `${all - 1} others are`;
  return { of: `${module}, instance ${instance}; ${others} not shown` };
}

/** Phases with names. Those of one function that follow each other are one: on the page, sizes are to be seen anyway. */
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

/** What contexts did interval by interval; what is added twice for an interval and a row is one row with the sums. */
export class Deltas {
  readonly #weights: readonly string[];
  readonly #intervals: number;
  readonly #interval: number[] = [];
  readonly #row: number[] = [];
  /** Those of each weight, in the order in which they were added. */
  readonly #values: readonly number[][];

  constructor(weights: readonly string[], intervals: number) {
    this.#weights = weights;
    this.#intervals = intervals;
    this.#values = weights.map(() => []);
  }

  /** `values`: one for each weight. */
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

  /** What was added, by interval and row. Sorting numbers that hold all three is much faster than comparing. */
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
