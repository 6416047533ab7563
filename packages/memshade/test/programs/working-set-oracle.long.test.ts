import { describe, expect, it } from "vitest";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";
import { buildLevels, totalOf } from "../../src/profile/model/working-set/working-set-series.ts";
import { instrument, type WorkingSetLayout, type WorkingSetOptions } from "../../src/record/tools/index.ts";
import {
  WorkingSetReader,
  type WorkingSetTables,
} from "../../src/record/tools/working-set/read/working-set-session.ts";
import { type AccessTrace, canTrace, traceProgram } from "./access-trace.ts";

if (!canTrace)
  console.warn("SKIPPED: binaryen's wasm-opt is not installed, nothing to compare working sets with");

function measure(
  program: Uint8Array,
  args: readonly string[],
  workingset: WorkingSetOptions,
): WorkingSetTables {
  const { bytes, info } = instrument(program, { tools: ["workingset"], workingset });
  const wasi = new MemoryWasi({ args: ["program", ...args] });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), wasi.imports);
  wasi.start(instance);
  const shadow = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  return new WorkingSetReader(shadow, layout).read();
}

/** Sizes of the sets of lines that the accesses `[from, to)` touch. */
function linesBySets({ addresses, sizes }: AccessTrace, from: number, to: number) {
  const read = new Set<number>();
  const written = new Set<number>();
  const pages = new Set<number>();
  for (let i = from; i < to; i++) {
    const last = addresses[i] + Math.abs(sizes[i]) - 1;
    for (let line = addresses[i] >>> 6; line <= last >>> 6; line++) {
      (sizes[i] < 0 ? written : read).add(line);
      pages.add(line >>> 6);
    }
  }
  const both = [...read].filter((line) => written.has(line)).length;
  return {
    lines: read.size + written.size - both,
    read: read.size,
    written: written.size,
    both,
    pages4K: pages.size,
  };
}

describe.skipIf(!canTrace).each([
  ["kernels/matrix", ["20", "4"], 1000],
  ["kernels/stencil", ["20", "5"], 777],
  ["kernels/bintree", ["6"], 2000],
  ["kernels/hashmap", ["2000"], 5000],
  ["kernels/graph", [], 4000],
  ["kernels/parser", [], 4000],
  ["kernels/stl", [], 20_000],
  ["control/recursion", ["50"], 100],
  ["control/indirect", [], 100],
  ["allocation/c-functions", [], 500],
  ["allocation/new-delete", [], 500],
  ["allocation/rust-collections", [], 3000],
] as const)("the working set of %s %o in intervals of %i accesses", (path, args, interval) => {
  it("is that of sets of lines, at every scale", () => {
    const { bytes, trace } = traceProgram(path, args);
    expect(trace.length).toBeGreaterThan(1000);
    for (const maxIntervals of [8, 512]) {
      const tables = measure(bytes, args, { interval, maxIntervals });
      expect(tables.duration).toBe(trace.length);
      const levels = buildLevels(tables.records, tables.lastIsPartial);
      expect(levels[0].start.length).toBeGreaterThan(1);
      for (const { start, end, counts } of levels)
        for (let i = 0; i < start.length; i++) {
          const expected = linesBySets(trace, start[i], end[i]);
          const found = Object.fromEntries(
            Object.keys(expected).map((measure) => [measure, counts[measure as keyof typeof expected]?.[i]]),
          );
          expect(found).toEqual(expected);
        }
      expect(totalOf(tables.records, "lines")).toBe(linesBySets(trace, 0, trace.length).lines);
    }
  });
});
