import { describe, expect, it } from "vitest";
import {
  instrument,
  type LocalityOptions,
  type WorkingSetLayout,
  type WorkingSetOptions,
} from "../../../../src/record/tools/index.ts";
import {
  hashMultiplier,
  localityLayoutOf,
} from "../../../../src/record/tools/working-set/locality/memory-plan.ts";
import { type LocalityTables, readLocality } from "../../../../src/record/tools/working-set/locality/read.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";
import { reuseOfTrace } from "../../../support/reuse-of-trace.ts";

function locality(
  body: string,
  options: LocalityOptions,
  memory = "4 4",
  time: WorkingSetOptions = {},
): LocalityTables {
  const module = wat(`(module (memory (export "memory") ${memory}) (data $bytes "0123456789")
    (func (export "run") (param $a i32) (param $n i32) (local $i i32) (local $j i32) ${body}))`);
  const { bytes, info } = instrument(module, {
    tools: ["workingset"],
    workingset: { ...time, locality: options },
  });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  (exports.run as (address: number, count: number) => void)(0x1000, 200);
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const shadow = exports["memshade.workingset"] as WebAssembly.Memory;
  const tables = localityLayoutOf(layout);
  if (tables === undefined) throw new Error("there is no locality");
  return readLocality(shadow, tables, new WorkingSetReader(shadow, layout).read().accesses);
}

/** Locality of all lines: only repeated references to a line in straight code are left out. */
const all = (body: string, memory?: string) => locality(body, { rate: 1 }, memory);
const sum = (entries: readonly [number, number][]) =>
  entries.reduce((total, [, weight]) => total + weight, 0);

/** Touches `lines` lines `rounds` times from address $a on, in loops. */
const sweeps = (lines: number, rounds: number, stride = 64) => `
  (loop $round
    (local.set $i (i32.const 0))
    (loop $line
      (drop (i32.load (i32.add (local.get $a) (i32.mul (local.get $i) (i32.const ${stride})))))
      (br_if $line (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const ${lines}))))
    (br_if $round (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const ${rounds}))))`;

/** Tables of the oracle for a trace of lines. */
const ofTrace = (lines: readonly number[]) => {
  const { times, distances, lines: cold } = reuseOfTrace(lines);
  return { times: times.entries(), distances: distances.entries(), cold, sampled: lines.length };
};

describe("references", () => {
  it("are one per line of an access, lower line first", () => {
    const crossing = all(
      "(drop (i64.load offset=60 align=1 (local.get $a))) (drop (i32.load (local.get $a)))",
    );
    expect(crossing).toMatchObject({ sampled: 3, cold: 2, distances: [[1, 1]] });
  });

  it("are one for an atomic access", () => {
    const atomic = all("(drop (i32.atomic.rmw.add (local.get $a) (i32.const 1)))", "4 4 shared");
    expect(atomic).toMatchObject({ references: 1, cold: 1 });
  });

  it("of a copy are those to its source and then those to its destination", () => {
    const copy = "(memory.copy (i32.const 0x2000) (local.get $a) (i32.const 128))";
    const another = `(loop $l (drop (i32.load (local.get $n)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50))))`;
    const found = all(`${copy} ${another} (drop (i32.load offset=64 (local.get $a)))`);
    expect(found).toMatchObject({
      sampled: 55,
      cold: 5,
      distances: [
        [0, 49],
        [3, 1],
      ],
    });
  });

  it("of nothing are none", () => {
    expect(all("(memory.fill (local.get $a) (i32.const 1) (i32.const 0))")).toMatchObject({
      sampled: 0,
      distances: [],
    });
  });

  it("keep their order when stamps are given anew many times", () => {
    const found = all(sweeps(100, 1000));
    expect(found.renumbered).toBeGreaterThan(5);
    expect(found).toMatchObject({ references: 100_000, rate: 1, cold: 100, distances: [[99, 99_900]] });
    expect(found.times).toEqual([[100, 99_900]]);
  });

  it("are charged to the instructions that make them", () => {
    const found = locality(sweeps(100, 10), { rate: 1, cacheBytes: 64 * 64 });
    expect(found.sites).toMatchObject([{ references: 1000, misses: 1000, cold: 100 }]);
    const larger = locality(sweeps(100, 10), { rate: 1, cacheBytes: 100 * 64 });
    expect(larger.sites).toMatchObject([{ references: 1000, misses: 100, cold: 100 }]);
  });
});

