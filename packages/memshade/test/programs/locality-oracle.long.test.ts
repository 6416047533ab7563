import { describe, expect, it } from "vitest";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";
import { cacheSizesUpTo, meanAbsoluteError } from "../../../../bench/locality/compare-curves.ts";
import type { MissRatioCurve } from "../../src/explain/analyses/locality.ts";
import type { LocalityRecord } from "../../src/profile/model/working-set/working-set.ts";
import { instrument, type LocalityOptions, type WorkingSetLayout } from "../../src/record/tools/index.ts";
import { localityLayoutOf } from "../../src/record/tools/working-set/locality/memory-plan.ts";
import { type LocalityTables, readLocality } from "../../src/record/tools/working-set/locality/read.ts";
import { WorkingSetReader } from "../../src/record/tools/working-set/read/working-set-session.ts";
import { footprintOf, missRatioCurve } from "../../src/show/report/json/locality.ts";
import { curveOf, reuseOfTrace } from "../support/reuse-of-trace.ts";
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

const total = (entries: [number, number][]) => entries.reduce((sum, [, weight]) => sum + weight, 0);

/** One reference for each line of each access, ascending. */
function linesOf({ addresses, sizes, length }: AccessTrace): number[] {
  const lines: number[] = [];
  for (let i = 0; i < length; i++) {
    const last = (addresses[i] + Math.abs(sizes[i]) - 1) >>> 6;
    for (let line = addresses[i] >>> 6; line <= last; line++) lines.push(line);
  }
  return lines;
}

function missRatios(tables: LocalityTables): MissRatioCurve {
  return missRatioCurve(recordOf(tables));
}

function recordOf(tables: LocalityTables): LocalityRecord {
  return { method: "shards", ...tables, sites: [], otherSites: { sites: 0, misses: 0 }, sitesAtLines: 512 };
}

/** Smallest cache size that a sample can resolve. */
const SMALLEST_LINES = 64;

describe.skipIf(!canTrace).each([
  ["kernels/matrix", ["20", "4"], 1],
  ["kernels/matrix", ["150", "2"], 0.1],
  ["kernels/stencil", ["20", "5"], 1],
  ["kernels/stencil", ["150", "10"], 0.1],
  ["kernels/bintree", ["6"], 1],
  ["kernels/hashmap", ["2000"], 1],
  ["kernels/hashmap", ["20000"], 0.1],
  ["kernels/graph", [], 1],
  ["kernels/graph", ["4000", "5"], 0.1],
  ["kernels/parser", [], 1],
  ["control/recursion", ["50"], 1],
  ["allocation/new-delete", [], 1],
] as const)("the locality of %s %o, of a part of %d of the lines,", (path, args, rate) => {
  const { bytes, trace } = traceProgram(path, args);
  const lines = linesOf(trace);
  const exact = reuseOfTrace(lines);
  const found = measure(bytes, args, { rate });

  it("has nearly the curve of all references", () => {
    const sizes = cacheSizesUpTo(Math.max(exact.lines, 2 * SMALLEST_LINES)).filter(
      (size) => size >= SMALLEST_LINES,
    );
    const curve = missRatios(found);
    expect(meanAbsoluteError(curve, curveOf(exact), sizes)).toBeLessThan(rate === 1 ? 0.001 : 0.02);
    const ratios = sizes.map((size) => curve.at(size));
    expect(ratios).toEqual([...ratios].sort((a, b) => b - a));
  });

  it("counts each reference once", () => {
    expect(found.references).toBe(trace.length);
    expect(total(found.times) + found.cold).toBe(found.sampled);
    expect(total(found.firsts)).toBe(found.cold);
    expect(total(found.lasts)).toBe(found.cold);
    expect(found.sampled).toBeLessThanOrEqual(lines.length);
  });

  it.skipIf(rate === 1)("has a footprint that grows, ever more slowly, up to all lines", () => {
    const points = footprintOf(recordOf(found)).map(({ lines }) => lines);
    // Windows double: a concave curve at most doubles.
    for (let i = 1; i < points.length; i++) {
      expect(points[i]).toBeGreaterThanOrEqual(points[i - 1] - 1e-6);
      expect(points[i]).toBeLessThanOrEqual(2.02 * points[i - 1] + 1e-6);
    }
    expect(points.at(-1) ?? 0).toBeLessThanOrEqual(1.25 * exact.lines);
  });
});
