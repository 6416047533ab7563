import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryWasi } from "../../../../../bench/harness/wasi.ts";
import { DEFAULT, EXACT, granulesOf, MERGED, Watched } from "../../support/counters.ts";
import { countNaively, naiveWords } from "../../support/naive-counters.ts";

const programBytes = (path: string) =>
  new Uint8Array(readFileSync(new URL(`../../fixtures/programs/${path}.wasm`, import.meta.url)));

interface Run {
  output: string;
  end: unknown;
  /** Granules of the memory's final size. */
  granules: number;
}

function start(
  path: string,
  args: readonly string[],
  instantiate: (imports: WebAssembly.Imports) => WebAssembly.Instance,
): Run {
  const wasi = new MemoryWasi({ args: [path, ...args] });
  const instance = instantiate(wasi.imports);
  const end = wasi.start(instance);
  const { buffer } = instance.exports.memory as WebAssembly.Memory;
  return { output: Buffer.from(wasi.output(1)).toString(), end, granules: buffer.byteLength / 8 };
}

const sum = (words: Uint32Array) => words.reduce((total, word) => total + (word >>> 1), 0);

describe.each([
  ["kernels/matrix", ["20", "4"]],
  ["kernels/stencil", ["20", "5"]],
  ["kernels/graph", ["60", "2"]],
  ["kernels/bintree", ["6"]],
  ["kernels/hashmap", ["2000"]],
  ["kernels/parser", ["10", "2"]],
  ["kernels/simd", ["24", "3"]],
  ["kernels/stl", ["200"]],
  ["kernels/pair", ["200", "3"]],
  ["control/recursion", ["50"]],
  ["control/indirect", []],
  ["control/bulk", []],
  ["control/stack", []],
  ["control/exceptions", []],
  ["control/tail", []],
  ["allocation/c-functions", []],
  ["allocation/new-delete", []],
  ["allocation/accesses", []],
  ["allocation/rust-collections", []],
])("the counters of %s %o", (path, args) => {
  const bytes = programBytes(path);
  let naive: WebAssembly.Instance | undefined;
  const { output, end, granules } = start(path, args, (imports) => {
    naive = new WebAssembly.Instance(new WebAssembly.Module(countNaively(bytes) as BufferSource), imports);
    return naive;
  });
  const expected = naiveWords(naive as WebAssembly.Instance).slice(0, granules);

  const counted = (
    options: typeof EXACT | typeof MERGED | typeof DEFAULT | { countersOnly: true; exactHistogram: true },
  ) => {
    let watched: Watched | undefined;
    const run = start(path, args, (imports) => {
      watched = new Watched(bytes, options, imports);
      return watched.instance;
    });
    expect(run).toEqual({ output, end, granules });
    return (watched as Watched).words.slice(0, granules);
  };

  it("are in exact mode those of every single access", () => {
    const words = counted(EXACT);
    if (Buffer.compare(Buffer.from(words.buffer), Buffer.from(expected.buffer)) !== 0)
      expect(granulesOf(words)).toEqual(granulesOf(expected));
    expect(sum(expected)).toBeGreaterThan(50);
  });

  it("have in merged mode the same sum", () => {
    expect(sum(counted(MERGED))).toBe(sum(expected));
  });

  it("leave out the same accesses in both modes by default", () => {
    const words = counted({ countersOnly: true, exactHistogram: true });
    expect(sum(counted(DEFAULT))).toBe(sum(words));
    // Accesses counted by default are also counted with all accesses.
    expect(words.every((word, granule) => word >>> 1 <= expected[granule] >>> 1)).toBe(true);
    expect(sum(words)).toBeLessThan(sum(expected));
  });
});
