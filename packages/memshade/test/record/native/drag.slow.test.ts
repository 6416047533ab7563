import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "./support/record.ts";

describe.skipIf(!canCompile)("blocks of a native program that live on after their last use", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-drag-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("are told, with what they take until they end, and those that are used to their end are not", () => {
    const program = join(folder, "dragged");
    compileProgram("dragged.c", program, ["-O1", "-fno-builtin"]);
    const { status, stdout } = memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", "run", program]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "0\n" });
    const { keptAfterUse } = runIn(join(folder, "run")).heap!;
    // The first block, and the 300-byte blocks, some of which are followed.
    for (const share of [keptAfterUse!.lateBlocks / 1001, keptAfterUse!.lateBytes / 700_000]) {
      expect(share).toBeGreaterThan(0.85);
      expect(share).toBeLessThan(1.15);
    }
    expect(keptAfterUse!.lateUsedByteWork).toBeLessThan(0.2 * keptAfterUse!.lateByteWork);
    expect(memshade(folder, ["report", "run"]).stdout).toMatch(/drag +391 KiB +1 block of main/);
  });

  it.each([0, 10, 60])("are told however many other blocks come and go between uses: %i", (calls) => {
    const program = join(folder, `frames-${calls}`);
    compileProgram("idle-frames.c", program, ["-fno-builtin", `-DCALLS=${calls}`]);
    expect(memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", `of-${calls}`, program]).status).toBe(
      0,
    );
    const { sites } = runIn(join(folder, `of-${calls}`)).heap!;
    const frames = sites.find(({ keptAfterUse }) => keptAfterUse?.bytes === 60 * 65_536)?.keptAfterUse;
    // All blocks but the last ones, which end soon after their last access.
    expect(frames!.lateBlocks).toBeGreaterThanOrEqual(58);
    expect(frames!.lateBlocks).toBeLessThan(60);
  });

  it.each([0, 60])("are told however many of them there are, with %i other blocks between uses", (calls) => {
    const program = join(folder, `many-frames-${calls}`);
    compileProgram("idle-frames.c", program, ["-fno-builtin", `-DCALLS=${calls}`, "-DFRAMES=240"]);
    const out = `many-of-${calls}`;
    expect(memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", out, program]).status).toBe(0);
    const { sites } = runIn(join(folder, out)).heap!;
    const frames = sites.find(({ keptAfterUse }) => keptAfterUse?.bytes === 240 * 65_536)?.keptAfterUse;
    expect(frames!.lateBlocks).toBeGreaterThan(0.9 * 240);
    expect(frames!.lateBlocks).toBeLessThan(240);
  });

  it("are not looked for where accesses are not counted", () => {
    const program = join(folder, "dragged");
    memshadeRun(folder, ["--quiet", "--out", "alone", program]);
    expect(runIn(join(folder, "alone")).heap!.keptAfterUse).toBeUndefined();
  });
});
