import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

describe.skipIf(!canCompile)("the head of a native run's report", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-told-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const out = join(folder, "run");
  const told = () => runIn(out).heap!.notTracked!.join("\n");

  it("says nothing of a program that forbids itself to open files: its tables were taken before", () => {
    const program = join(folder, "sandboxed");
    compileProgram("sandboxed.c", program);
    expect(memshadeRun(folder, ["--quiet", "--out", out, program])).toMatchObject({ status: 3, stderr: "" });
    expect(runIn(out).heap).toMatchObject({ allocations: 10, liveBlocks: 10 });
    expect(told()).not.toContain("incomplete call path");
  });
});
