import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHeapIntervals } from "../../../../src/profile/model/over-time/read-heap-intervals.ts";
import type { InstrumentOptions } from "../../../../src/record/tools/index.ts";
import { contextsOf } from "../../../support/profiled.ts";
import { HeapTrace } from "./support/heap-trace.ts";
import { ScriptedHeap, SITES, type Site } from "./support/scripted-heap.ts";

const PLACES = Array.from({ length: 24 }, (_, i) => 4096 + i * 1024);

type Step =
  | { kind: "malloc"; place: number; bytes: number; site: Site }
  | { kind: "realloc"; from: number; to: number; bytes: number; site: Site }
  | { kind: "free" | "touch"; place: number };

const place = fc.nat({ max: PLACES.length - 1 });
const bytes = fc.oneof(fc.constantFrom(16, 64), fc.integer({ min: 1, max: 1024 }));
const site = fc.constantFrom(...SITES);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("malloc" as const), place, bytes, site }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("realloc" as const), from: place, to: place, bytes, site }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("free" as const), place }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("touch" as const), place }) },
);

class Traced {
  readonly program: ScriptedHeap;
  readonly trace = new HeapTrace();
  readonly #used = new Set<number>();

  constructor(options: InstrumentOptions = {}) {
    this.program = new ScriptedHeap(options);
  }

