import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";
import { profileWasi } from "./profiled.ts";

const WASM_OPT = fileURLToPath(new URL("../../../../node_modules/.bin/wasm-opt", import.meta.url));
const PROGRAMS = fileURLToPath(new URL("../fixtures/programs/", import.meta.url));

const installed = existsSync(WASM_OPT);
if (!installed)
  console.warn("SKIPPED: binaryen's wasm-opt is not installed, nothing to compare access counts with");

/** Binaryen's own instrumentation: every load and store first calls the host, which counts. */
function countAccesses(path: string, args: readonly string[]): number {
  const folder = mkdtempSync(join(tmpdir(), "memshade-oracle-"));
  try {
    const output = join(folder, "counted.wasm");
    execFileSync(process.execPath, [
      WASM_OPT,
      "--all-features",
      "--instrument-memory",
      join(PROGRAMS, `${path}.wasm`),
      "-o",
      output,
    ]);
    let accesses = 0;
    const countPointer = (_id: number, _bytes: number, _offset: number, address: number) => {
      accesses++;
      return address;
    };
    const named: Record<string, unknown> = { load_ptr: countPointer, store_ptr: countPointer };
    const env = new Proxy(named, {
      get: (own, name) => own[name as string] ?? ((_id: number, value: unknown) => value),
    });
    const wasi = new MemoryWasi({ args: [path, ...args] });
    const module = new WebAssembly.Module(readFileSync(output));
    wasi.start(new WebAssembly.Instance(module, { ...wasi.imports, env: env as WebAssembly.ModuleImports }));
    return accesses;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!installed).each([
  ["kernels/matrix", ["20", "4"]],
  ["kernels/stencil", ["20", "5"]],
  ["kernels/bintree", ["6"]],
  ["kernels/hashmap", ["2000"]],
  ["control/recursion", ["50"]],
  ["control/indirect", []],
  ["allocation/c-functions", []],
  ["allocation/new-delete", []],
  ["allocation/lifecycle", []],
  ["allocation/accesses", []],
  ["allocation/rust-collections", []],
])("the counters of %s %o", (path, args) => {
  it("add up to the accesses that were executed, to the last one", async () => {
    const executed = countAccesses(path, args);
    expect(executed).toBeGreaterThan(1000);
    for (const exactHistogram of [false, true]) {
      const options = { includeStack: true, includeAllocator: true, exactHistogram };
      const { run } = await profileWasi(path, options, { args });
      expect((run.heap?.heapAccesses ?? 0) + (run.heap?.otherAccesses ?? 0)).toBe(executed);
    }
  });
});
