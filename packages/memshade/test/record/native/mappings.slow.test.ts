import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

const KIB = 1024;

describe.skipIf(!canCompile)("memory that a native program maps itself", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-maps-"));
  const program = join(folder, "maps");
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(() => compileProgram("maps.c", program));

  it("is none of its blocks", () => {
    const out = join(folder, "plain");
    expect(memshadeRun(folder, ["--quiet", "--out", out, program]).status).toBe(0);
    expect(runIn(out).heap).toMatchObject({ allocations: 1, allocatedBytes: 2 ** 20, liveBlocks: 0 });
    expect(runIn(out).tools.heap!.mappings).toBeUndefined();
  });

  it("is blocks with --mmap: of each what is left of it, and what is reserved is told", () => {
    const out = join(folder, "mapped");
    expect(memshadeRun(folder, ["--quiet", "--mmap", "--out", out, program]).status).toBe(0);
    const { heap, tools } = runIn(out);
    // Worked out by hand: 300 and 300 KiB remain of one range, 640 KiB at the address it moved to, and 8, 4 and 28 KiB where a range lies
    // inside another.
    expect(heap).toMatchObject({ liveBlocks: 6, liveBytes: (300 + 300 + 640 + 8 + 4 + 28) * KIB });
    expect(heap!.overflow.blocks).toBe(0);
    expect(heap!.notTracked).toContainEqual(
      expect.stringMatching(/^1 mapped range of 4 GiB or more .*64 GiB/),
    );
    expect(heap!.sites.reduce((sum, { reallocations }) => sum + reallocations, 0)).toBe(4);
    expect(tools.heap!.mappings).toBe(true);
  });
});
