import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";
import { cacheSizesUpTo, meanAbsoluteError } from "../../../../bench/locality/compare-curves.ts";
import { instrument, type LocalityOptions, type WorkingSetLayout } from "../../src/record/tools/index.ts";
import { localityLayoutOf } from "../../src/record/tools/working-set/locality/memory-plan.ts";
import { type LocalityTables, readLocality } from "../../src/record/tools/working-set/locality/read.ts";
import { WorkingSetReader } from "../../src/record/tools/working-set/read/working-set-session.ts";
import { footprintOf, missRatioCurve } from "../../src/show/report/json/locality.ts";
import { type AccessTrace, canTrace, traceProgram } from "./access-trace.ts";

if (!canTrace)
  console.warn("SKIPPED: binaryen's wasm-opt is not installed, nothing to compare reuse distances with");

function measure(program: Uint8Array, args: readonly string[], locality: LocalityOptions): LocalityTables {
  const { bytes, info } = instrument(program, { tools: ["workingset"], workingset: { locality } });
  const wasi = new MemoryWasi({ args: ["program", ...args] });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), wasi.imports);
  wasi.start(instance);
  const memory = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const { duration } = new WorkingSetReader(memory, layout).read();
  const tables = localityLayoutOf(layout);
  if (tables === undefined) throw new Error("the module has no locality");
  return readLocality(memory, tables, duration);
}

/** One reference for each line of each access, ascending. */
function linesOf({ addresses, sizes, length }: AccessTrace): number[] {
  const lines: number[] = [];
  for (let i = 0; i < length; i++) {
    const last = (addresses[i] + Math.abs(sizes[i]) - 1) >>> 6;
    for (let line = addresses[i] >>> 6; line <= last; line++) lines.push(line);
  }
  return lines;
}

/** Reuse times and distances from a list of lines, the newest first. */
function byNaiveStack(lines: readonly number[]) {
  const stack: number[] = [];
  const lastOf = new Map<number, number>();
  const times = new Map<number, number>();
  const distances = new Map<number, number>();
  const add = (to: Map<number, number>, value: number) => to.set(value, (to.get(value) ?? 0) + 1);
  lines.forEach((line, position) => {
    const distance = stack.indexOf(line);
    if (distance >= 0) {
      stack.splice(distance, 1);
      add(distances, distance);
      add(times, position - (lastOf.get(line) as number));
    }
    stack.unshift(line);
    lastOf.set(line, position);
  });
  const entries = (from: Map<number, number>) => [...from].sort(([a], [b]) => a - b);
  return { times: entries(times), distances: entries(distances), cold: stack.length };
}

const small = (entries: [number, number][]) => entries.filter(([value]) => value < 4096);
const total = (entries: [number, number][]) => entries.reduce((sum, [, weight]) => sum + weight, 0);

describe.skipIf(!canTrace).each([
  ["kernels/matrix", ["20", "4"]],
  ["kernels/stencil", ["20", "5"]],
  ["kernels/bintree", ["6"]],
  ["kernels/hashmap", ["2000"]],
  ["kernels/graph", []],
  ["kernels/parser", []],
  ["control/recursion", ["50"]],
  ["allocation/new-delete", []],
] as const)("the exact locality of %s %o", (path, args) => {
  it("is that of a stack of lines", () => {
    const { bytes, trace } = traceProgram(path, args);
    const lines = linesOf(trace);
    const expected = byNaiveStack(lines);
    const found = measure(bytes, args, { method: "exact" });
    expect(found.references).toBe(lines.length);
    expect(found.sampled).toBe(lines.length);
    expect(found.cold).toBe(expected.cold);
    expect(found.distances).toEqual(expected.distances);
    expect(small(found.times)).toEqual(small(expected.times));
    expect(total(found.times) + found.cold).toBe(lines.length);
    expect(total(found.firsts)).toBe(found.cold);
    expect(total(found.lasts)).toBe(found.cold);
  });
});

function missRatios(method: "exact" | "shards", tables: LocalityTables): (size: number) => number {
  const record = { method, ...tables, sites: [], otherSites: { sites: 0, misses: 0 }, sitesAtLines: 512 };
  const curve = missRatioCurve(record);
  return (size) => curve.at(size);
}

describe.each([
  ["kernels/matrix", ["150", "2"]],
  ["kernels/stencil", ["150", "10"]],
  ["kernels/hashmap", ["20000"]],
  ["kernels/graph", ["4000", "5"]],
] as const)("the sampled locality of %s %o", (path, args) => {
  const program = readFileSync(new URL(`../fixtures/programs/${path}.wasm`, import.meta.url));
  const exact = measure(program, args, { method: "exact" });
  const other = missRatios("exact", exact);
  const sizes = cacheSizesUpTo(exact.cold).filter((size) => size >= 64);

  it("has nearly the exact curve", () => {
    const sampled = measure(program, args, { rate: 0.1 });
    const one = missRatios("shards", sampled);
    expect(meanAbsoluteError({ at: one }, { at: other }, sizes)).toBeLessThan(0.02);
    const ratios = sizes.map(one);
    expect(ratios).toEqual([...ratios].sort((a, b) => b - a));
  });

  it("has a footprint that grows, ever more slowly, up to all lines", () => {
    const points = (method: "exact" | "shards", tables: LocalityTables) =>
      footprintOf({ method, ...tables, sites: [], otherSites: { sites: 0, misses: 0 }, sitesAtLines: 512 });
    for (const [method, options] of [
      ["exact", { method: "exact" }],
      ["shards", { rate: 0.1 }],
    ] as const) {
      const lines = points(method, measure(program, args, options)).map(({ lines }) => lines);
      expect(lines.length).toBeGreaterThan(5);
      // Windows double: a concave curve at most doubles.
      for (let i = 1; i < lines.length; i++) {
        expect(lines[i]).toBeGreaterThanOrEqual(lines[i - 1] - 1e-6);
        expect(lines[i]).toBeLessThanOrEqual(2.02 * lines[i - 1] + 1e-6);
      }
      if (method === "exact") expect(lines[0]).toBeCloseTo(1, 6);
      expect(lines.at(-1)).toBeLessThanOrEqual(1.25 * exact.cold);
    }
  });
});