describe("sampled references", () => {
  it("in a row to one line are those of the trace", () => {
    const masked = `(loop $more
      (drop (i32.load (i32.and (i32.mul (local.get $i) (i32.const 12)) (i32.const 0xfffc))))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50000))))`;
    const expected = ofTrace(Array.from({ length: 50_000 }, (_, i) => ((i * 12) & 0xfffc) >>> 6));
    expect(sum(expected.distances.filter(([distance]) => distance === 0))).toBeGreaterThan(30_000);
    expect(all(masked)).toMatchObject(expected);
  });

  describe.each([0.01, 0.05, 0.125, 0.3, 1])("of which a part of %d is", (rate) => {
    const count = 40_000;
    /** Accesses at two addresses 40 bytes apart, in either order. */
    const pairs = (order: readonly number[]) => `
      (loop $l
        (local.set $a (i32.and (i32.mul (local.get $i) (i32.const 1237)) (i32.const 0x1ffff)))
        ${order.map((offset) => `(drop (i32.load8_u offset=${offset} (local.get $a)))`).join("\n")}
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const ${count}))))`;
    const limit = Math.round(rate * 2 ** 32);
    const isSampled = (line: number) => Math.imul(line, hashMultiplier(rate)) >>> 0 < limit;
    const lower: number[] = [];
    const upper: number[] = [];
    for (let i = 0; i < count; i++) {
      const address = (i * 1237) & 0x1ffff;
      const [first, second] = [(address + 8) >>> 6, (address + 48) >>> 6];
      if (isSampled(first)) lower.push(first);
      if (second !== first && isSampled(second)) upper.push(second);
    }
    const cold = new Set([...lower, ...upper]).size;

    it.each([[[8, 48]], [[48, 8]]])(
      "taken, of places less than a line apart, once for each line: %o",
      (order) => {
        const found = locality(pairs(order), { rate });
        expect(found).toMatchObject({ sampled: lower.length + upper.length, cold });
        const sites = found.sites.map(({ references }) => references);
        expect(sites.sort((a, b) => b - a)).toEqual([lower.length, upper.length].filter((n) => n > 0));
      },
    );
  });

  it.each([8, 64])(
    "to places %i bytes apart are as many as their lines where all are sampled too",
    (apart) => {
      const body = `(loop $l
        (local.set $a (i32.and (i32.mul (local.get $i) (i32.const 1237)) (i32.const 0x1ffff)))
        (drop (i32.load8_u (local.get $a))) (drop (i32.load8_u offset=${apart} (local.get $a)))
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 40000))))`;
      const found = locality(body, { rate: 1 });
      let expected = 0;
      for (let i = 0; i < 40_000; i++) {
        const address = (i * 1237) & 0x1ffff;
        expected += address >>> 6 === (address + apart) >>> 6 ? 1 : 2;
      }
      expect(found.sampled).toBe(expected);
    },
  );

  it("are complete though the last ones still wait for a poll", () => {
    const few = locality(sweeps(50, 4), { rate: 1 });
    expect(few).toMatchObject({ references: 200, sampled: 200, cold: 50, distances: [[49, 150]] });
    expect(few.sites).toMatchObject([{ references: 200, misses: 50, cold: 50 }]);
  });

  it("of a part of the lines stand for the others", () => {
    const tenth = locality(sweeps(2000, 50), { rate: 0.1 });
    expect(tenth.rate).toBeCloseTo(0.1, 6);
    expect(tenth.cold / tenth.rate).toBeCloseTo(2000, -2);
    expect(sum(tenth.distances) + tenth.cold).toBeCloseTo(tenth.sampled, 6);
    for (const [distance] of tenth.distances) expect(Math.abs(distance - 1999)).toBeLessThan(40);
    for (const [time] of tenth.times) expect(time).toBe(2000);
  });

  it.each([8, -8, 4, 32])("of a loop that walks in steps of %i are those of the trace", (stride) => {
    const walk = `
      (loop $round
        (local.set $i (i32.const ${stride < 0 ? 0x8000 : 0x1000}))
        (local.set $n (i32.const 1024))
        (loop $l
          (drop (i32.load (local.get $i)))
          (local.set $i (i32.add (local.get $i) (i32.const ${stride})))
          (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (br_if $round (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 20))))`;
    const first = stride < 0 ? 0x8000 : 0x1000;
    const lines = Array.from({ length: 20 * 1024 }, (_, i) => (first + stride * (i % 1024)) >>> 6);
    expect(all(walk)).toMatchObject(ofTrace(lines));
  });

  it.each(
    [0.01, 0.125, 0.3].flatMap((rate) =>
      [
        [1, 3],
        [-4, 16],
        [8, 100],
        [-8, 800],
        [12, 431],
        [32, 300],
      ].map(([stride, steps]) => [rate, stride, steps] as const),
    ),
  )(
    "of walks from anywhere are those of their lines: %d of the lines, steps of %i, %i of them",
    (rate, stride, steps) => {
      const count = 200;
      const startOf = (walk: number) => 0x20000 + ((walk * 1237) & 0x3ffff);
      const found = locality(
        `(loop $walk
        (local.set $i (i32.add (i32.const ${startOf(0)})
          (i32.and (i32.mul (local.get $j) (i32.const 1237)) (i32.const 0x3ffff))))
        (local.set $n (i32.const ${steps}))
        (loop $l
          (drop (i32.load8_u (local.get $i)))
          (drop (i32.load8_u offset=40 (local.get $i)))
          (local.set $i (i32.add (local.get $i) (i32.const ${stride})))
          (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (br_if $walk (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const ${count}))))`,
        { rate },
        "16 16",
      );
      let sampled = 0;
      for (let walk = 0; walk < count; walk++)
        for (let step = 0; step < steps; step++) {
          const address = startOf(walk) + step * stride;
          for (const line of new Set([address >>> 6, (address + 40) >>> 6]))
            if (Math.imul(line, hashMultiplier(rate)) >>> 0 < Math.round(rate * 2 ** 32)) sampled++;
        }
      expect(found).toMatchObject({ references: 2 * steps * count, sampled });
    },
  );

  it("are the same in every run", () => {
    expect(locality(sweeps(2000, 20), {})).toEqual(locality(sweeps(2000, 20), {}));
  });
});

describe("options of the locality", () => {
  it.each([
    [{ rate: 0 }, /rate .* must be between/],
    [{ rate: 2 }, /rate .* must be between/],
    [{ cacheBytes: 63 }, /size of the cache must be/],
  ] as const)("%j are refused in one line", (options, message) => {
    expect(() => locality("", options)).toThrow(message);
  });
});

describe("beside intervals of real time, references", () => {
  it.each([{ rate: 1 }, { rate: 0.2 }])("are those of virtual time: %j", (options) => {
    const body = sweeps(300, 40);
    const inTime = locality(body, options, "4 4", { unit: "wall", interval: 2e6 });
    expect(inTime.references).toBe(300 * 40);
    expect(inTime).toEqual(locality(body, options));
  });
});
