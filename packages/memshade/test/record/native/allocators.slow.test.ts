import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

describe.skipIf(!canCompile)("a native program with an allocator that is not the C library's", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-pool-"));
  const library = join(folder, "libpool.so");
  const program = join(folder, "pooled");
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(() => {
    compileProgram("pool.c", library, ["-shared", "-fPIC", "-w"]);
    compileProgram("pooled.c", program, [`-L${folder}`, "-lpool", `-Wl,-rpath,${folder}`]);
  });

  it("has its blocks counted, those of C++'s operators and of other names for its functions too", () => {
    const out = join(folder, "run");
    expect(memshadeRun(folder, ["--quiet", "--out", out, program]).status).toBe(0);
    const { heap } = runIn(out);
    // 10 each of malloc, tc_malloc, new and new[]; 10 of the growing block; 1 of aligned_alloc.
    expect(heap).toMatchObject({ allocations: 51, frees: 41, liveBlocks: 10, liveBytes: 1000 });
    expect(heap!.notTracked).toContain(
      "pooled calls functions of its allocator that are not recorded: mi_zalloc.",
    );
    expect(heap!.notTracked!.join()).not.toMatch(/release|handed out over|not recorded and/);
  });

  it("is recorded in the same way where the allocator is preloaded", () => {
    const plain = join(folder, "several");
    compileProgram("several.c", plain, ["-pthread"]);
    const [own, preloaded] = [join(folder, "own"), join(folder, "preloaded")];
    memshadeRun(folder, ["--quiet", "--out", own, plain]);
    memshadeRun(folder, ["--quiet", "--out", preloaded, plain], { LD_PRELOAD: library });
    const { allocations, allocatedBytes, frees, liveBytes, peakBytes } = runIn(own).heap!;
    expect(runIn(preloaded).heap).toMatchObject({ allocations, allocatedBytes, frees, liveBytes, peakBytes });
  });

  it("is told of where it is linked in", () => {
    const inside = join(folder, "inside");
    compileProgram("pooled.c", inside, [join(import.meta.dirname, "programs/pool.c"), "-w", "-rdynamic"]);
    const out = join(folder, "inside.run");
    expect(memshadeRun(folder, ["--quiet", "--out", out, inside]).status).toBe(0);
    expect(runIn(out).heap!.notTracked).toContain(
      "inside has its own allocator (malloc): its blocks are not recorded.",
    );
  });
});

describe.skipIf(!canCompile)("operators of C++ for types of a large alignment", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-aligned-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ["the C++ library's", []],
    ["replaced, one of them by the program, which the others call", ["-DREPLACED", "-rdynamic"]],
  ])("count what is asked for, once: %s", (_, flags) => {
    const program = join(folder, "aligned");
    const out = join(folder, `run.${flags.length}`);
    compileProgram("aligned-new.cpp", program, ["-std=c++17", ...flags, "-lstdc++"]);
    expect(memshadeRun(folder, ["--quiet", "--out", out, program]).status).toBe(0);
    const sizes = readRaw(readFileSync(join(out, "heap.memprofraw"))).contexts.map(({ mib }) =>
      Number(mib.totalSize),
    );
    expect(sizes.filter((size) => size < 100).sort()).toEqual([10, 11, 12, 13, 20]);
  });

  it("count a block of 0 bytes as one of 1 byte, as WebAssembly programs do, in sums of threads too", () => {
    const [program, out] = [join(folder, "zero-bytes"), join(folder, "run.zero")];
    compileProgram("zero-bytes.cpp", program, ["-O0", "-std=c++17", "-lstdc++"]);
    expect(memshadeRun(folder, ["--quiet", "--out", out, program]).status).toBe(0);
    const mibs = readRaw(readFileSync(join(out, "heap.memprofraw"))).contexts.map(({ mib }) => mib);
    expect(mibs.filter(({ totalSize }) => totalSize === 1n)).toHaveLength(10);
    const { allocations, allocatedBytes, frees, threads } = runIn(out).heap!;
    expect(threads).toMatchObject([{ allocations, allocatedBytes }]);
    expect(frees).toBe(1);
  });
});
