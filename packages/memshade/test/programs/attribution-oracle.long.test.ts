import { describe, expect, it } from "vitest";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";
import { decodeModule } from "../../src/code/wasm/index.ts";
import { findSites } from "../../src/record/tools/waste/pass/weaving-plan.ts";
import { attributed } from "../support/attributed.ts";
import { type AccessTrace, canTrace, traceProgram } from "./access-trace.ts";

if (!canTrace)
  console.warn("SKIPPED: binaryen's wasm-opt is not installed, nothing to compare first touches with");

/** Lines by the offset of the instruction that touched them first among the accesses `[from, to)`, and the number of bytes touched. */
function bySets(
  { addresses, sizes, sites }: AccessTrace,
  offsets: readonly number[],
  from: number,
  to: number,
) {
  const lines = new Set<number>();
  const bytes = new Set<number>();
  const first: Record<number, number> = {};
  for (let i = from; i < to; i++)
    for (let byte = addresses[i]; byte < addresses[i] + Math.abs(sizes[i]); byte++) {
      bytes.add(byte);
      if (lines.has(byte >>> 6)) continue;
      lines.add(byte >>> 6);
      const offset = offsets[sites[i]];
      first[offset] = (first[offset] ?? 0) + 1;
    }
  return { first, bytes: bytes.size };
}

function accessOffsets(bytes: Uint8Array): number[] {
  const { offset, op, length } = findSites(decodeModule(bytes), []);
  return [...offset.slice(0, length)].filter((_, i) => op[i] >= 0);
}

describe.skipIf(!canTrace).each([
  ["kernels/stencil", ["20", "5"], 7770],
  ["kernels/bintree", ["6"], 5000],
  ["kernels/hashmap", ["500"], 5000],
  ["kernels/parser", [], 20_000],
  ["kernels/stl", [], 100_000],
  ["control/recursion", ["50"], 1000],
  ["allocation/new-delete", [], 2000],
  ["allocation/rust-collections", [], 9000],
] as const)("lines of %s %o in intervals of %i accesses", (path, args, interval) => {
  it("are charged to the instruction that touched them first, at every scale; their bytes are counted", {
    timeout: 300_000,
  }, () => {
    const { bytes: module, trace } = traceProgram(path, args);
    const offsets = accessOffsets(module);
    const wasi = new MemoryWasi({ args: ["program", ...args] });
    const options = { interval, maxIntervals: 16, imports: wasi.imports };
    const { levels, firstTouch, fill } = attributed(module, options, (instance) => wasi.start(instance));
    expect(firstTouch?.levels.length).toBe(levels.length);
    levels.forEach(({ start, end }, level) => {
      start.forEach((from, i) => {
        const { first, bytes } = bySets(trace, offsets, from, end[i]);
        expect(fill?.levels[level].bytes[i]).toBe(bytes);
        const listed: Record<number, number> = {};
        const { intervals = [], others = [] } = firstTouch?.levels[level] ?? {};
        for (const [context, lines] of intervals[i]) {
          const offset = firstTouch?.contexts[context].stack[0].offset as number;
          listed[offset] = (listed[offset] ?? 0) + lines;
        }
        if (others[i] === 0) expect(listed).toEqual(first);
        for (const [offset, lines] of Object.entries(listed))
          expect(lines).toBeLessThanOrEqual(first[Number(offset)] ?? 0);
      });
    });
  });
});
