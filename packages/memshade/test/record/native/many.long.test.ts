import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

describe.skipIf(!canCompile)("very many live blocks of a native program, and call paths", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-many-"));
  const program = join(folder, "program");
  const record = (args: readonly string[]) => memshadeRun(folder, ["--quiet", "--out", "run", ...args]);
  afterAll(() => rmSync(folder, { recursive: true }));

  it("are recorded whole: five million blocks", () => {
    compileProgram("many-blocks.c", program);
    const { status, stdout } = record(["--", program, "5000000", "16"]);
    expect({ status, stdout }).toEqual({ status: 7, stdout: "1\n" });
    const { heap } = runIn(join(folder, "run"));
    expect(heap).toMatchObject({ overflow: { contexts: 0, blocks: 0 } });
    expect(heap!.liveBlocks).toBeGreaterThanOrEqual(5_000_000);
    expect(heap!.liveBytes).toBeGreaterThanOrEqual(80_000_000);
  });

  it("are recorded whole: a hundred thousand paths", () => {
    compileProgram("many-paths.c", program, ["-fno-optimize-sibling-calls"]);
    rmSync(join(folder, "run"), { recursive: true, force: true });
    const { status, stdout } = record(["--", program, "100000"]);
    expect({ status, stdout }).toEqual({ status: 3, stdout: "100000\n" });
    const { heap } = runIn(join(folder, "run"));
    expect(heap).toMatchObject({ overflow: { contexts: 0, blocks: 0 } });
    expect(heap!.sites.length).toBeGreaterThanOrEqual(100_000);
  });
});