  take(one: Step): void {
    const { program, trace } = this;
    if (one.kind === "malloc") {
      if (this.#used.has(one.place)) return;
      this.#used.add(one.place);
      program.malloc(PLACES[one.place], one.bytes, one.site);
      trace.allocate(PLACES[one.place], one.bytes, `malloc_${one.site}`);
    } else if (one.kind === "realloc") {
      if (!this.#used.has(one.from) || (this.#used.has(one.to) && one.from !== one.to)) return;
      this.#used.delete(one.from);
      this.#used.add(one.to);
      program.realloc(PLACES[one.from], PLACES[one.to], one.bytes, one.site);
      trace.release(PLACES[one.from], true);
      trace.allocate(PLACES[one.to], one.bytes, `realloc_${one.site}`);
    } else if (this.#used.has(one.place)) {
      if (one.kind === "free") {
        this.#used.delete(one.place);
        program.free(PLACES[one.place]);
        trace.release(PLACES[one.place]);
      } else {
        program.store(PLACES[one.place]);
        trace.access(PLACES[one.place]);
      }
    }
  }

  /** The file of the only instance as a reader gets it, with the names of its contexts. */
  read() {
    const snapshot = this.program.profiled.snapshot();
    const { instances } = readHeapIntervals(JSON.stringify(snapshot.intervals));
    const names = new Map(contextsOf(snapshot).map(({ stack, site: { stackId } }) => [stackId, stack[0]]));
    return { instance: instances[0], names, overflow: snapshot.heap.overflow.contexts };
  }

  expectEqual(): void {
    if (this.trace.allocations === 0) return;
    const { instance, names, overflow } = this.read();
    const { intervals, contexts, period } = instance;
    const count = intervals.start.length;
    expect(count).toBeLessThanOrEqual(512);
    expect(intervals.start).toEqual([0, ...intervals.end.slice(0, -1)]);
    expect(intervals.end.at(-1)).toBe(this.trace.allocations);
    for (let i = 0; i < count; i++) {
      const [start, end] = [intervals.start[i], intervals.end[i]];
      const isLast = i === count - 1;
      if (!isLast) expect(end - start).toBe(period);
      const expected = this.trace.interval(start, end, isLast);
      const figures = Object.keys(expected.figures) as (keyof typeof expected.figures)[];
      expect(Object.fromEntries(figures.map((name) => [name, intervals[name][i]]))).toEqual(expected.figures);
      if (overflow > 0) continue;
      const changed = contexts.flatMap((context) => {
        const row = context.intervals.indexOf(i);
        if (row < 0) return [];
        const { allocations, allocatedBytes, frees, freedBytes } = context;
        const own = {
          allocations: allocations[row],
          allocatedBytes: allocatedBytes[row],
          frees: frees[row],
          freedBytes: freedBytes[row],
        };
        return [[names.get(context.stackId), own] as const];
      });
      expect(new Map(changed)).toEqual(expected.contexts);
    }
  }
}

describe("the heap over time", () => {
  // 1: a allocates 100 bytes. 2: b allocates 40. Blocks of a are released. 3: a allocates 8. The run ends.
  it("has what each interval allocated, released and left, and the most inside of it", () => {
    const traced = new Traced();
    traced.take({ kind: "malloc", place: 0, bytes: 100, site: "a" });
    traced.take({ kind: "malloc", place: 1, bytes: 40, site: "b" });
    traced.take({ kind: "free", place: 0 });
    traced.take({ kind: "malloc", place: 2, bytes: 8, site: "a" });
    const { instance, names } = traced.read();
    expect(instance).toMatchObject({ period: 1, startBytes: 0, lastIsPartial: false, otherContexts: 0 });
    const { next, ...columns } = instance.intervals;
    expect(columns).toEqual({
      start: [0, 1, 2],
      end: [1, 2, 3],
      liveBytes: [100, 40, 48],
      liveBlocks: [1, 1, 2],
      maxBytes: [100, 140, 48],
      maxBlocks: [1, 2, 2],
      allocatedBytes: [100, 40, 8],
      freedBytes: [0, 100, 0],
      frees: [0, 1, 0],
    });
    expect(next.map((stackId) => names.get(stackId))).toEqual(["malloc_b", "malloc_a", undefined]);
    expect(instance.contexts.find(({ stackId }) => names.get(stackId) === "malloc_a")).toMatchObject({
      intervals: [0, 1, 2],
      allocations: [1, 0, 1],
      allocatedBytes: [100, 0, 8],
      frees: [0, 1, 0],
      freedBytes: [0, 100, 0],
    });
  });

  it("counts what a reallocation moves as live between its intervals", () => {
    const traced = new Traced();
    traced.take({ kind: "malloc", place: 0, bytes: 100, site: "a" });
    traced.take({ kind: "realloc", from: 0, to: 1, bytes: 200, site: "a" });
    expect(traced.read().instance.intervals).toMatchObject({ liveBytes: [100, 200], freedBytes: [0, 100] });
  });

  it.each([
    ["by default", {}],
    ["with the tool alloc", { tools: ["alloc"] }],
    ["with exact counters", { exactHistogram: true }],
    ["with room for three contexts", { maxContexts: 3 }],
    ["in milliseconds", { clock: "wall" }],
  ] as [string, InstrumentOptions][])("is what the trace of any program says, %s", (_, options) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), (steps) => {
        const traced = new Traced(options);
        for (const one of steps) traced.take(one);
        traced.expectEqual();
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 20), seed: Number(process.env.MEMSHADE_SEED ?? 7) },
    );
  });

  it.each([{}, { maxContexts: 3 }])("stays exact when neighbours become one: %j", (options) => {
    const traced = new Traced(options);
    for (const one of fc.sample(step, { numRuns: 9000, seed: 5 })) traced.take(one);
    expect(traced.trace.allocations).toBeGreaterThan(1100);
    expect(traced.read().instance.period).toBeGreaterThan(1);
    traced.expectEqual();
  });

  it("begins anew at a reset, with what lives then", () => {
    const traced = new Traced();
    traced.take({ kind: "malloc", place: 0, bytes: 100, site: "a" });
    traced.take({ kind: "malloc", place: 1, bytes: 40, site: "b" });
    traced.program.profiled.session.reset();
    traced.take({ kind: "malloc", place: 2, bytes: 8, site: "b" });
    traced.take({ kind: "free", place: 0 });
    const { instance, names } = traced.read();
    expect(instance).toMatchObject({ startBytes: 140, startBlocks: 2 });
    expect(instance.intervals).toMatchObject({ start: [2], end: [3], liveBytes: [48], maxBytes: [148] });
    const before = instance.contexts.map(({ stackId, startBytes }) => [names.get(stackId), startBytes]);
    expect(Object.fromEntries(before)).toEqual({ malloc_a: 100, malloc_b: 40 });
  });
});
