import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadHeap } from "../../../src/runs/heap.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

describe.skipIf(!canCompile)("a native program whose lifetimes are measured by the wall clock", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-naps-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("has them in milliseconds, of blocks that are live at the end too", async () => {
    const program = join(folder, "naps");
    compileProgram("naps.c", program);
    const out = join(folder, "run");
    expect(memshadeRun(folder, ["--quiet", "--clock", "wall", "--out", out, program]).status).toBe(0);
    expect(runIn(out).tools.heap!.clock).toEqual({ kind: "wall", unit: "ms" });
    const { profile } = await loadHeap(out);
    const { mibs } = profile.contexts;
    const lifetimes = new Map(
      Array.from(mibs.totalSize, (size, i) => [Number(size), Number(mibs.totalLifetime[i])]),
    );
    // A program may sleep longer than it asked, never shorter; rounding loses a millisecond.
    expect(lifetimes.get(100)).toBeGreaterThanOrEqual(59);
    expect(lifetimes.get(2000)).toBeGreaterThanOrEqual(99);
    expect(lifetimes.get(64)).toBeGreaterThanOrEqual(149);
  });
});
